"""Convolutions whose windows are bent by learned offsets (Dai et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, int64
from pyburn._integers import is_integer
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import arange, einsum, empty

Size = int | Sequence[int]


def _pair(value: Size) -> tuple[int, int]:
    return (value, value) if is_integer(value) else (value[0], value[1])


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    mask: Tensor | None = None,
) -> Tensor:
    """A convolution that reads `input` at places moved by `offset`, between pixels bilinearly.

    Args:
        input: (N, C, H, W).
        offset: (N, 2 * G * kh * kw, oh, ow): for each of G groups of channels and each point of the window
            how far down and how far right it is moved. G is worked out from the shapes.
        weight: (channels of the result, C / groups, kh, kw).
        bias: (channels of the result).
        stride: The step between windows.
        padding: How many zeros stand around the input.
        dilation: The distance between the points of a window.
        mask: (N, G * kh * kw, oh, ow): a factor for each point.

    Raises:
        ValueError: Shapes do not fit.

    Example:
        >>> import pyburn
        >>> x, w = pyburn.ones(1, 1, 3, 3), pyburn.ones(1, 1, 2, 2)
        >>> pyburn.nn.burn.deform_conv2d(x, pyburn.zeros(1, 8, 2, 2), w)
        tensor([[[[4., 4.],
                  [4., 4.]]]])
    """
    count, channels, height, width = input.shape
    outputs, per_group, kh, kw = weight.shape
    (sh, sw), (ph, pw), (dh, dw) = _pair(stride), _pair(padding), _pair(dilation)
    oh, ow = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    points = kh * kw
    groups = offset.shape[1] // (2 * points) if offset.dim() == 4 else 0
    fits = groups > 0 and channels % groups == 0 and channels % per_group == 0
    if not fits or list(offset.shape) != [count, 2 * groups * points, oh, ow]:
        raise ValueError(
            f"deform_conv2d: offset has shape {list(offset.shape)} but needs [{count}, 2 * groups * {points}, {oh}, "
            f"{ow}], where groups divide the {channels} channels."
        )
    moved = offset.reshape(count, groups, points, 2, oh, ow)
    ys = (arange(kh) * dh).repeat_interleave(kw).reshape(points, 1, 1) + (arange(oh) * sh - ph).reshape(1, oh, 1)
    xs = (arange(kw) * dw).repeat(kh).reshape(points, 1, 1) + (arange(ow) * sw - pw).reshape(1, 1, ow)
    y = moved[:, :, :, 0] + ys.to(offset.device)  # (N, G, K, oh, ow)
    x = moved[:, :, :, 1] + xs.to(offset.device)
    columns = _sampled(
        input.reshape(count, groups, channels // groups, height, width), y, x
    )  # (N, G, C / G, K, oh, ow)
    if mask is not None:
        columns = columns * mask.reshape(count, groups, 1, points, oh, ow)
    parts = channels // per_group
    columns = columns.reshape(count, parts, per_group * points, oh * ow)
    matrix = weight.reshape(parts, outputs // parts, per_group * points)
    result = einsum("gok,ngkp->ngop", matrix, columns).reshape(count, outputs, oh, ow)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


def _sampled(input: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """(N, G, C, K, oh, ow): `input` (N, G, C, H, W) at fractional places, zeros outside."""
    count, groups, channels, height, width = input.shape
    flat = input.reshape(count, groups, channels, height * width)
    top, left = y.detach().floor(), x.detach().floor()
    total: Tensor | None = None
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            share = (1 - (y - row).abs()) * (1 - (x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = (row * width + column).masked_fill(inside.logical_not(), 0).to(int64)
            index = index.reshape(count, groups, 1, -1).expand(-1, -1, channels, -1)
            values = flat.gather(3, index).reshape(count, groups, channels, *y.shape[2:])
            part = values * (share * inside.to(share.dtype)).unsqueeze(2)
            total = part if total is None else total + part
    assert total is not None
    return total


class DeformConv2d(Module):
    """A convolution that reads its input at places moved by an offset that the caller computes.

    Args:
        in_channels: C of the input.
        out_channels: C of the output.
        kernel_size: The size of the window.
        stride: The step between windows.
        padding: How many zeros stand around the input.
        dilation: The distance between the points of a window.
        groups: Into how many parts the channels are split that do not see each other.
        bias: Whether a bias is learned.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.burn.DeformConv2d(2, 3, 3, padding=1)
        >>> tuple(layer(pyburn.zeros(1, 2, 5, 5), pyburn.zeros(1, 18, 5, 5)).shape)
        (1, 3, 5, 5)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError("DeformConv2d: in_channels and out_channels must be divisible by groups.")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty((out_channels,), device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew, as those of a convolution."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """The convolved input; the arguments are those of `deform_conv2d`."""
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
