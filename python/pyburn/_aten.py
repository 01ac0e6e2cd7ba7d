"""Operators that only torch.ops.aten names: what torch's methods become below its dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._absent import absent_function
from pyburn._core import Tensor

__all__ = ["NAMED"]


def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A copy of another dtype or on another device."""
    where = self.device if device is None else device
    kind = self.dtype if dtype is None else dtype
    more = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(where, kind, non_blocking, True, **more)


def alias(self: Tensor) -> Tensor:
    """The same tensor as a view."""
    return self.view(self.shape)


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements at these indices, where None takes a whole dimension."""
    return self[tuple(slice(None) if part is None else part for part in indices)]


def _slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Every `step`-th element from `start` to `end` of a dimension."""
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def same(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: memory of the CPU needs no pinning."""
    return self


def _unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    """The elements in another shape."""
    return self.reshape(size)


def _sparse_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * self + alpha * (mat1 @ mat2)` for a sparse `mat1`."""
    total: Tensor = beta * self + alpha * (mat1 @ mat2)
    return total


NAMED: dict[str, Any] = {
    "_pin_memory": _pin_memory,
    "_sparse_addmm": _sparse_addmm,
    "_sparse_mm_reduce_impl": absent_function(
        "ops.aten._sparse_mm_reduce_impl", "pyburn has no kernel for it", "use torch.sparse.mm or scatter_reduce"
    ),
    "_to_copy": _to_copy,
    "_unsafe_view": _unsafe_view,
    "alias": alias,
    "index": index,
    "lift": same,
    "lift_fresh": same,
    "slice": _slice,
}
