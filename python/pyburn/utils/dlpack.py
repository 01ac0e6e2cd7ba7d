"""torch.utils.dlpack: memory shared with other libraries."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.ops import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory, for another library's `from_dlpack`.

    Example:
        >>> import pyburn
        >>> type(to_dlpack(pyburn.ones(2))).__name__
        'PyCapsule'
    """
    return tensor.__dlpack__()
