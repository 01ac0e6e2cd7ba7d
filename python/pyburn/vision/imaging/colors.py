"""Colours in other spaces; images are (..., C, H, W) of floats between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor, int64
from pyburn.ops import cat, stack, tensor, where
from pyburn.vision.transforms.functional import color

__all__ = [
    "bgr_to_rgb",
    "gray_to_rgb",
    "hsv_to_rgb",
    "lab_to_rgb",
    "rgb_to_bgr",
    "rgb_to_gray",
    "rgb_to_hsv",
    "rgb_to_lab",
]

# From linear light of sRGB to CIE XYZ, and back; the white of a sky at noon (D65).
_XYZ = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
_RGB = (
    (3.2404813432005, -1.5371515162713, -0.4985363261689),
    (-0.9692549499966, 1.8759900014899, 0.0415559265583),
    (0.0556466391351, -0.2040413383665, 1.0573110696453),
)
_WHITE = (0.95047, 1.0, 1.08883)


def _check(image: Tensor, name: str, channels: int = 3) -> None:
    if image.dim() < 3 or image.shape[-3] != channels:
        raise ValueError(f"{name}: an image (..., {channels}, H, W) is needed, got {list(image.shape)}.")
    if not image.is_floating_point():
        raise TypeError(f"{name}: floats between 0 and 1 are needed, got {image.dtype}; divide bytes by 255.")


def rgb_to_gray(image: Tensor, weights: Sequence[float] = (0.299, 0.587, 0.114)) -> Tensor:
    """The lightness (..., 1, H, W) of an RGB image.

    Args:
        image: (..., 3, H, W).
        weights: How much each colour counts; those of television (ITU-R 601) when left out.

    Raises:
        ValueError: There are other channels.
        TypeError: The image has integers.

    Example:
        >>> import pyburn
        >>> rgb_to_gray(pyburn.ones(3, 1, 1))
        tensor([[[1.]]])
    """
    _check(image, "rgb_to_gray")
    red, green, blue = image.split(1, -3)
    return red * weights[0] + green * weights[1] + blue * weights[2]


def gray_to_rgb(image: Tensor) -> Tensor:
    """An image of one channel, three times.

    Example:
        >>> import pyburn
        >>> gray_to_rgb(pyburn.ones(1, 2, 2)).shape
        pyburn.Size([3, 2, 2])
    """
    if image.dim() < 3 or image.shape[-3] != 1:
        raise ValueError(f"gray_to_rgb: an image (..., 1, H, W) is needed, got {list(image.shape)}.")
    return cat([image] * 3, -3)


def rgb_to_bgr(image: Tensor) -> Tensor:
    """The channels in the order that OpenCV has; also the way back.

    Example:
        >>> import pyburn
        >>> rgb_to_bgr(pyburn.arange(3.0).reshape(3, 1, 1)).flatten()
        tensor([2., 1., 0.])
    """
    if image.dim() < 3 or image.shape[-3] != 3:
        raise ValueError(f"rgb_to_bgr: an image (..., 3, H, W) is needed, got {list(image.shape)}.")
    return image.index_select(-3, tensor([2, 1, 0], dtype=int64, device=image.device))


bgr_to_rgb = rgb_to_bgr


def rgb_to_hsv(image: Tensor) -> Tensor:
    """Hue, saturation and value, each between 0 and 1.

    Raises:
        ValueError: There are other channels.
        TypeError: The image has integers.

    Example:
        >>> import pyburn
        >>> rgb_to_hsv(pyburn.tensor([0.0, 1.0, 0.0]).reshape(3, 1, 1)).flatten()
        tensor([0.3333, 1.0000, 1.0000])
    """
    _check(image, "rgb_to_hsv")
    return color.rgb_to_hsv(image)


def hsv_to_rgb(image: Tensor) -> Tensor:
    """RGB of hue, saturation and value, each between 0 and 1.

    Raises:
        ValueError: There are other channels.
        TypeError: The image has integers.

    Example:
        >>> import pyburn
        >>> hsv_to_rgb(pyburn.tensor([0.0, 1.0, 1.0]).reshape(3, 1, 1)).flatten()
        tensor([1., 0., 0.])
    """
    _check(image, "hsv_to_rgb")
    return color.hsv_to_rgb(image)


def _mixed(image: Tensor, matrix: Sequence[Sequence[float]]) -> Tensor:
    planes = image.unbind(-3)
    return stack(
        [sum((plane * part for plane, part in zip(planes, row, strict=True)), 0 * planes[0]) for row in matrix], -3
    )


def rgb_to_lab(image: Tensor) -> Tensor:
    """CIE L*a*b* of an sRGB image: lightness from 0 to 100, and how red and how yellow.

    Raises:
        ValueError: There are other channels.
        TypeError: The image has integers.

    Example:
        >>> import pyburn
        >>> rgb_to_lab(pyburn.ones(3, 1, 1)).flatten().round().abs()
        tensor([100.,   0.,   0.])
    """
    _check(image, "rgb_to_lab")
    linear = where(image > 0.04045, ((image.clamp(min=0.0) + 0.055) / 1.055).pow(2.4), image / 12.92)
    white = tensor(list(_WHITE), dtype=image.dtype, device=image.device).reshape(3, 1, 1)
    xyz = _mixed(linear, _XYZ) / white
    root = where(xyz > 0.008856, xyz.clamp(min=1e-12).pow(1 / 3), 7.787 * xyz + 16.0 / 116.0)
    x, y, z = root.unbind(-3)
    return stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], -3)


def lab_to_rgb(image: Tensor) -> Tensor:
    """sRGB, between 0 and 1, of CIE L*a*b*.

    Raises:
        ValueError: There are other channels.
        TypeError: The image has integers.

    Example:
        >>> import pyburn
        >>> lab_to_rgb(pyburn.tensor([100.0, 0.0, 0.0]).reshape(3, 1, 1)).flatten().round()
        tensor([1., 1., 1.])
    """
    _check(image, "lab_to_rgb")
    light, a, b = image.unbind(-3)
    y = (light + 16.0) / 116.0
    root = stack([y + a / 500.0, y, (y - b / 200.0).clamp(min=0.0)], -3)
    white = tensor(list(_WHITE), dtype=image.dtype, device=image.device).reshape(3, 1, 1)
    xyz = where(root > 0.2068966, root.pow(3), (root - 16.0 / 116.0) / 7.787) * white
    linear = _mixed(xyz, _RGB)
    made = where(linear > 0.0031308, 1.055 * linear.clamp(min=1e-12).pow(1 / 2.4) - 0.055, linear * 12.92)
    return made.clamp(0.0, 1.0)
