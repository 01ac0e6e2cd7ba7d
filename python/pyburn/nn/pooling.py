"""Pooling over one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.nn import functional as F
from pyburn.nn.module import Module

Size = int | Sequence[int]


class _MaxPoolNd(Module):
    """The largest value of each window."""

    _pool: str

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The pooled input, and the places of the maxima when `return_indices`."""
        return getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window of (N, C, L) or (C, L).

    Args:
        kernel_size: The size of the window.
        stride: The step between windows; the window's size when left out.
        padding: How much of minus infinity is added on both sides.
        dilation: The distance between the points of a window.
        return_indices: Whether the places of the maxima are given too, for `MaxUnpool1d`.
        ceil_mode: Whether a last window that is cut off counts.

    Example:
        >>> import pyburn
        >>> pyburn.nn.MaxPool1d(2)(pyburn.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _pool = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window of (N, C, H, W) or (C, H, W); arguments as `MaxPool1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.MaxPool2d(2)(pyburn.zeros(1, 3, 8, 8)).shape)
        (1, 3, 4, 4)
    """

    _pool = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window of (N, C, D, H, W) or (C, D, H, W); arguments as `MaxPool1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.MaxPool3d(2)(pyburn.zeros(1, 3, 4, 4, 4)).shape)
        (1, 3, 2, 2, 2)
    """

    _pool = "max_pool3d"


class _MaxUnpoolNd(Module):
    """Puts the values that maximum pooling kept back to their places."""

    _unpool: str
    _dims: int

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size = self._tuple(kernel_size)
        self.stride = self._tuple(kernel_size if stride is None else stride)
        self.padding = self._tuple(padding)

    def _tuple(self, value: Size) -> tuple[int, ...]:
        return (value,) * self._dims if is_integer(value) else tuple(value)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Zeros, with `input` at the places `indices`."""
        result: Tensor = getattr(F, self._unpool)(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return result

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool1d`: zeros but for the maxima.

    Args:
        kernel_size: The size of the window that was pooled.
        stride: The step between windows; the window's size when left out.
        padding: What was added on both sides.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([[[1.0, 2.0, 4.0, 3.0]]])
        >>> pooled, places = pyburn.nn.MaxPool1d(2, return_indices=True)(x)
        >>> pyburn.nn.MaxUnpool1d(2)(pooled, places)
        tensor([[[0., 2., 4., 0.]]])
    """

    _unpool = "max_unpool1d"
    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool2d`; the arguments are those of `MaxUnpool1d`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.MaxUnpool2d(2)(pyburn.ones(1, 1, 1, 1), pyburn.tensor([[[[0]]]]))
        tensor([[[[1., 0.],
                  [0., 0.]]]])
    """

    _unpool = "max_unpool2d"
    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool3d`; the arguments are those of `MaxUnpool1d`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.MaxUnpool3d(2)(pyburn.ones(1, 1, 1, 1, 1), pyburn.tensor([[[[[0]]]]])).sum()
        tensor(1.)
    """

    _unpool = "max_unpool3d"
    _dims = 3


class _AvgPoolNd(Module):
    """What the layers that take means share: how they show themselves."""

    kernel_size: Size
    stride: Size
    padding: Size

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L) or (C, L).

    Args:
        kernel_size: The size of the window.
        stride: The step between windows; the window's size when left out.
        padding: How many zeros are added on both sides.
        ceil_mode: Whether a last window that is cut off counts.
        count_include_pad: Whether the added zeros count for the mean.

    Example:
        >>> import pyburn
        >>> pyburn.nn.AvgPool1d(2)(pyburn.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The pooled input."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


def _single(value: Size) -> tuple[int, ...]:
    return (value,) if is_integer(value) else tuple(value)


class _AvgPool(_AvgPoolNd):
    """The mean of each window of two or three dimensions."""

    _pool: str

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The pooled input."""
        result: Tensor = getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return result


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Arguments as `AvgPool1d`, and `divisor_override`, by which the sum is divided instead of the window's size.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AvgPool2d(2)(pyburn.zeros(1, 3, 8, 8)).shape)
        (1, 3, 4, 4)
    """

    _pool = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W); arguments as `AvgPool2d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AvgPool3d(2)(pyburn.zeros(1, 3, 4, 4, 4)).shape)
        (1, 3, 2, 2, 2)
    """

    _pool = "avg_pool3d"


class _LPPoolNd(Module):
    """A power average of each window."""

    _pool: str

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The pooled input."""
        result: Tensor = getattr(F, self._pool)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result

    def extra_repr(self) -> str:
        """The norm and the sizes."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, L) or (C, L).

    Example:
        >>> import pyburn
        >>> pyburn.nn.LPPool1d(2, 2)(pyburn.tensor([[[3.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _pool = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, H, W) or (C, H, W).

    Example:
        >>> import pyburn
        >>> pyburn.nn.LPPool2d(2, 2)(pyburn.ones(1, 1, 2, 2))
        tensor([[[[2.]]]])
    """

    _pool = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import pyburn
        >>> pyburn.nn.LPPool3d(1, 2)(pyburn.ones(1, 1, 2, 2, 2)).item()
        8.0
    """

    _pool = "lp_pool3d"


class _AdaptivePool(Module):
    """Pooling to a given output size."""

    _pool: str

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        """The pooled input, of the spatial size `output_size`."""
        return getattr(F, self._pool)(input, self.output_size)

    def extra_repr(self) -> str:
        """The output's size."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePool):
    """The means of windows of which there are a given number."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows of (N, C, L) as `output_size` says.

    Example:
        >>> import pyburn
        >>> pyburn.nn.AdaptiveAvgPool1d(1)(pyburn.tensor([[[1.0, 3.0]]]))
        tensor([[[2.]]])
    """

    _pool = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows of (N, C, H, W) as `output_size` says; None keeps a dimension's size.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AdaptiveAvgPool2d((1, None))(pyburn.zeros(2, 3, 4, 5)).shape)
        (2, 3, 1, 5)
    """

    _pool = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows of (N, C, D, H, W) as `output_size` says; None keeps a dimension's size.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AdaptiveAvgPool3d(1)(pyburn.zeros(2, 3, 4, 5, 6)).shape)
        (2, 3, 1, 1, 1)
    """

    _pool = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(_AdaptivePool):
    """The largest values of windows of which there are a given number."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The pooled input, and the places of the maxima when `return_indices`."""
        return getattr(F, self._pool)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of (N, C, L) as `output_size` says.

    Example:
        >>> import pyburn
        >>> pyburn.nn.AdaptiveMaxPool1d(1)(pyburn.tensor([[[1.0, 3.0]]]))
        tensor([[[3.]]])
    """

    _pool = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of (N, C, H, W) as `output_size` says; None keeps a dimension's size.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AdaptiveMaxPool2d((1, None))(pyburn.zeros(2, 3, 4, 5)).shape)
        (2, 3, 1, 5)
    """

    _pool = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows of (N, C, D, H, W) as `output_size` says; None keeps a dimension's size.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.AdaptiveMaxPool3d(1)(pyburn.zeros(2, 3, 4, 5, 6)).shape)
        (2, 3, 1, 1, 1)
    """

    _pool = "adaptive_max_pool3d"
