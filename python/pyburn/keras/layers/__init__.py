"""Keras's layers, with Keras's names, arguments, defaults and layouts of weights."""

from __future__ import annotations

from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import core as _core_layers
from pyburn.keras.layers.core import *  # noqa: F403

__all__ = ["InputSpec", "Layer", *_core_layers.__all__]
