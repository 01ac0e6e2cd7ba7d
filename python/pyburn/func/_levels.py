"""torch._C._functorch: which tensors stand for a batch inside a transform. None does here: `vmap` is a loop."""

from __future__ import annotations

from pyburn._absent import absent_function
from pyburn._core import Tensor

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_get_bdim",
    "maybe_get_level",
]

_WHY = ("vmap calls its function for each sample, which sees plain tensors", "select and stack the samples")
_add_batch_dim = absent_function("_C._functorch._add_batch_dim", *_WHY)
_remove_batch_dim = absent_function("_C._functorch._remove_batch_dim", *_WHY)
get_unwrapped = absent_function("_C._functorch.get_unwrapped", *_WHY)


def is_batchedtensor(tensor: Tensor) -> bool:
    """False: no tensor stands for a batch of them."""
    return False


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """False: gradients are tracked by plain tensors."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """False: no tensor stands for another one."""
    return False


def maybe_get_level(tensor: Tensor) -> int:
    """-1: the tensor belongs to no transform."""
    return -1


def maybe_get_bdim(tensor: Tensor) -> int:
    """-1: no dimension is hidden."""
    return -1
