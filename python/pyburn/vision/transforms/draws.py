"""What torchvision's transforms draw in their static `get_params`: programs call it to cut image and mask alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.ops import cat, empty, exp, log, rand, randint, randperm, tensor
from pyburn.vision.transforms import functional as F

__all__ = [
    "affine_params",
    "blur_params",
    "crop_params",
    "elastic_params",
    "erasing_params",
    "jitter_params",
    "perspective_params",
    "policy_params",
    "resized_crop_params",
    "rotation_params",
]

Range = Sequence[float]


def _uniform(span: Range) -> float:
    return float(empty(1).uniform_(float(span[0]), float(span[1])).item())


def _whole(low: int, high: int) -> int:
    return int(randint(low, high, (1,)))


def crop_params(img: Any, output_size: Sequence[int]) -> tuple[int, int, int, int]:
    """The top, left, height and width of a part of this size at a random place.

    Raises:
        ValueError: The image is smaller.

    Example:
        >>> import pyburn
        >>> crop_params(pyburn.zeros(3, 8, 8), (8, 8))
        (0, 0, 8, 8)
    """
    high, wide = F.get_size(img)
    height, width = output_size
    if high < height or wide < width:
        raise ValueError(f"Required crop size {(height, width)} is larger than input image size {(high, wide)}")
    if (high, wide) == (height, width):
        return 0, 0, high, wide
    return _whole(0, high - height + 1), _whole(0, wide - width + 1), height, width


def resized_crop_params(img: Any, scale: Range, ratio: Range) -> tuple[int, int, int, int]:
    """The top, left, height and width of a part of random place, area and form.

    Example:
        >>> import pyburn
        >>> resized_crop_params(pyburn.zeros(3, 8, 8), (1.0, 1.0), (1.0, 1.0))
        (0, 0, 8, 8)
    """
    height, width = F.get_size(img)
    return part_of(height, width, scale, ratio)


def part_of(height: int, width: int, scale: Range, ratio: Range) -> tuple[int, int, int, int]:
    """As `resized_crop_params`, of an image of this size."""
    spread = log(tensor([float(ratio[0]), float(ratio[1])])).tolist()
    for _ in range(10):
        area = height * width * _uniform(scale)
        form = exp(empty(1).uniform_(*spread)).item()
        wide, high = round(math.sqrt(area * form)), round(math.sqrt(area / form))
        if 0 < wide <= width and 0 < high <= height:
            return _whole(0, height - high + 1), _whole(0, width - wide + 1), high, wide
    # No luck: the largest part in the middle whose form is allowed.
    form = width / height
    wide = round(height * max(ratio)) if form > max(ratio) else width
    high = round(width / min(ratio)) if form < min(ratio) else height
    return (height - high) // 2, (width - wide) // 2, high, wide


def rotation_params(degrees: Range) -> float:
    """An angle between two.

    Example:
        >>> rotation_params([30.0, 30.0])
        30.0
    """
    return _uniform(degrees)


def affine_params(
    degrees: Range,
    translate: Range | None,
    scale_ranges: Range | None,
    shears: Range | None,
    img_size: Sequence[int],
) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
    """An angle, moves along x and y, a scale, and shears along x and y, for an image of this width and height.

    Example:
        >>> affine_params([10.0, 10.0], None, None, None, [8, 8])
        (10.0, (0, 0), 1.0, (0.0, 0.0))
    """
    angle, moves = _uniform(degrees), (0, 0)
    if translate is not None:
        reach = [float(share * length) for share, length in zip(translate, img_size, strict=True)]
        moves = round(_uniform((-reach[0], reach[0]))), round(_uniform((-reach[1], reach[1])))
    scale = 1.0 if scale_ranges is None else _uniform(scale_ranges)
    along = down = 0.0
    if shears is not None:
        along = _uniform(shears)
        down = _uniform(shears[2:]) if len(shears) == 4 else 0.0
    return angle, moves, scale, (along, down)


def perspective_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
    """The corners of an image, and where each of them goes.

    Example:
        >>> perspective_params(4, 4, 0.0)[0]
        [[0, 0], [3, 0], [3, 3], [0, 3]]
    """
    aside = int(distortion_scale * (width // 2)) + 1
    down = int(distortion_scale * (height // 2)) + 1
    left, right, top, bottom = (0, aside), (width - aside, width), (0, down), (height - down, height)
    ends = [[_whole(*x), _whole(*y)] for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends


def erasing_params(
    img: Tensor, scale: Range, ratio: Range, value: list[float] | None = None
) -> tuple[int, int, int, int, Tensor]:
    """The top, left, height and width of a rectangle, and what replaces it: normal numbers if `value` is None.

    Example:
        >>> import pyburn
        >>> erasing_params(pyburn.zeros(1, 8, 8), (0.25, 0.25), (1.0, 1.0), [1.0])[2:4]
        (4, 4)
    """
    channels, height, width = img.shape[-3:]
    return rectangle_in(channels, height, width, scale, ratio, value) or (0, 0, height, width, img)


def rectangle_in(
    channels: int, height: int, width: int, scale: Range, ratio: Range, value: list[float] | None
) -> tuple[int, int, int, int, Tensor] | None:
    """As `erasing_params`, in an image of this size; None if none fits."""
    spread = log(tensor([float(ratio[0]), float(ratio[1])])).tolist()
    for _ in range(10):
        area = height * width * _uniform(scale)
        form = exp(empty(1).uniform_(*spread)).item()
        high, wide = round(math.sqrt(area * form)), round(math.sqrt(area / form))
        if not (high < height and wide < width):
            continue
        if value is None:
            filling = empty(channels, high, wide, dtype=float32).normal_()
        else:
            filling = tensor(value)[:, None, None]
        return _whole(0, height - high + 1), _whole(0, width - wide + 1), high, wide, filling
    return None


def jitter_params(
    brightness: Range | None, contrast: Range | None, saturation: Range | None, hue: Range | None
) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
    """The order of the four changes and the factor of each; None for one that is not made.

    Example:
        >>> jitter_params((2.0, 2.0), None, None, None)[1:]
        (2.0, None, None, None)
    """
    order = randperm(4)
    factors = [None if span is None else _uniform(span) for span in (brightness, contrast, saturation, hue)]
    return order, factors[0], factors[1], factors[2], factors[3]


def blur_params(sigma_min: float, sigma_max: float) -> float:
    """The width of a bell.

    Example:
        >>> blur_params(2.0, 2.0)
        2.0
    """
    return _uniform((sigma_min, sigma_max))


def elastic_params(alpha: Range, sigma: Range, size: Sequence[int]) -> Tensor:
    """How far each pixel is read beside its place: (1, H, W, 2).

    Example:
        >>> elastic_params([50.0, 50.0], [0.5, 0.5], [4, 6]).shape
        pyburn.Size([1, 4, 6, 2])
    """
    moves = []
    for axis, length in enumerate(reversed(size)):
        move = rand(1, 1, *size) * 2 - 1
        if sigma[axis] > 0.0:
            taps = int(8 * sigma[axis] + 1) | 1
            move = F.gaussian_blur(move, [taps, taps], list(sigma))
        moves.append(move * alpha[axis] / length)
    return cat(moves, 1).permute(0, 2, 3, 1)


def policy_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
    """Which policy, and for each of its two augmentations a probability and a sign.

    Example:
        >>> policy_params(1)[0]
        0
    """
    return _whole(0, transform_num), rand((2,)), randint(2, (2,))
