"""The order in memory of results: torch's layers over images leave channels last if they were given so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn._formats import channels_last, channels_last_3d

__all__ = ["arranged", "laid_as", "suggested"]


def suggested(x: Tensor) -> Any:
    """The format with channels last that the strides of `x` show, or None for row-major order and for doubt."""
    n = x.dim()
    if n not in (4, 5) or x.is_contiguous():
        return None
    sizes, strides = x.shape, x.stride()
    if strides[1] == 0:
        return None
    least = 0
    for dim in (1, *range(n - 1, 1, -1), 0):
        if sizes[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return None
        least = strides[dim] * max(sizes[dim], 1)
    return channels_last if n == 4 else channels_last_3d


def laid_as(result: Tensor, *inputs: Tensor) -> Tensor:
    """`result`, with channels last if one of the inputs has them last."""
    for x in inputs:
        format = suggested(x)
        if format is not None and result.dim() == x.dim():
            if result.shape[1] == 1 and result.stride(1) != 1:
                return result.clone(memory_format=format)  # it lies so already, but its strides do not say it
            return result.contiguous(memory_format=format)
    return result


def arranged(result: Tensor, order: Sequence[int]) -> Tensor:
    """`result` with its dimensions lying in memory in this order, the outermost first."""
    back = [list(order).index(dim) for dim in range(result.dim())]
    return result.permute(*order).contiguous().permute(*back)
