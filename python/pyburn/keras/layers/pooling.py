"""Pooling: over windows, over all, and to a given size."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import _images as images

__all__ = [
    "AdaptiveAveragePooling1D",
    "AdaptiveAveragePooling2D",
    "AdaptiveAveragePooling3D",
    "AdaptiveMaxPooling1D",
    "AdaptiveMaxPooling2D",
    "AdaptiveMaxPooling3D",
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
]


class _Pool(Layer):
    """A number for each window."""

    _rank, _kind = 2, "max"

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        self.pool_size = images.sizes(pool_size, self._rank, f"{name}: pool_size")
        self.strides = self.pool_size if strides is None else images.sizes(strides, self._rank, f"{name}: strides")
        self.padding = images.padding_of(padding, name=type(self).__name__)
        self.data_format = settings.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        x = images.channels_first(inputs, self.data_format)
        ones = (1,) * self._rank
        pool = images.FUNCTIONS[self._kind][self._rank - 1]
        if self.padding == "same" and self._kind == "average":
            x = self._mean_of_what_is_there(x, pool)
            return images.channels_back(x, self.data_format)
        if self.padding == "same":
            x = images.same_padded(x, self.pool_size, self.strides, ones, -math.inf)
        images.check_fits(self, x, self.pool_size, ones)
        return images.channels_back(pool(x, self.pool_size, self.strides), self.data_format)

    def _mean_of_what_is_there(self, x: Tensor, pool: Any) -> Tensor:
        """The mean over windows, whose padding does not count."""
        ones = (1,) * self._rank
        inside = ops.ones((1, 1, *x.shape[2:]), dtype=x.dtype, device=x.device)
        total = pool(images.same_padded(x, self.pool_size, self.strides, ones), self.pool_size, self.strides)
        share = pool(images.same_padded(inside, self.pool_size, self.strides, ones), self.pool_size, self.strides)
        found: Tensor = total / share
        return found


class MaxPooling1D(_Pool):
    """The largest value of each window of a sequence."""

    _rank = 1


class MaxPooling2D(_Pool):
    """The largest value of each window of an image.

    Example:
        >>> import pyburn
        >>> MaxPooling2D(2)(pyburn.zeros(1, 8, 8, 3)).shape
        pyburn.Size([1, 4, 4, 3])
    """


class MaxPooling3D(_Pool):
    """The largest value of each window of a volume."""

    _rank = 3


class _AveragePool(_Pool):
    _kind = "average"

    def __init__(
        self,
        pool_size: Any,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


class AveragePooling1D(_AveragePool):
    """The mean of each window of a sequence."""

    _rank = 1


class AveragePooling2D(_AveragePool):
    """The mean of each window of an image."""


class AveragePooling3D(_AveragePool):
    """The mean of each window of a volume."""

    _rank = 3


class _Global(Layer):
    """A number for each channel."""

    _rank = 2

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format, self.keepdims = settings.data_format_of(data_format), keepdims
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _axes(self) -> tuple[int, ...]:
        first = 1 if self.data_format == "channels_last" else 2
        return tuple(range(first, first + self._rank))


class _GlobalMax(_Global):
    def call(self, inputs: Any) -> Any:
        return inputs.amax(self._axes(), keepdim=self.keepdims)


class _GlobalAverage(_Global):
    def call(self, inputs: Any) -> Any:
        return inputs.mean(self._axes(), keepdim=self.keepdims)


class GlobalMaxPooling1D(_GlobalMax):
    """The largest value of each channel of a sequence."""

    _rank = 1


class GlobalMaxPooling2D(_GlobalMax):
    """The largest value of each channel of an image."""


class GlobalMaxPooling3D(_GlobalMax):
    """The largest value of each channel of a volume."""

    _rank = 3


class GlobalAveragePooling1D(_GlobalAverage):
    """The mean of each channel of a sequence; masked steps do not count."""

    _rank = 1

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        axis = self._axes()[0]
        if mask is None:
            return inputs.mean(axis, keepdim=self.keepdims)
        weight = mask.to(inputs.dtype).unsqueeze(2 if axis == 1 else 1)
        total = weight.sum(axis, keepdim=self.keepdims)
        return (inputs * weight).sum(axis, keepdim=self.keepdims) / total

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(_GlobalAverage):
    """The mean of each channel of an image."""


class GlobalAveragePooling3D(_GlobalAverage):
    """The mean of each channel of a volume."""

    _rank = 3


class _Adaptive(Layer):
    """Windows of such sizes that the result has a given size."""

    _rank, _kind = 2, "adaptive_max"

    def __init__(self, output_size: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_size = images.sizes(output_size, self._rank, f"{type(self).__name__}: output_size")
        self.data_format = settings.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        x = images.channels_first(inputs, self.data_format)
        pool = images.FUNCTIONS[self._kind][self._rank - 1]
        return images.channels_back(pool(x, self.output_size), self.data_format)


class AdaptiveMaxPooling1D(_Adaptive):
    """The largest values of a sequence in a given number of windows."""

    _rank = 1


class AdaptiveMaxPooling2D(_Adaptive):
    """The largest values of an image in a given number of windows."""


class AdaptiveMaxPooling3D(_Adaptive):
    """The largest values of a volume in a given number of windows."""

    _rank = 3


class AdaptiveAveragePooling1D(_Adaptive):
    """The means of a sequence in a given number of windows."""

    _rank, _kind = 1, "adaptive_average"


class AdaptiveAveragePooling2D(_Adaptive):
    """The means of an image in a given number of windows."""

    _kind = "adaptive_average"


class AdaptiveAveragePooling3D(_Adaptive):
    """The means of a volume in a given number of windows."""

    _rank, _kind = 3, "adaptive_average"


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
