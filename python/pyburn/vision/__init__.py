"""torchvision's rooms: datasets, transforms, operators, models and pictures of results; each is loaded when named.

The models are here too, with Keras's `Sequential`, `Input` and `Dense`, and the backends:
`from pyburn.vision import googlenet, Backend`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyburn._devices import Backend

if TYPE_CHECKING:
    from pyburn.keras import Sequential as Sequential
    from pyburn.keras.layers import Dense as Dense
    from pyburn.keras.layers import Input as Input
    from pyburn.vision import datasets as datasets
    from pyburn.vision import imaging as imaging
    from pyburn.vision import io as io
    from pyburn.vision import models as models
    from pyburn.vision import ops as ops
    from pyburn.vision import transforms as transforms
    from pyburn.vision import tv_tensors as tv_tensors
    from pyburn.vision import utils as utils
    from pyburn.vision.models import *  # noqa: F403
    from pyburn.vision.models.segmentation import *  # noqa: F403

__all__ = ["Backend"]

# The modules below this one; one line each, sorted.
_MODULES = (
    "datasets",
    "imaging",
    "io",
    "models",
    "ops",
    "transforms",
    "tv_tensors",
    "utils",
)
# What comes from Keras's room.
_KERAS = ("Dense", "Input", "Sequential")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _KERAS:
        return getattr(importlib.import_module("pyburn.keras"), name)
    if not name.startswith("_"):
        models = importlib.import_module(f"{__name__}.models")
        if name in models.__all__ or name in models.segmentation.__all__:
            return getattr(models, name, None) or getattr(models.segmentation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    models = importlib.import_module(f"{__name__}.models")
    return sorted({*globals(), *_MODULES, *_KERAS, *models.__all__, *models.segmentation.__all__})
