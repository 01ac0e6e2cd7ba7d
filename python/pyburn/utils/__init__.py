"""torch's ``utils``: tools around training."""

import importlib as _importlib

from pyburn.utils import checkpoint
from pyburn.utils._swap import swap_tensors

__all__ = ["checkpoint", "swap_tensors"]

# Loaded when first named: some stand above this layer, and most programs need none of them.
_LAZY = (
    "_python_dispatch",
    "_pytree",
    "benchmark",
    "collect_env",
    "cpp_extension",
    "data",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
)


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"pyburn.utils.{name}")
    raise AttributeError(f"module 'pyburn.utils' has no attribute '{name}'")
