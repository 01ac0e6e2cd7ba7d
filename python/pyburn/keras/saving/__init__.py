"""Models in files: ours, and those that real Keras wrote. Nothing that is read is ever executed."""

from __future__ import annotations

from pyburn.keras._registry import (
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
    serialize_keras_object,
)
from pyburn.keras.saving.files import load_model, load_weights, save_model, save_weights

__all__ = [
    "CustomObjectScope",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "load_model",
    "load_weights",
    "register_keras_serializable",
    "save_model",
    "save_weights",
    "serialize_keras_object",
]

CustomObjectScope = custom_object_scope
