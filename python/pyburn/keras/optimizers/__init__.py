"""Keras's optimizers, by name, dictionary or object."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pyburn import optim
from pyburn.keras._registry import by_name, getter, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize
from pyburn.keras.optimizers import schedules
from pyburn.keras.optimizers.base import Optimizer
from pyburn.keras.optimizers.rules import (
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lamb,
    Lion,
    Nadam,
    RMSprop,
)
from pyburn.keras.optimizers.scaling import LossScaleOptimizer

__all__ = [
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lamb",
    "Lion",
    "LossScaleOptimizer",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "deserialize",
    "get",
    "schedules",
    "serialize",
]

_get = getter(
    "optimizers",
    Optimizer,
    by_name(SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Ftrl, Lamb, Lion, Nadam, RMSprop),
)


def get(identifier: Any) -> Any:
    """The optimizer that `identifier` is, names or describes; one of `pyburn.optim` is given back as it is.

    Example:
        >>> get("adam")
        Adam(learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-07, amsgrad=False)
    """
    if isinstance(identifier, optim.Optimizer):
        return identifier
    if isinstance(identifier, (str, Mapping)) or inspect.isclass(identifier):
        return _get(identifier)
    raise ValueError(
        f"optimizers: {identifier!r} is no optimizer; give a name such as 'adam', an object of keras.optimizers, "
        "or an optimizer of pyburn.optim over model.parameters()"
    )


serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer that `serialize` described."""
    return _deserialize(config, custom_objects, "optimizers")
