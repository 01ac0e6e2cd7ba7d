"""torchvision's rooms: datasets, transforms, operators, models and pictures of results; each is loaded when named."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyburn.vision import datasets as datasets
    from pyburn.vision import imaging as imaging
    from pyburn.vision import io as io
    from pyburn.vision import models as models
    from pyburn.vision import ops as ops
    from pyburn.vision import transforms as transforms
    from pyburn.vision import tv_tensors as tv_tensors
    from pyburn.vision import utils as utils

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


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
