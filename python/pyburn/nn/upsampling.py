"""Layers that change the size of images, or the order of their parts."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.module import Module


class Upsample(Module):
    """Resizes (N, C, ...) over its last one, two or three dimensions.

    Args:
        size: The sizes wanted, or one for all.
        scale_factor: By how many times larger, instead of `size`.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: Whether the corner pixels of input and output coincide.
        recompute_scale_factor: Whether the factor is computed anew from the rounded size.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Upsample(scale_factor=2)(pyburn.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The resized input."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The factor or size, and the mode."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes (N, C, H, W) by repeating pixels.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.UpsamplingNearest2d(scale_factor=2)(pyburn.zeros(1, 1, 2, 3)).shape)
        (1, 1, 4, 6)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes (N, C, H, W) linearly, with the corners of input and output in the same place.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.UpsamplingBilinear2d(size=(3, 3))(pyburn.zeros(1, 1, 2, 2)).shape)
        (1, 1, 3, 3)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Makes (N, C, H * r, W * r) of (N, C * r * r, H, W).

    Args:
        upscale_factor: r.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.PixelShuffle(2)(pyburn.zeros(1, 8, 3, 3)).shape)
        (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The larger image."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes (N, C * r * r, H, W) of (N, C, H * r, W * r).

    Args:
        downscale_factor: r.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.PixelUnshuffle(2)(pyburn.zeros(1, 2, 6, 6)).shape)
        (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The smaller image."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of (N, C, ...) out of groups, one of each in turn.

    Args:
        groups: How many groups; it must divide C.

    Example:
        >>> import pyburn
        >>> pyburn.nn.ChannelShuffle(2)(pyburn.arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The channels in their new order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"


class Unfold(Module):
    """Makes (N, C * window, L) of (N, C, H, W): each window of the image as a column.

    Args:
        kernel_size: The size of the window.
        dilation: The distance between the points of a window.
        padding: How many zeros are added on both sides.
        stride: The step between windows.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Unfold(2)(pyburn.zeros(1, 3, 4, 4)).shape)
        (1, 12, 9)
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The windows."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Makes (N, C, H, W) of (N, C * window, L): the sum of windows put back to their places.

    Args:
        output_size: H and W.
        kernel_size: The size of the window.
        dilation: The distance between the points of a window.
        padding: How much was added on both sides.
        stride: The step between windows.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Fold((4, 4), 2)(pyburn.zeros(1, 12, 9)).shape)
        (1, 3, 4, 4)
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The image."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
