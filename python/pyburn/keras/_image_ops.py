"""Colours, filters and parts of images: the functions of `keras.ops.image`, and what layers do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn import linalg, ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.nn import functional

__all__ = ["IMAGE", "blurred", "filtered", "from_hsv", "homography", "to_gray", "to_hsv", "warped"]

_GRAY = (0.2989, 0.587, 0.114)


def to_gray(x: Tensor) -> Tensor:
    """The brightness (B, 1, H, W) of colours (B, 3, H, W); what has one channel already stays."""
    if x.shape[1] == 1:
        return x
    if x.shape[1] != 3:
        raise ValueError(f"images of 3 channels (or 1) can be made grey, but there are {x.shape[1]}")
    weights = ops.tensor(_GRAY, dtype=x.dtype, device=x.device).reshape(1, 3, 1, 1)
    return (x * weights).sum(1, keepdim=True)


def to_hsv(x: Tensor) -> Tensor:
    """Hue, saturation and value of colours between 0 and 1, channels first.

    Example:
        >>> to_hsv(ops.tensor([0.0, 1.0, 0.0]).reshape(1, 3, 1, 1)).flatten().tolist()[1:]
        [1.0, 1.0]
    """
    red, green, blue = (x[:, place] for place in range(3))
    most, least = x.amax(1), x.amin(1)
    spread = most - least
    none = ops.zeros_like(spread)
    some = ops.where(spread == 0, ops.ones_like(spread), spread)
    hue = ops.where(
        most == red,
        (green - blue) / some,
        ops.where(most == green, (blue - red) / some + 2.0, (red - green) / some + 4.0),
    )
    hue = ops.where(spread == 0, none, hue / 6.0)
    hue = ops.where(hue < 0, hue + 1.0, hue)
    saturation = ops.where(most > 0, spread / ops.where(most > 0, most, ops.ones_like(most)), none)
    return ops.stack([hue, saturation, most], 1)


def from_hsv(x: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value, channels first."""
    hue, saturation, value = (x[:, place] for place in range(3))
    turn = hue * 6.0
    shares = [
        ops.clamp(ops.abs(turn - 3.0) - 1.0, 0.0, 1.0),
        ops.clamp(2.0 - ops.abs(turn - 2.0), 0.0, 1.0),
        ops.clamp(2.0 - ops.abs(turn - 4.0), 0.0, 1.0),
    ]
    return ops.stack([(1.0 - saturation + saturation * share) * value for share in shares], 1)


def filtered(x: Tensor, kernel: Tensor) -> Tensor:
    """Every channel of (B, C, H, W) under one window, with zeros beyond the edges."""
    count = x.shape[1]
    weight = kernel.reshape(1, 1, *kernel.shape).expand(count, 1, *kernel.shape).contiguous()
    pads = [kernel.shape[0] // 2, kernel.shape[1] // 2]
    return functional.conv2d(x, weight, padding=pads, groups=count)


def blurred(x: Tensor, size: Sequence[int], sigma: Sequence[float]) -> Tensor:
    """Images (B, C, H, W) under a Gaussian window."""
    sides = []
    for length, width in zip(size, sigma, strict=True):
        steps = ops.arange(length, dtype=x.dtype, device=x.device) - (length - 1) / 2
        side = ops.exp(-0.5 * (steps / float(width)) ** 2)
        sides.append(side / side.sum())
    return filtered(x, ops.outer(sides[0], sides[1]))


def _planes(images: Any, data_format: Any) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Images as (B, C, H, W), and the way back."""
    x = images if isinstance(images, Tensor) else ops.as_tensor(images)
    if x.dim() not in (3, 4):
        raise ValueError(f"images have 3 dimensions, or 4 in a batch, but the shape is {tuple(x.shape)}")
    single, last = x.dim() == 3, settings.data_format_of(data_format) == "channels_last"
    planes = x.unsqueeze(0) if single else x
    planes = planes.movedim(-1, 1) if last else planes

    def back(made: Tensor) -> Tensor:
        made = made.movedim(1, -1) if last else made
        return made[0] if single else made

    return planes, back


def _colored(change: Callable[[Tensor], Tensor], name: str) -> Callable[..., Any]:
    def function(images: Any, data_format: Any = None) -> Tensor:
        planes, back = _planes(images, data_format)
        if planes.shape[1] != 3 and (name != "rgb_to_grayscale" or planes.shape[1] != 1):
            raise ValueError(
                f"ops.image.{name}: the images have {planes.shape[1]} channels, but colours have 3; see data_format"
            )
        if not planes.is_floating_point() and name != "rgb_to_grayscale":
            raise ValueError(f"ops.image.{name}: the images must be floats between 0 and 1, but are {planes.dtype}")
        kind = planes.dtype
        made = change(planes if planes.is_floating_point() else planes.float())
        return back(made.to(kind))

    return function


def _gaussian_blur(images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0), data_format: Any = None) -> Tensor:
    planes, back = _planes(images, data_format)
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(int(size) for size in kernel_size)
    widths = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(float(width) for width in sigma)
    return back(blurred(planes, sizes, widths))


def _crop_images(
    images: Any,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: Any = None,
) -> Tensor:
    planes, back = _planes(images, data_format)
    top, high = _span("crop_images", planes.shape[2], top_cropping, bottom_cropping, target_height)
    left, wide = _span("crop_images", planes.shape[3], left_cropping, right_cropping, target_width)
    return back(planes[:, :, top : top + high, left : left + wide])


def _span(name: str, length: int, before: int | None, after: int | None, target: int | None) -> tuple[int, int]:
    if [before, after, target].count(None) != 1:
        raise ValueError(
            f"ops.image.{name}: of what is cut or padded before and after, and the target's size, give exactly two"
        )
    if target is None:
        target = length - int(before or 0) - int(after or 0)
    if before is None:
        before = length - target - int(after or 0)
    if before < 0 or target <= 0 or before + target > length:
        raise ValueError(f"ops.image.{name}: {target} of {length} from {before} on do not fit")
    return before, target


def _pad_images(
    images: Any,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: Any = None,
) -> Tensor:
    planes, back = _planes(images, data_format)
    high, wide = planes.shape[2:]
    top, bottom = _margins(high, top_padding, bottom_padding, target_height)
    left, right = _margins(wide, left_padding, right_padding, target_width)
    return back(functional.pad(planes, [left, right, top, bottom]))


def _margins(length: int, before: int | None, after: int | None, target: int | None) -> tuple[int, int]:
    if [before, after, target].count(None) != 1:
        raise ValueError(
            "ops.image.pad_images: of the padding before and after and the target's size, give exactly two"
        )
    if before is None:
        before = int(target or 0) - length - int(after or 0)
    if after is None:
        after = int(target or 0) - length - before
    if before < 0 or after < 0:
        raise ValueError(f"ops.image.pad_images: the target of {target} is smaller than the image's {length}")
    return before, after


def _extract_patches(
    images: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
) -> Tensor:
    from pyburn.keras.layers._images import same_padded

    planes, back = _planes(images, data_format)
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    steps = sizes if strides is None else (strides, strides) if isinstance(strides, int) else tuple(strides)
    gaps = (dilation_rate, dilation_rate) if isinstance(dilation_rate, int) else tuple(dilation_rate)
    if padding == "same":
        planes = same_padded(planes, sizes, steps, gaps)
    elif padding != "valid":
        raise ValueError(f"ops.image.extract_patches: padding is {padding!r}, but must be valid or same")
    count, channels = planes.shape[:2]
    columns = functional.unfold(planes, sizes, dilation=gaps, stride=steps)
    high = (planes.shape[2] - (sizes[0] - 1) * gaps[0] - 1) // steps[0] + 1
    rows = columns.reshape(count, channels, sizes[0] * sizes[1], high, -1)
    # A patch is row by row, and its channels stand together.
    return back(rows.transpose(1, 2).reshape(count, -1, high, rows.shape[-1]))


def _affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: Any = None,
) -> Tensor:
    planes, back = _planes(images, data_format)
    rows = transform if isinstance(transform, Tensor) else ops.as_tensor(transform)
    rows = rows.reshape(-1, 8).to(planes.dtype).expand(len(planes), 8)
    return back(warped(planes, rows, interpolation, fill_mode, fill_value))


def warped(x: Tensor, rows: Tensor, interpolation: str, fill_mode: str, fill_value: float) -> Tensor:
    """Images (B, C, H, W) seen through maps of places, one row (a0, a1, a2, b0, b1, b2, c0, c1) for each.

    What the result has at (x, y) comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1.
    """
    modes = {"constant": "zeros", "nearest": "border", "reflect": "reflection"}
    if fill_mode not in modes:
        raise ValueError(f"fill_mode is {fill_mode!r}, but must be one of {', '.join(modes)}")
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(f"interpolation is {interpolation!r}, but must be bilinear or nearest")
    high, wide = x.shape[2:]
    down, right = ops.meshgrid(
        ops.arange(high, dtype=x.dtype, device=x.device),
        ops.arange(wide, dtype=x.dtype, device=x.device),
        indexing="ij",
    )
    a0, a1, a2, b0, b1, b2, c0, c1 = (rows[:, place].reshape(-1, 1, 1) for place in range(8))
    under = c0 * right + c1 * down + 1
    across, along = (a0 * right + a1 * down + a2) / under, (b0 * right + b1 * down + b2) / under
    grid = ops.stack([(2 * across + 1) / wide - 1, (2 * along + 1) / high - 1], -1)
    shift = float(fill_value) if fill_mode == "constant" else 0.0
    made = functional.grid_sample(
        x - shift, grid, mode=interpolation, padding_mode=modes[fill_mode], align_corners=False
    )
    return made + shift


def homography(start: Tensor, end: Tensor) -> Tensor:
    """The eight numbers (B, 8) of the map that takes four points (B, 4, 2) of the result to those of the source."""
    x, y = end[..., 0], end[..., 1]
    one, none = ops.ones_like(x), ops.zeros_like(x)
    first = ops.stack([x, y, one, none, none, none, -start[..., 0] * x, -start[..., 0] * y], -1)
    second = ops.stack([none, none, none, x, y, one, -start[..., 1] * x, -start[..., 1] * y], -1)
    matrix, target = ops.cat([first, second], 1), ops.cat([start[..., 0], start[..., 1]], 1)
    return linalg.solve(matrix, target.unsqueeze(-1)).squeeze(-1)


def _perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: Any = None,
) -> Tensor:
    planes, back = _planes(images, data_format)
    start, end = (ops.as_tensor(each).to(planes.dtype).reshape(-1, 4, 2) for each in (start_points, end_points))
    rows = homography(start, end).expand(len(planes), 8)
    return back(warped(planes, rows, interpolation, "constant", fill_value))


def _along(places: Tensor, length: int, mode: str) -> tuple[Tensor, Tensor]:
    """Whole places inside an axis for those beyond it, and which were inside."""
    inside = (places >= 0) & (places < length)
    if mode in ("constant", "nearest"):
        return ops.clamp(places, 0, length - 1), inside if mode == "constant" else ops.ones_like(inside)
    if mode == "wrap":
        found = ops.remainder(places, length)
    elif mode == "mirror":
        turn = max(2 * (length - 1), 1)
        found = ops.remainder(places, turn)
        found = ops.where(found < length, found, turn - found)
    else:
        found = ops.remainder(places, 2 * length)
        found = ops.where(found < length, found, 2 * length - 1 - found)
    return found, ops.ones_like(inside)


def _map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: float = 0
) -> Tensor:
    x = inputs if isinstance(inputs, Tensor) else ops.as_tensor(inputs)
    axes = [each if isinstance(each, Tensor) else ops.as_tensor(each) for each in coordinates]
    if len(axes) != x.dim():
        raise ValueError(f"ops.image.map_coordinates: {len(axes)} coordinates were given for {x.dim()} dimensions")
    if order not in (0, 1):
        raise ValueError(f"ops.image.map_coordinates: order is {order}, but must be 0 (nearest) or 1 (linear)")
    if fill_mode not in ("constant", "nearest", "wrap", "mirror", "reflect"):
        raise ValueError(
            f"ops.image.map_coordinates: fill_mode is {fill_mode!r}, but must be constant, nearest, wrap, mirror or "
            "reflect"
        )
    corners: list[tuple[list[Tensor], Any, Any]] = [([], None, None)]
    for place, length in zip(axes, x.shape, strict=True):
        place = place if place.is_floating_point() else place.float()
        low = ops.round(place) if order == 0 else ops.floor(place)
        ends = [(low, None)] if order == 0 else [(low, 1 - (place - low)), (low + 1, place - low)]
        grown = []
        for found, valid, weight in corners:
            for at, share in ends:
                index, inside = _along(at.long(), int(length), fill_mode)
                both = inside if valid is None else valid & inside
                grown.append(([*found, index], both, share if weight is None else weight * share))
        corners = grown
    total: Any = 0
    for found, valid, weight in corners:
        part = ops.where(valid, x[tuple(found)], ops.full_like(x[tuple(found)], fill_value))
        total = total + (part if weight is None else weight * part)
    made: Tensor = total
    return made if x.is_floating_point() else ops.round(made.float()).to(x.dtype)


IMAGE: dict[str, Callable[..., Any]] = {
    "affine_transform": _affine_transform,
    "crop_images": _crop_images,
    "extract_patches": _extract_patches,
    "gaussian_blur": _gaussian_blur,
    "map_coordinates": _map_coordinates,
    "perspective_transform": _perspective_transform,
    "hsv_to_rgb": _colored(from_hsv, "hsv_to_rgb"),
    "pad_images": _pad_images,
    "rgb_to_grayscale": _colored(to_gray, "rgb_to_grayscale"),
    "rgb_to_hsv": _colored(to_hsv, "rgb_to_hsv"),
}
