"""Keras's ease on pyburn: `Sequential`, `Model`, layers, `compile`, `fit`."""

from __future__ import annotations

from pyburn._devices import Backend
from pyburn.keras import (
    activations,
    backend,
    callbacks,
    config,
    constraints,
    datasets,
    dtype_policies,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    ops,
    optimizers,
    preprocessing,
    random,
    regularizers,
    saving,
    tree,
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
from pyburn.keras.ops import Operation
from pyburn.keras.optimizers import Optimizer
from pyburn.keras.regularizers import Regularizer
from pyburn.keras.scopes import __version__, device, name_scope, remat, version
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
    "Operation",
    "Optimizer",
    "Regularizer",
    "Sequential",
    "Variable",
    "__version__",
    "activations",
    "backend",
    "callbacks",
    "config",
    "constraints",
    "datasets",
    "device",
    "dtype_policies",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "mixed_precision",
    "models",
    "name_scope",
    "ops",
    "optimizers",
    "preprocessing",
    "random",
    "regularizers",
    "remat",
    "saving",
    "tree",
    "utils",
    "version",
    *_layers,
]
