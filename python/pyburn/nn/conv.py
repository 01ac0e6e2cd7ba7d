"""Convolutions and transposed convolutions over one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty

Size = int | Sequence[int]
_MODES = ("zeros", "reflect", "replicate", "circular")
_CONV = ("", "conv1d", "conv2d", "conv3d")
_CONV_TRANSPOSE = ("", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def _tuple(value: Size, n: int) -> tuple[int, ...]:
    return (value,) * n if is_integer(value) else tuple(value)


class _ConvNd(Module):
    """What the six convolutions share; `_dims` says over how many dimensions they go."""

    _dims: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size,
        padding: Size | str,
        dilation: Size,
        transposed: bool,
        output_padding: Size,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        n = self._dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _tuple(kernel_size, n)
        self.stride = _tuple(stride, n)
        self.padding = padding if isinstance(padding, str) else _tuple(padding, n)
        self.dilation = _tuple(dilation, n)
        self.transposed = transposed
        self.output_padding = _tuple(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        self._reversed_padding_repeated_twice = self._explicit_padding()
        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % self.groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{self.padding_mode}'")

    def _explicit_padding(self) -> list[int]:
        """The padding as `pad` wants it: last dimension first, left and right."""
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        sides: list[int] = []
        for i in reversed(range(self._dims)):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                sides += [total // 2, total - total // 2]
            else:
                sides += [int(self.padding[i])] * 2
        return sides

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """A convolution of `_dims` dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            False,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        convolve = getattr(F, _CONV[self._dims])
        result: Tensor = convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)
        return result

    def forward(self, input: Tensor) -> Tensor:
        """The convolved input: (N, out_channels, ...) or, without a batch, (out_channels, ...)."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """A convolution over (N, C, L) or (C, L).

    Args:
        in_channels: C of the input.
        out_channels: C of the output.
        kernel_size: The size of the window.
        stride: The step between windows.
        padding: How much is added on both sides, "valid" for none or "same" for the input's size.
        dilation: The distance between the points of a window.
        groups: Into how many parts the channels are split that do not see each other.
        bias: Whether a bias is learned.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: Where the parameters are.
        dtype: Their dtype.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size).
        bias: (out_channels).

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Conv1d(2, 3, 3, padding="same")(pyburn.zeros(1, 2, 8)).shape)
        (1, 3, 8)
    """

    _dims = 1


class Conv2d(_Conv):
    """A convolution over (N, C, H, W) or (C, H, W); the arguments are those of `Conv1d`.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Conv2d(1, 4, 3, stride=2)
        >>> layer
        Conv2d(1, 4, kernel_size=(3, 3), stride=(2, 2))
        >>> tuple(layer(pyburn.zeros(1, 1, 9, 9)).shape)
        (1, 4, 4, 4)
    """

    _dims = 2


class Conv3d(_Conv):
    """A convolution over (N, C, D, H, W) or (C, D, H, W); the arguments are those of `Conv1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Conv3d(1, 2, 3)(pyburn.zeros(1, 1, 4, 4, 4)).shape)
        (1, 2, 2, 2, 2)
    """

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of `_dims` dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            True,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What must be added at the end to reach `output_size`."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        wanted = list(output_size)[-n:]
        if len(output_size) not in (n, n + 2, input.dim()):
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {n} or {n + 2} elements "
                f"(got {len(output_size)})"
            )
        extra = []
        for i, size in enumerate(input.shape[-n:]):
            least = (size - 1) * self.stride[i] - 2 * int(self.padding[i])
            least += self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= wanted[i] < least + self.stride[i]:
                raise ValueError(
                    f"requested an output size of {wanted}, but dimension {i} can only be from {least} to "
                    f"{least + self.stride[i] - 1} (for an input of {list(input.shape[-n:])})"
                )
            extra.append(wanted[i] - least)
        return tuple(extra)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The upsampled input, of the spatial size `output_size` where several are possible."""
        result: Tensor = getattr(F, _CONV_TRANSPOSE[self._dims])(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )
        return result


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` with respect to its input, as a layer: it makes (N, C, L) longer.

    Args:
        in_channels: C of the input.
        out_channels: C of the output.
        kernel_size: The size of the window.
        stride: The step between windows in the output.
        padding: How much is cut off on both sides.
        output_padding: How much is added at the end.
        groups: Into how many parts the channels are split that do not see each other.
        bias: Whether a bias is learned.
        dilation: The distance between the points of a window.
        padding_mode: Only "zeros".
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConvTranspose1d(2, 3, 2, stride=2)(pyburn.zeros(1, 2, 4)).shape)
        (1, 3, 8)
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transposed `Conv2d`; the arguments are those of `ConvTranspose1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConvTranspose2d(2, 3, 2, stride=2)(pyburn.zeros(1, 2, 4, 4)).shape)
        (1, 3, 8, 8)
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transposed `Conv3d`; the arguments are those of `ConvTranspose1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConvTranspose3d(1, 1, 2, stride=2)(pyburn.zeros(1, 1, 2, 2, 2)).shape)
        (1, 1, 4, 4, 4)
    """

    _dims = 3
