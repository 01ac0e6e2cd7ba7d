"""Operators that only torch.ops.aten names: what torch's methods become below its dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._absent import absent_function
from pyburn._core import Tensor
from pyburn.ops import conv

__all__ = ["NAMED", "convolution"]


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


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *kernels: bool,
) -> Tensor:
    """The convolution, or its transpose, over as many dimensions as the weight has behind its channels.

    Args:
        input: (N, C, ...), or (C, ...).
        weight: (channels of the result, C / groups, ...); the first two are the other way round if transposed.
        bias: (channels of the result), or None.
        stride: One number for each dimension, or one for all; so are `padding`, `dilation` and `output_padding`.
        padding: How many zeros stand on both sides.
        dilation: The distance of the kernel's elements.
        transposed: Whether it is the transpose.
        output_padding: How much longer the transpose's result is.
        groups: How many groups of channels are convolved apart.
        *kernels: Accepted for `_convolution`: which kernels torch would choose.
    """
    name = f"{weight.dim() - 2}d"
    if transposed:
        transpose = getattr(conv, f"conv_transpose{name}")
        result = transpose(input, weight, bias, stride, padding, output_padding, groups, dilation)
    else:
        result = getattr(conv, f"conv{name}")(input, weight, bias, stride, padding, dilation, groups)
    return result  # type: ignore[no-any-return]


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.log_softmax(dim)


def _attention(name: str) -> tuple[str, Any]:
    why = "pyburn has no kernel for it", "use torch.nn.functional.scaled_dot_product_attention"
    return name, absent_function(f"ops.aten.{name}", *why)


_KERNELS = ("_efficient_attention", "_flash_attention")
_SCALED = ("cudnn", "efficient", "flash")

NAMED: dict[str, Any] = {
    **dict(_attention(f"{name}_{way}") for name in _KERNELS for way in ("forward", "backward")),
    **dict(_attention(f"_scaled_dot_product_{name}_attention{way}") for name in _SCALED for way in ("", "_backward")),
    **dict(_attention(f"_scaled_dot_product_flash_attention_for_cpu{way}") for way in ("", "_backward")),
    "_conj": lambda self: self.conj(),
    "_convolution": convolution,
    "_is_all_true": lambda self: self.all(),
    "_local_scalar_dense": lambda self: self.item(),
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "convolution": convolution,
    "convolution_backward": absent_function(
        "ops.aten.convolution_backward", "pyburn has no such function", "use torch.autograd.grad of a convolution"
    ),
    "sym_numel": lambda self: self.numel(),
    "sym_size": lambda self, *dim: self.size(*dim),
    "sym_storage_offset": lambda self: self.storage_offset(),
    "sym_stride": lambda self, *dim: self.stride(*dim),
    "view_as_real_copy": lambda self: self.view_as_real().clone(),
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
