"""Convolutions over one to three dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._layout import laid_as
from pyburn.ops._sizes import Sizes, spread

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]


def _same(op: str, weight: Tensor, stride: Sequence[int], dilation: Sequence[int]) -> tuple[list[int], list[int]]:
    """The padding that keeps sizes, and by how much more there is of it on the left than wanted."""
    if any(step != 1 for step in stride):
        raise RuntimeError(f"{op}: padding='same' is not supported for strided convolutions, got stride={list(stride)}")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    right = [total - total // 2 for total in totals]
    return right, [total % 2 for total in totals]


def _of_parts(
    run: Callable[[Tensor, Tensor, Tensor | None], Tensor], input: Tensor, weight: Tensor, bias: Tensor | None
) -> Tensor:
    """A complex convolution by three real ones."""
    real = run(input.real, weight.real, None if bias is None else bias.real)
    both = run(input.imag, weight.imag, None)
    mixed = run(input.real + input.imag, weight.real + weight.imag, None if bias is None else bias.real + bias.imag)
    return _core._complex(real - both, mixed - real - both)


def _conv(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    op = f"conv{n}d"
    if input.is_complex() and weight.is_complex():
        return _of_parts(lambda x, w, b: _conv(n, x, w, b, stride, padding, dilation, groups), input, weight, bias)
    steps, spacing = spread(op, "stride", stride, n), spread(op, "dilation", dilation, n)
    surplus = [0] * n
    if not isinstance(padding, str):
        edges = spread(op, "padding", padding, n)
    elif padding == "valid":
        edges = [0] * n
    elif padding == "same" and weight.dim() == n + 2:
        edges, surplus = _same(op, weight, steps, spacing)
    else:
        raise RuntimeError(f"{op}: padding must be numbers, 'valid' or 'same', got {padding!r}")
    output = _core._convolution(op, input, weight, bias, steps, edges, spacing, False, [0] * n, groups)
    for dim, extra in enumerate(surplus):
        # Both sides got the larger padding; the windows that begin too far left are dropped.
        if extra:
            place = output.dim() - n + dim
            output = output.narrow(place, extra, output.shape[place] - extra)
    return _whole(laid_as(output, input, weight) if n > 1 else output, n, input, weight, bias)


def _whole(output: Tensor, n: int, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`output` as the result of one op: the bias was added by another."""
    name = "ConvolutionBackward0" if input.dim() == n + 2 else "SqueezeBackward1"
    return _core._stand_for(output, name, (input, weight, bias), (input, weight))


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """`input` (N, C, L) or (C, L) convolved with `weight` (O, C / groups, K).

    Args:
        input: Signals; C is divisible by `groups`.
        weight: Filters.
        bias: (O), added to each output channel.
        stride: How far the window moves.
        padding: Zeros on both sides, "valid" for none, or "same" for as many as keep the size.
        dilation: The distance between the elements of the window.
        groups: Into how many parts the channels are cut, each convolved on its own.

    Example:
        >>> import pyburn
        >>> pyburn.conv1d(pyburn.ones(1, 1, 4), pyburn.ones(1, 1, 2))
        tensor([[[2., 2., 2.]]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """`input` (N, C, H, W) or (C, H, W) convolved with `weight` (O, C / groups, KH, KW); see `conv1d`.

    Example:
        >>> import pyburn
        >>> pyburn.conv2d(pyburn.ones(1, 1, 3, 3), pyburn.ones(1, 1, 2, 2))
        tensor([[[[4., 4.],
                  [4., 4.]]]])
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """`input` (N, C, D, H, W) or (C, D, H, W) convolved with `weight` (O, C / groups, KD, KH, KW); see `conv1d`.

    Example:
        >>> import pyburn
        >>> pyburn.conv3d(pyburn.ones(1, 1, 2, 2, 2), pyburn.ones(1, 1, 2, 2, 2))
        tensor([[[[[8.]]]]])
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Tensor:
    op = f"conv_transpose{n}d"
    if input.is_complex() and weight.is_complex():
        return _of_parts(
            lambda x, w, b: _conv_transpose(n, x, w, b, stride, padding, output_padding, groups, dilation),
            input,
            weight,
            bias,
        )
    output = _core._convolution(
        op,
        input,
        weight,
        bias,
        spread(op, "stride", stride, n),
        spread(op, "padding", padding, n),
        spread(op, "dilation", dilation, n),
        True,
        spread(op, "output_padding", output_padding, n),
        groups,
    )
    return _whole(laid_as(output, input, weight) if n > 1 else output, n, input, weight, bias)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv1d` applied to `input` (N, C, L) or (C, L), with `weight` (C, O / groups, K).

    Args:
        input: Signals.
        weight: The filters of the convolution that is transposed.
        bias: (O), added to each output channel.
        stride: How far the window moved.
        padding: How much was padded: so much is cut off on both sides.
        output_padding: What is added to one side of the result, where `stride` leaves its size open.
        groups: Into how many parts the channels are cut.
        dilation: The distance between the elements of the window.

    Example:
        >>> import pyburn
        >>> pyburn.conv_transpose1d(pyburn.ones(1, 1, 2), pyburn.ones(1, 1, 2))
        tensor([[[1., 2., 1.]]])
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv2d` applied to `input` (N, C, H, W) or (C, H, W); see `conv_transpose1d`.

    Example:
        >>> import pyburn
        >>> pyburn.conv_transpose2d(pyburn.ones(1, 1, 1, 1), pyburn.ones(1, 1, 2, 2))
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of `conv3d` applied to `input` (N, C, D, H, W) or (C, D, H, W); see `conv_transpose1d`.

    Example:
        >>> import pyburn
        >>> pyburn.conv_transpose3d(pyburn.ones(1, 1, 1, 1, 1), pyburn.ones(1, 1, 1, 1, 2))
        tensor([[[[[1., 1.]]]]])
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
