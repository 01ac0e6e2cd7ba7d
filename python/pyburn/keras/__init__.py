"""Keras's ease on pyburn: `Sequential`, `Model`, layers, `compile`, `fit`."""

from __future__ import annotations

from pyburn._devices import Backend
from pyburn.keras import (
    activations,
    callbacks,
    config,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    ops,
    optimizers,
    random,
    regularizers,
    saving,
    utils,
)
from pyburn.keras.config import DTypePolicy
from pyburn.keras.initializers import Initializer
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import *  # noqa: F403
from pyburn.keras.layers import __all__ as _layers
from pyburn.keras.losses import Loss
from pyburn.keras.metrics import Metric
from pyburn.keras.models import Functional, Model, Sequential
from pyburn.keras.optimizers import Optimizer
from pyburn.keras.regularizers import Regularizer
from pyburn.keras.symbolic import KerasTensor
from pyburn.keras.variables import Variable

__all__ = [
    "Backend",
    "DTypePolicy",
    "Functional",
    "Initializer",
    "InputSpec",
    "KerasTensor",
    "Layer",
    "Loss",
    "Metric",
    "Model",
    "Optimizer",
    "Regularizer",
    "Sequential",
    "Variable",
    "activations",
    "callbacks",
    "config",
    "constraints",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
    "optimizers",
    "random",
    "regularizers",
    "saving",
    "utils",
    *_layers,
]
