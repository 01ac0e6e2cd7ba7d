"""Windows over images: any filter, and blurs by mean, bell and median."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor, float32
from pyburn.nn.functional import conv2d
from pyburn.ops import linspace, ones, stack
from pyburn.vision.imaging.borders import pair, shifted, with_border

__all__ = ["box_blur", "filter2d", "gaussian_blur2d", "median_blur"]


def filter2d(image: Tensor, kernel: Tensor, border: str = "reflect", value: float = 0.0) -> Tensor:
    """Each pixel as the sum of its neighbours times a kernel (which is not mirrored).

    Args:
        image: (..., H, W); integers become float32 on the way and are rounded at the end.
        kernel: (KH, KW); its middle, left of and above it for even sizes, lies on the pixel.
        border: What lies beyond the edges: "constant", "replicate", "reflect", "symmetric" or "circular".
        value: What a constant border holds.

    Raises:
        ValueError: The kernel has not two dimensions, or there is no such border.

    Example:
        >>> import pyburn
        >>> filter2d(pyburn.tensor([[1.0, 2.0, 4.0]]), pyburn.tensor([[-1.0, 0.0, 1.0]]))
        tensor([[0., 3., 0.]])
    """
    if kernel.dim() != 2:
        raise ValueError(f"filter2d: kernel should have shape [KH, KW], got {list(kernel.shape)}.")
    high, wide = kernel.shape
    up, left = (high - 1) // 2, (wide - 1) // 2
    kind = image.dtype if image.is_floating_point() else float32
    padded = with_border(image.to(kind), (left, wide - 1 - left, up, high - 1 - up), border, value)
    flat = padded.reshape(-1, 1, *padded.shape[-2:])
    made = conv2d(flat, kernel.to(device=image.device, dtype=kind)[None, None]).reshape(image.shape)
    if kind == image.dtype:
        return made
    return (made.round().clamp(0, 255) if image.dtype.itemsize == 1 else made.round()).to(image.dtype)


def box_blur(image: Tensor, kernel_size: int | Sequence[int], border: str = "reflect") -> Tensor:
    """Each pixel as the mean of its neighbours.

    Args:
        image: (..., H, W).
        kernel_size: The window's height and width, or one number for both.
        border: What lies beyond the edges; see `filter2d`.

    Example:
        >>> import pyburn
        >>> box_blur(pyburn.tensor([[0.0, 3.0, 0.0]]), (1, 3))
        tensor([[2., 1., 2.]])
    """
    high, wide = pair(kernel_size, "kernel_size")
    floats = image if image.is_floating_point() else image.to(float32)
    along = filter2d(floats, ones(1, wide, dtype=floats.dtype) / wide, border)
    made = filter2d(along, ones(high, 1, dtype=floats.dtype) / high, border)
    return made if image.is_floating_point() else made.round().to(image.dtype)


def gaussian_blur2d(
    image: Tensor, kernel_size: int | Sequence[int], sigma: float | Sequence[float], border: str = "reflect"
) -> Tensor:
    """Each pixel as a mean of its neighbours, the nearer the weightier.

    Args:
        image: (..., H, W).
        kernel_size: The window's height and width, or one number for both.
        sigma: The bell's widths along y and x, or one number for both.
        border: What lies beyond the edges; see `filter2d`.

    Raises:
        ValueError: A width is not positive.

    Example:
        >>> import pyburn
        >>> gaussian_blur2d(pyburn.ones(3, 3), 3, 1.0).round().sum().item()
        9.0
    """
    sizes = pair(kernel_size, "kernel_size")
    widths = (sigma, sigma) if isinstance(sigma, int | float) else tuple(sigma)
    if min(widths) <= 0:
        raise ValueError(f"gaussian_blur2d: sigma must be positive, got {sigma}.")
    made = image if image.is_floating_point() else image.to(float32)
    for dim, (size, width) in enumerate(zip(sizes, widths, strict=True)):
        place = linspace(-(size - 1) / 2, (size - 1) / 2, size, dtype=made.dtype)
        bell = (-(place / width).pow(2) / 2).exp()
        bell = bell / bell.sum()
        made = filter2d(made, bell[:, None] if dim == 0 else bell[None], border)
    return made if image.is_floating_point() else made.round().to(image.dtype)


def median_blur(image: Tensor, kernel_size: int | Sequence[int], border: str = "reflect") -> Tensor:
    """Each pixel as the median of its neighbours.

    Args:
        image: (..., H, W).
        kernel_size: The window's height and width, or one number for both; odd.
        border: What lies beyond the edges; see `filter2d`.

    Raises:
        ValueError: A size is even.

    Example:
        >>> import pyburn
        >>> median_blur(pyburn.tensor([[1.0, 9.0, 2.0]]), (1, 3))
        tensor([[9., 2., 9.]])
    """
    high, wide = pair(kernel_size, "kernel_size")
    if high % 2 == 0 or wide % 2 == 0:
        raise ValueError(f"median_blur: kernel_size must be odd, got {kernel_size}.")
    windows = stack([part for _, _, part in shifted(image, high, wide, border)])  # (KH * KW, ..., H, W)
    return windows.median(0)[0]
