"""Pooling: the maximum or the average of windows of one to three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, overload

from pyburn import _core
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._layout import laid_as, suggested
from pyburn.ops._methods import need_float
from pyburn.ops._sizes import Sizes, spread

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "avg_pool1d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool3d",
]

OptionalSizes = int | None | Sequence[int | None]


def _is_empty(sizes: Sizes) -> bool:
    return not is_integer(sizes) and len(sizes) == 0


def _max_pool(
    n: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    placed: bool = True,
) -> tuple[Tensor, Tensor]:
    """The maxima and their places, which are of no meaning unless `placed`."""
    op = f"max_pool{n}d"
    kernel = spread(op, "kernel_size", kernel_size, n)
    steps = kernel if stride is None or _is_empty(stride) else spread(op, "stride", stride, n)
    edges, spacing = spread(op, "padding", padding, n), spread(op, "dilation", dilation, n)
    if max(spacing) * (max(kernel) - 1) >= 2**63 and any(
        step * (size - 1) >= 2**63 for size, step in zip(kernel, spacing, strict=True)
    ):
        raise RuntimeError(f"{op}: effective kernel size overflows: kernel_size {kernel}, dilation {spacing}")
    values, indices = _core._max_pool(op, input, kernel, steps, edges, spacing, ceil_mode, placed)
    name = "SqueezeBackward1" if n == 1 else f"MaxPool{n}DWithIndicesBackward0"
    indices = laid_as(indices, input) if placed else indices
    return _core._stand_for(laid_as(values, input), name, (input,), (input,)), indices


class _MaxPool(Protocol):
    """The type of the three functions: what they give depends on `return_indices`."""

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...


def _overloaded(function: Callable[..., Tensor | tuple[Tensor, Tensor]]) -> _MaxPool:
    """The function, whose type says more than its own signature does."""
    return function  # type: ignore[return-value]


@_overloaded
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The maximum of each window of the last dimension of `input` (N, C, L) or (C, L).

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: The sizes of the window.
        stride: How far the window moves; None is `kernel_size`.
        padding: Minus infinity on both sides, at most half of the window.
        dilation: The distance between the elements of the window.
        ceil_mode: Whether a last window may reach beyond the input.
        return_indices: Whether the places of the maxima are returned too, for `max_unpool`.

    Example:
        >>> import pyburn
        >>> pyburn.max_pool1d(pyburn.ones(1, 1, 4), 2)
        tensor([[[1., 1.]]])
    """
    if not return_indices:
        need_float("max_pool1d", input)
    values, indices = _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return (values, indices) if return_indices else values


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool1d`, always with the places of the maxima among the pooled dimensions.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.max_pool1d_with_indices(pyburn.ones(1, 1, 4), 2)[0]
        tensor([[[1., 1.]]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


@_overloaded
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The maximum of each window of the last two dimensions of `input` (N, C, H, W) or (C, H, W); see `max_pool1d`.

    Example:
        >>> import pyburn
        >>> pyburn.max_pool2d(pyburn.ones(1, 1, 2, 2), 2)
        tensor([[[[1.]]]])
    """
    values, indices = _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return (values, indices) if return_indices else values


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool2d`, always with the places of the maxima among the pooled dimensions.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.max_pool2d_with_indices(pyburn.ones(1, 1, 2, 2), 2)[0]
        tensor([[[[1.]]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


@_overloaded
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The maximum of each window of the last three dimensions of (N, C, D, H, W) or (C, D, H, W); see `max_pool1d`.

    Example:
        >>> import pyburn
        >>> pyburn.max_pool3d(pyburn.ones(1, 1, 2, 2, 2), 2)
        tensor([[[[[1.]]]]])
    """
    values, indices = _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return (values, indices) if return_indices else values


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool3d`, always with the places of the maxima among the pooled dimensions.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.max_pool3d_with_indices(pyburn.ones(1, 1, 2, 2, 2), 2)[0]
        tensor([[[[[1.]]]]])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The average of each window of the last dimension of `input` (N, C, L) or (C, L).

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: The sizes of the window.
        stride: How far the window moves; None is `kernel_size`.
        padding: Zeros on both sides, at most half of the window.
        ceil_mode: Whether a last window may reach beyond the padded input.
        count_include_pad: Whether padding counts as elements.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.avg_pool1d(pyburn.ones(1, 1, 4), 2)
        tensor([[[1., 1.]]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of each window of the last two dimensions of `input` (N, C, H, W) or (C, H, W); see `avg_pool1d`.

    `divisor_override` replaces the number of elements.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.avg_pool2d(pyburn.ones(1, 1, 2, 2), 2)
        tensor([[[[1.]]]])
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of each window of the last three dimensions of (N, C, D, H, W) or (C, D, H, W); see `avg_pool1d`.

    `divisor_override` replaces the number of elements.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.avg_pool3d(pyburn.ones(1, 1, 2, 2, 2), 2)
        tensor([[[[[1.]]]]])
    """
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _avg_pool(
    n: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    op = f"avg_pool{n}d"
    kernel = spread(op, "kernel_size", kernel_size, n)
    steps = kernel if stride is None or _is_empty(stride) else spread(op, "stride", stride, n)
    edges = spread(op, "padding", padding, n)
    output = _core._avg_pool(op, input, kernel, steps, edges, ceil_mode, count_include_pad, divisor)
    name = "SqueezeBackward1" if n == 1 else f"AvgPool{n}DBackward0"
    return _core._stand_for(laid_as(output, input) if n == 2 else output, name, (input,), (input,))


def _adaptive(n: int, input: Tensor, output_size: OptionalSizes) -> Tensor:
    op = f"adaptive_avg_pool{n}d"
    wanted = _wanted(op, output_size, n)
    format = suggested(input)
    dense = format is not None or input.is_contiguous()
    if dense and wanted == [1] * n and input.dim() - n in (1, 2) and input.numel() and input.is_floating_point():
        output = input.mean(list(range(-n, 0)), True)
        if format is None:
            return output
        return _core._stand_for(output.clone(memory_format=format), "MeanBackward1", (input,))
    output = _core._adaptive_avg_pool(op, input, wanted)
    output = laid_as(output, input) if n == 2 else output
    if all(size == 1 for size in output.shape[-n:]):
        return _core._stand_for(output, "MeanBackward1", (input,))
    name = "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0"
    return _core._stand_for(output, name, (input,), (input,))


def _adaptive_max(n: int, input: Tensor, output_size: OptionalSizes) -> tuple[Tensor, Tensor]:
    op = f"adaptive_max_pool{n}d"
    need_float(op, input)
    values, indices = _core._adaptive_max_pool(op, input, _wanted(op, output_size, n))
    if n == 2:
        values, indices = laid_as(values, input), laid_as(indices, input)
    name = "SqueezeBackward1" if n == 1 else f"AdaptiveMaxPool{n}DBackward0"
    return _core._stand_for(values, name, (input,), (input,)), indices


def _wanted(op: str, output_size: OptionalSizes, n: int) -> list[int | None]:
    if output_size is None or is_integer(output_size):
        return [output_size] * n
    sizes = list(output_size)
    if len(sizes) == 1:
        return sizes * n
    if len(sizes) != n:
        raise RuntimeError(f"{op}: output_size has {len(sizes)} numbers but needs {n}")
    return sizes


def adaptive_avg_pool1d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The averages of `output_size` windows that share out `input` (N, C, L) or (C, L); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_avg_pool1d(pyburn.ones(1, 1, 4), 1)
        tensor([[[1.]]])
    """
    return _adaptive(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The averages of `output_size` windows that share out `input` (N, C, H, W) or (C, H, W); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_avg_pool2d(pyburn.ones(1, 1, 2, 2), 1)
        tensor([[[[1.]]]])
    """
    return _adaptive(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The averages of `output_size` windows that share out `input` (N, C, D, H, W) or (C, D, H, W); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_avg_pool3d(pyburn.ones(1, 1, 2, 2, 2), 1)
        tensor([[[[[1.]]]]])
    """
    return _adaptive(3, input, output_size)


def adaptive_max_pool1d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows that share out `input` (N, C, L) or (C, L); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_max_pool1d(pyburn.ones(1, 1, 4), 1)
        tensor([[[1.]]])
    """
    values, indices = _adaptive_max(1, input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows that share out `input` (N, C, H, W) or (C, H, W); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_max_pool2d(pyburn.ones(1, 1, 2, 2), 1)
        tensor([[[[1.]]]])
    """
    values, indices = _adaptive_max(2, input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool3d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows that share out `input` (N, C, D, H, W) or (C, D, H, W); None keeps a size.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.adaptive_max_pool3d(pyburn.ones(1, 1, 2, 2, 2), 1)
        tensor([[[[[1.]]]]])
    """
    values, indices = _adaptive_max(3, input, output_size)
    return (values, indices) if return_indices else values
