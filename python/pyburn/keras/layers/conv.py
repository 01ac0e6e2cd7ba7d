"""Convolutions, plain, transposed, depthwise and separable; kernels as Keras lays them out."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.keras import activations, constraints, initializers, regularizers
from pyburn.keras import config as settings
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import _images as images
from pyburn.keras.layers.core import last_size

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Convolution1D",
    "Convolution1DTranspose",
    "Convolution2D",
    "Convolution2DTranspose",
    "Convolution3D",
    "Convolution3DTranspose",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "SeparableConv1D",
    "SeparableConv2D",
    "SeparableConvolution1D",
    "SeparableConvolution2D",
]


class _Filters(Layer):
    """What all convolutions share: geometry, bias, activation."""

    _rank = 2
    _paddings: tuple[str, ...] = ("valid", "same")

    def _geometry(self, kernel_size: Any, strides: Any, padding: str, data_format: str | None, dilation: Any) -> None:
        name, rank = type(self).__name__, self._rank
        self.kernel_size = images.sizes(kernel_size, rank, f"{name}: kernel_size")
        self.strides = images.sizes(strides, rank, f"{name}: strides")
        self.dilation_rate = images.sizes(dilation, rank, f"{name}: dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(f"{name}: strides={strides} and dilation_rate={dilation} cannot both be larger than 1")
        self.padding = images.padding_of(padding, self._paddings, name)
        self.data_format = settings.data_format_of(data_format)
        if self.padding == "causal" and self.data_format == "channels_first":
            raise ValueError(f"{name}: padding='causal' needs data_format='channels_last'")
        self.input_spec = InputSpec(min_ndim=rank + 2, max_ndim=rank + 2)

    def _finish(self, activation: Any, use_bias: bool, bias: tuple[Any, Any, Any]) -> None:
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.bias_initializer = initializers.get(bias[0])
        self.bias_regularizer, self.bias_constraint = regularizers.get(bias[1]), constraints.get(bias[2])

    def _kernel_settings(self, word: str, initializer: Any, regularizer: Any, constraint: Any) -> None:
        setattr(self, f"{word}_initializer", initializers.get(initializer))
        setattr(self, f"{word}_regularizer", regularizers.get(regularizer))
        setattr(self, f"{word}_constraint", constraints.get(constraint))

    def _add(self, shape: tuple[int, ...], word: str, name: str) -> Any:
        return self.add_weight(
            shape,
            getattr(self, f"{word}_initializer"),
            regularizer=getattr(self, f"{word}_regularizer"),
            constraint=getattr(self, f"{word}_constraint"),
            name=name,
        )

    def _channels(self, input_shape: Any) -> int:
        axis = -1 if self.data_format == "channels_last" else 1
        channels = last_size(self, input_shape, axis)
        self.input_spec = InputSpec(
            ndim=self._rank + 2,
            axes={axis: channels},
            hint=f"inputs are (batch, sizes, channels) for channels_last; this layer was built for {channels} channels",
        )
        return channels

    def _add_bias(self, filters: int) -> None:
        if self.use_bias:
            self.bias = self._add((filters,), "bias", "bias")
        else:
            self.bias = None

    def _slide(self, x: Tensor, weight: Tensor, bias: Any, groups: int) -> Tensor:
        """The convolution of `x` (channels first)."""
        if self.padding == "same":
            x = images.same_padded(x, self.kernel_size, self.strides, self.dilation_rate)
        elif self.padding == "causal":
            x = images.pad_axes(x, [(self.dilation_rate[0] * (self.kernel_size[0] - 1), 0)])
        images.check_fits(self, x, self.kernel_size, self.dilation_rate)
        convolve = images.FUNCTIONS["conv"][self._rank - 1]
        found: Tensor = convolve(x, weight, bias, self.strides, 0, self.dilation_rate, groups)
        return found


class _Conv(_Filters):
    """A convolution; its kernel is (sizes, channels / groups, filters)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        for name in ("quantization_config", "lora_rank", "lora_alpha"):
            kwargs.pop(name, None)
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(filters, int) or filters <= 0 or filters % groups:
            raise ValueError(
                f"{type(self).__name__}: filters is {filters!r}, but must be a positive multiple of groups={groups}"
            )
        self.filters, self.groups = filters, groups
        self._geometry(kernel_size, strides, padding, data_format, dilation_rate)
        self._kernel_settings("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._finish(activation, use_bias, (bias_initializer, bias_regularizer, bias_constraint))

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError(
                f"{self.name} ({type(self).__name__}): the {channels} channels of the input cannot be split into "
                f"groups={self.groups}"
            )
        self.kernel = self._add((*self.kernel_size, channels // self.groups, self.filters), "kernel", "kernel")
        self._add_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        rank = self._rank
        weight = self.kernel.permute(rank + 1, rank, *range(rank))
        x = self._slide(images.channels_first(inputs, self.data_format), weight, self.bias, self.groups)
        return self.activation(images.channels_back(x, self.data_format))


class Conv1D(_Conv):
    """A convolution over sequences (batch, steps, channels).

    The arguments are Keras's: `filters`, `kernel_size`, `strides`, `padding` ("valid", "same" or "causal"), ...

    Example:
        >>> import pyburn
        >>> Conv1D(4, 3, padding="causal")(pyburn.zeros(2, 10, 3)).shape
        pyburn.Size([2, 10, 4])
    """

    _rank = 1
    _paddings = ("valid", "same", "causal")


class Conv2D(_Conv):
    """A convolution over images (batch, height, width, channels).

    The arguments are Keras's: `filters`, `kernel_size`, `strides`, `padding` ("valid" or "same"), ...

    Example:
        >>> import pyburn
        >>> Conv2D(8, 3, strides=2, padding="same")(pyburn.zeros(2, 28, 28, 1)).shape
        pyburn.Size([2, 14, 14, 8])
    """


class Conv3D(_Conv):
    """A convolution over volumes (batch, depth, height, width, channels)."""

    _rank = 3


class _ConvTranspose(_Filters):
    """A transposed convolution; its kernel is (sizes, filters, channels)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self._geometry(kernel_size, strides, padding, data_format, dilation_rate)
        word = f"{type(self).__name__}: output_padding"
        self.output_padding = None if output_padding is None else images.sizes(output_padding, self._rank, word, True)
        self._kernel_settings("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._finish(activation, use_bias, (bias_initializer, bias_regularizer, bias_constraint))

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._add((*self.kernel_size, self.filters, channels), "kernel", "kernel")
        self._add_bias(self.filters)

    def _cut(self, axis: int, length: int) -> tuple[int, int]:
        """Where the result begins in the full one, and how long it is."""
        reach = (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
        stride = self.strides[axis]
        if self.output_padding is None:
            if self.padding == "valid":
                return 0, length * stride + max(reach - stride, 0)
            return max(reach - stride, 0) // 2, length * stride
        more = self.output_padding[axis]
        full = (length - 1) * stride + reach
        return (0, full + more) if self.padding == "valid" else (reach // 2, full - 2 * (reach // 2) + more)

    def call(self, inputs: Any) -> Any:
        rank = self._rank
        x = images.channels_first(inputs, self.data_format)
        lengths = tuple(x.shape[2:])
        weight = self.kernel.permute(rank + 1, rank, *range(rank))
        spread = images.FUNCTIONS["transpose"][rank - 1]
        x = spread(x, weight, None, self.strides, 0, 0, 1, self.dilation_rate)
        for axis, length in enumerate(lengths):
            x = images.crop_or_pad(x, axis + 2, *self._cut(axis, length))
        x = images.channels_back(x, self.data_format)
        if self.bias is not None:
            shape = (-1,) if self.data_format == "channels_last" else (-1, *[1] * rank)
            x = x + self.bias.reshape(shape)
        return self.activation(x)


class Conv1DTranspose(_ConvTranspose):
    """A transposed convolution over sequences, which makes them longer."""

    _rank = 1


class Conv2DTranspose(_ConvTranspose):
    """A transposed convolution over images, which makes them larger.

    Example:
        >>> import pyburn
        >>> Conv2DTranspose(4, 3, strides=2, padding="same")(pyburn.zeros(1, 7, 7, 8)).shape
        pyburn.Size([1, 14, 14, 4])
    """


class Conv3DTranspose(_ConvTranspose):
    """A transposed convolution over volumes, which makes them larger."""

    _rank = 3


class _Depthwise(_Filters):
    """A convolution of each channel by itself; its kernel is (sizes, channels, depth_multiplier)."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.depth_multiplier = depth_multiplier
        self._geometry(kernel_size, strides, padding, data_format, dilation_rate)
        self._kernel_settings("depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._finish(activation, use_bias, (bias_initializer, bias_regularizer, bias_constraint))

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._add((*self.kernel_size, channels, self.depth_multiplier), "depthwise", "kernel")
        self._add_bias(channels * self.depth_multiplier)

    def call(self, inputs: Any) -> Any:
        x = images.channels_first(inputs, self.data_format)
        x = self._slide(x, _depthwise_weight(self.kernel, self._rank), self.bias, x.shape[1])
        return self.activation(images.channels_back(x, self.data_format))


def _depthwise_weight(kernel: Tensor, rank: int) -> Tensor:
    """(sizes, C, M) as (C * M, 1, sizes)."""
    return kernel.permute(rank, rank + 1, *range(rank)).reshape(-1, 1, *kernel.shape[:rank])


class DepthwiseConv1D(_Depthwise):
    """A convolution over sequences of each channel by itself."""

    _rank = 1


class DepthwiseConv2D(_Depthwise):
    """A convolution over images of each channel by itself."""


class _Separable(_Filters):
    """A depthwise convolution and one of size 1 that mixes the channels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters, self.depth_multiplier = filters, depth_multiplier
        self._geometry(kernel_size, strides, padding, data_format, dilation_rate)
        self._kernel_settings("depthwise", depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._kernel_settings("pointwise", pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self._finish(activation, use_bias, (bias_initializer, bias_regularizer, bias_constraint))

    def build(self, input_shape: Any) -> None:
        channels, many = self._channels(input_shape), self.depth_multiplier
        self.depthwise_kernel = self._add((*self.kernel_size, channels, many), "depthwise", "depthwise_kernel")
        one = (1,) * self._rank
        self.pointwise_kernel = self._add((*one, channels * many, self.filters), "pointwise", "pointwise_kernel")
        self._add_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        rank = self._rank
        x = images.channels_first(inputs, self.data_format)
        x = self._slide(x, _depthwise_weight(self.depthwise_kernel, rank), None, x.shape[1])
        weight = self.pointwise_kernel.permute(rank + 1, rank, *range(rank))
        x = images.FUNCTIONS["conv"][rank - 1](x, weight, self.bias)
        return self.activation(images.channels_back(x, self.data_format))


class SeparableConv1D(_Separable):
    """A separable convolution over sequences."""

    _rank = 1


class SeparableConv2D(_Separable):
    """A separable convolution over images."""


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution1DTranspose, Convolution2DTranspose = Conv1DTranspose, Conv2DTranspose
Convolution3DTranspose = Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
