"""Pixels read from elsewhere: turned, sheared, seen from the side, bent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, dtype, float16, float32, float64
from pyburn.linalg import lstsq
from pyburn.ops import cat, linspace, ones, rot90, stack, tensor, where
from pyburn.ops.grid import grid_sample
from pyburn.vision.transforms.functional.boxes import XYXY, clamped, from_corners, to_corners
from pyburn.vision.transforms.functional.geometry import (
    Fill,
    Size,
    around_points,
    corner_points,
    pil_fill,
)
from pyburn.vision.transforms.functional.kinds import (
    PIL_MODES,
    InterpolationMode,
    applied,
    flat_images,
    interpolation_mode,
)
from pyburn.vision.transforms.functional.points import in_floats
from pyburn.vision.tv_tensors import BoundingBoxFormat

__all__ = ["affine", "elastic", "elastic_transform", "perspective", "rotate"]

Mode = str | int | InterpolationMode
Points = Sequence[Sequence[int]]
_AFFINE, _PERSPECTIVE = 0, 2  # Pillow's numbers


def inverse_affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Where each pixel of the new image lies in the old one: the two rows of the matrix."""
    a, b, c, d = _turned(angle, shear)
    # The determinant of rotation and shears is 1, so the inverse is the adjoint.
    rows = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    x, y = center[0] + translate[0], center[1] + translate[1]
    rows[2] = center[0] - rows[0] * x - rows[1] * y
    rows[5] = center[1] - rows[3] * x - rows[4] * y
    return rows


def affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Where each point of the old image goes: the two rows of the matrix."""
    a, b, c, d = (part * scale for part in _turned(angle, shear))
    x, y = center[0] + translate[0], center[1] + translate[1]
    return [a, b, x - a * center[0] - b * center[1], c, d, y - c * center[0] - d * center[1]]


def _turned(angle: float, shear: Sequence[float]) -> tuple[float, float, float, float]:
    """Rotation after the shear along y after the shear along x."""
    turn, along_x, along_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - along_y) / math.cos(along_y)
    c = math.sin(turn - along_y) / math.cos(along_y)
    return a, -(a * math.tan(along_x) + math.sin(turn)), c, math.cos(turn) - c * math.tan(along_x)


def _affine_grid(rows: Sequence[float], size: Size, new: Size, kind: dtype, device: Any) -> Tensor:
    """Where to read for each pixel of an image of size `new`, as `grid_sample` takes it; 0 is the middle."""
    height, width = size
    x = linspace((1.0 - new[1]) * 0.5, (new[1] - 1.0) * 0.5, new[1], device=device).to(kind)
    y = linspace((1.0 - new[0]) * 0.5, (new[0] - 1.0) * 0.5, new[0], device=device).to(kind)
    base = stack([x.expand(*new), y.unsqueeze(-1).expand(*new), ones(*new, dtype=kind, device=device)], -1)
    theta = tensor(rows, dtype=kind, device=device).reshape(2, 3)
    theta = theta.t() / tensor([0.5 * width, 0.5 * height], dtype=kind, device=device)
    return (base.reshape(-1, 3) @ theta).reshape(1, *new, 2)


def _read(image: Tensor, grid: Tensor, mode: str, fill: Fill) -> Tensor:
    """`image` read at the places of `grid` (1, H, W, 2), with `fill` beyond it; all images of a batch at once."""
    new = grid.shape[1], grid.shape[2]
    channels = image.shape[-3]
    values = [] if fill is None else [float(fill)] if isinstance(fill, int | float) else [float(part) for part in fill]
    if len(values) not in (0, 1, channels):
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of the image "
            f"({len(values)} != {channels})"
        )
    if image.numel() == 0:
        return image.new_zeros(*image.shape[:-2], *new)
    flat = flat_images(image).to(grid.dtype).flatten(0, 1).unsqueeze(0)  # (1, N * C, H, W)
    if values:
        flat = cat([flat, flat.new_ones(1, 1, *flat.shape[2:])], 1)  # how much of each pixel is of the image
    made = grid_sample(flat, grid, mode, "zeros", False)
    if values:
        colour = tensor(values, dtype=grid.dtype, device=image.device).reshape(1, -1, 1, 1)
        share, made = made[:, -1:], made[:, :-1].reshape(-1, channels, *new)
        made = where(share < 0.5, colour, made) if mode == "nearest" else (made - colour) * share + colour
    if image.dtype != made.dtype:
        made = made.round().to(image.dtype)
    return made.reshape(*image.shape[:-2], *new)


def _tensor_mode(mode: InterpolationMode) -> str:
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"Interpolation mode '{mode.value}' is unsupported with Tensor input")
    return str(mode.value)


def _float_of(image: Tensor) -> dtype:
    return image.dtype if image.is_floating_point() else float32


def _moved(points: Tensor, rows: Sequence[float]) -> Tensor:
    matrix = tensor(list(rows), dtype=points.dtype, device=points.device).reshape(2, 3)
    return points @ matrix[:, :2].t() + matrix[:, 2]


def _affine_boxes(
    boxes: Tensor, format: BoundingBoxFormat, canvas: Size, rows: Sequence[float], new: Size, mode: str | None
) -> Tensor:
    if boxes.numel() == 0:
        return boxes
    points = _in_frame(corner_points(boxes, format), canvas, rows, new)
    return around_points(points, boxes, format, new, mode)


def _in_frame(points: Tensor, canvas: Size, rows: Sequence[float], new: Size) -> Tensor:
    """Points that are moved with an image of size `canvas`, of which all is seen in the size `new`."""
    moved = _moved(points, rows)
    if new == canvas:
        return moved
    height, width = (float(size) for size in canvas)
    frame = tensor([[0.0, 0.0], [0.0, height], [width, height], [width, 0.0]], dtype=points.dtype)
    return moved - _moved(frame.to(points.device), rows).amin(0)


def _checked(
    angle: float, translate: Sequence[float], scale: float, shear: float | Sequence[float], center: Any
) -> tuple[float, list[float], list[float], list[float] | None]:
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, list | tuple):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, int | float | list | tuple):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    shears = [shear, 0.0] if isinstance(shear, int | float) else list(shear) * (2 if len(shear) == 1 else 1)
    if len(shears) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, list | tuple):
        raise TypeError("Argument center should be a sequence")
    middle = None if center is None else [float(place) for place in center]
    return float(angle), [float(step) for step in translate], [float(part) for part in shears], middle


def affine(
    inpt: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Mode = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: Sequence[float] | None = None,
) -> Any:
    """The input turned, moved, scaled and sheared, in the size it has.

    Args:
        inpt: An image, masks, boxes or key points.
        angle: Degrees, clockwise.
        translate: Pixels to the right and down.
        scale: A factor.
        shear: Degrees along x, or along x and y.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the input: 0, a number, or one for each channel.
        center: The point (x, y) that is turned around; the middle when left out.

    Raises:
        TypeError: An argument is of another type.
        ValueError: An argument has a wrong length, or the mode is for images of PIL only.

    Example:
        >>> import pyburn
        >>> affine(pyburn.arange(4.0).reshape(1, 2, 2), 90, [0, 0], 1.0, 0.0).tolist()
        [[[2.0, 0.0], [3.0, 1.0]]]
    """
    mode = interpolation_mode(interpolation)
    angle, moves, shears, middle = _checked(angle, translate, scale, shear, center)

    def forwards(canvas: Size) -> list[float]:
        return affine_matrix(middle or [canvas[1] * 0.5, canvas[0] * 0.5], angle, moves, scale, shears)

    def read(image: Tensor, how: str) -> Tensor:
        size = image.shape[-2], image.shape[-1]
        around = _from_middle(middle, size)
        rows = inverse_affine_matrix(around, angle, moves, scale, shears)
        return _read(image, _affine_grid(rows, size, size, _float_of(image), image.device), how, fill)

    def pil_kernel(image: Any) -> Any:
        around = middle or [image.width * 0.5, image.height * 0.5]
        rows = inverse_affine_matrix(around, angle, moves, scale, shears)
        return image.transform(image.size, _AFFINE, rows, PIL_MODES[mode], fillcolor=pil_fill(fill, image))

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        return _affine_boxes(boxes, format, canvas, forwards(canvas), canvas, clamping), canvas

    return applied(
        "affine",
        inpt,
        lambda image: read(image, _tensor_mode(mode)),
        pil_kernel,
        lambda mask: read(mask, "nearest"),
        box_kernel,
        lambda points, canvas: (in_floats(points, lambda each: _moved(each, forwards(canvas))), canvas),
    )


def _from_middle(center: Sequence[float] | None, size: Size) -> list[float]:
    return [0.0, 0.0] if center is None else [center[0] - size[1] * 0.5, center[1] - size[0] * 0.5]


def _expanded(rows: Sequence[float], size: Size) -> Size:
    """The size of an image that holds all of a turned one."""
    height, width = 0.5 * size[0], 0.5 * size[1]
    corners = tensor([[-width, -height], [-width, height], [width, height], [width, -height]])
    points = _moved(corners, rows)
    low, high = (edge + tensor([width, height]) for edge in (points.amin(0), points.amax(0)))
    # Cut off after four digits, so that what is zero but for rounding does not make a pixel.
    span = (high * 1e4).trunc().mul(1e-4).ceil() - (low * 1e4).trunc().mul(1e-4).floor()
    return int(span[1]), int(span[0])


def rotate(
    inpt: Any,
    angle: float,
    interpolation: Mode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Fill = None,
) -> Any:
    """The input turned.

    Args:
        inpt: An image, masks, boxes or key points.
        angle: Degrees, against the clock.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        expand: Whether the result is as large as the turned input, instead of as large as the input.
        center: The point (x, y) that is turned around; the middle when left out.
        fill: What is beyond the input: 0, a number, or one for each channel.

    Raises:
        ValueError: The mode is for images of PIL only, or `fill` does not fit.

    Example:
        >>> import pyburn
        >>> rotate(pyburn.arange(4).reshape(1, 2, 2), 90).tolist()
        [[[1, 3], [0, 2]]]
    """
    mode = interpolation_mode(interpolation)

    def read(image: Tensor, how: str) -> Tensor:
        size, turn = (image.shape[-2], image.shape[-1]), angle % 360
        if center is None and (turn in (0, 180) or (turn in (90, 270) and (expand or size[0] == size[1]))):
            return rot90(image, int(turn // 90), (-2, -1)) if turn else image.clone()
        rows = inverse_affine_matrix(_from_middle(center, size), -turn, [0.0, 0.0], 1.0, [0.0, 0.0])
        new = _expanded(rows, size) if expand else size
        return _read(image, _affine_grid(rows, size, new, _float_of(image), image.device), how, fill)

    def pil_kernel(image: Any) -> Any:
        middle = None if center is None else tuple(center)
        return image.rotate(angle, PIL_MODES[mode], expand, middle, fillcolor=pil_fill(fill, image))

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        rows, new = frame(canvas) if boxes.numel() else ([], canvas)
        return _affine_boxes(boxes, format, canvas, rows, new, clamping), new

    def frame(canvas: Size) -> tuple[list[float], Size]:
        middle = center or [canvas[1] * 0.5, canvas[0] * 0.5]
        rows = affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
        backwards = inverse_affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
        return rows, _expanded(backwards, canvas) if expand else canvas

    def point_kernel(points: Tensor, canvas: Size) -> tuple[Tensor, Size]:
        rows, new = frame(canvas) if points.numel() else ([], canvas)
        return in_floats(points, lambda each: _in_frame(each, canvas, rows, new)), new

    return applied(
        "rotate",
        inpt,
        lambda image: read(image, _tensor_mode(mode)),
        pil_kernel,
        lambda mask: read(mask, "nearest"),
        box_kernel,
        point_kernel,
    )


def perspective_coefficients(startpoints: Points, endpoints: Points) -> list[float]:
    """The eight numbers of the map that takes each end point to its start point.

    Raises:
        ValueError: There are not four points each.
    """
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    wanted = tensor([float(place) for point in startpoints for place in point], dtype=float64)
    solved = lstsq(tensor(rows, dtype=float64), wanted, driver="gels").solution
    found: list[float] = solved.to(float32).tolist()
    return found


def _coefficients(startpoints: Points | None, endpoints: Points | None, given: Sequence[float] | None) -> list[float]:
    if given is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
        if len(given) != 8:
            raise ValueError("Argument coefficients should have 8 float values")
        return list(given)
    if startpoints is None or endpoints is None:
        raise ValueError("Either the startpoints/endpoints or the coefficients must have non `None` values.")
    return perspective_coefficients(startpoints, endpoints)


def _perspective_grid(c: Sequence[float], size: Size, kind: dtype, device: Any) -> Tensor:
    height, width = size
    x = linspace(0.5, width - 0.5, width, dtype=kind, device=device).expand(*size)
    y = linspace(0.5, height - 0.5, height, dtype=kind, device=device).unsqueeze(-1).expand(*size)
    base = stack([x, y, ones(*size, dtype=kind, device=device)], -1).reshape(-1, 3)
    above = tensor([c[0:3], c[3:6]], dtype=kind, device=device).t()
    above = above / tensor([0.5 * width, 0.5 * height], dtype=kind, device=device)
    below = tensor([[c[6], c[7], 1.0]] * 2, dtype=kind, device=device).t()
    return ((base @ above) / (base @ below) - 1.0).reshape(1, *size, 2)


def _perspective_boxes(
    boxes: Tensor, format: BoundingBoxFormat, canvas: Size, c: Sequence[float], mode: str | None
) -> Tensor:
    if boxes.numel() == 0:
        return boxes
    # Whole numbers become corners before they become floats, as in torchvision.
    points = corner_points(to_corners(boxes, format), XYXY)
    return around_points(_perspective_points(points, c), boxes, format, canvas, mode)


def _perspective_points(points: Tensor, c: Sequence[float]) -> Tensor:  # (..., 2)
    determinant = c[0] * c[4] - c[1] * c[3]
    if determinant == 0:
        raise RuntimeError(
            f"perspective: the coefficients {list(c)} cannot be inverted, so boxes and points cannot follow."
        )
    matrix = [
        [c[4] - c[5] * c[7], c[2] * c[7] - c[1], c[1] * c[5] - c[2] * c[4]],
        [c[5] * c[6] - c[3], c[0] - c[2] * c[6], c[2] * c[3] - c[0] * c[5]],
        [c[3] * c[7] - c[4] * c[6], c[1] * c[6] - c[0] * c[7], determinant],
    ]
    rows = tensor([[part / determinant for part in row] for row in matrix], dtype=points.dtype, device=points.device)
    moved = points @ rows[:, :2].t() + rows[:, 2]
    return moved[..., :2] / moved[..., 2:]


def perspective(
    inpt: Any,
    startpoints: Points | None,
    endpoints: Points | None,
    interpolation: Mode = InterpolationMode.BILINEAR,
    fill: Fill = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    """The input as seen from the side: its four points go to four others.

    Args:
        inpt: An image, masks, boxes or key points.
        startpoints: Four points (x, y).
        endpoints: Where they go.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the input: 0, a number, or one for each channel.
        coefficients: The eight numbers of the map, instead of the points.

    Raises:
        ValueError: Points or coefficients are absent, both there, or not as many.

    Example:
        >>> import pyburn
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> perspective(pyburn.ones(1, 4, 4), corners, corners).sum().item()
        16.0
    """
    numbers = _coefficients(startpoints, endpoints, coefficients)
    mode = interpolation_mode(interpolation)

    def read(image: Tensor, how: str) -> Tensor:
        size = image.shape[-2], image.shape[-1]
        return _read(image, _perspective_grid(numbers, size, _float_of(image), image.device), how, fill)

    def pil_kernel(image: Any) -> Any:
        return image.transform(image.size, _PERSPECTIVE, numbers, PIL_MODES[mode], fillcolor=pil_fill(fill, image))

    return applied(
        "perspective",
        inpt,
        lambda image: read(image, _tensor_mode(mode)),
        pil_kernel,
        lambda mask: read(mask, "nearest"),
        lambda boxes, format, canvas, clamping: (_perspective_boxes(boxes, format, canvas, numbers, clamping), canvas),
        lambda points, canvas: (in_floats(points, lambda each: _perspective_points(each, numbers)), canvas),
    )


def _identity_grid(size: Size, kind: dtype, device: Any) -> Tensor:
    height, width = size
    x = linspace((1 - width) / width, (width - 1) / width, width, dtype=kind, device=device)
    y = linspace((1 - height) / height, (height - 1) / height, height, dtype=kind, device=device)
    return stack([x.expand(*size), y.unsqueeze(-1).expand(*size)], -1).unsqueeze(0)


def _elastic_boxes(
    boxes: Tensor, format: BoundingBoxFormat, canvas: Size, displacement: Tensor, mode: str | None
) -> Tensor:
    if boxes.numel() == 0:
        return boxes
    corners = to_corners(boxes, format).reshape(-1, 4)
    moved = _elastic_points(corner_points(corners, XYXY).ceil(), canvas, displacement)
    around = cat([moved.amin(1), moved.amax(1)], -1).to(boxes.dtype)
    return from_corners(clamped(around, XYXY, canvas, mode), format).reshape(boxes.shape)


def _elastic_points(points: Tensor, canvas: Size, displacement: Tensor) -> Tensor:  # (..., 2)
    """Where the pixels of these places go, which are floats."""
    kind, whole = points.dtype, points.long()
    grid = _identity_grid(canvas, kind, points.device) - displacement.to(device=points.device, dtype=kind)
    columns, rows = whole[..., 0].clamp(0, canvas[1] - 1), whole[..., 1].clamp(0, canvas[0] - 1)
    size = tensor([float(canvas[1]), float(canvas[0])], dtype=kind, device=points.device)
    return (grid[0][rows, columns] + 1) * (0.5 * size) - 0.5


def elastic(
    inpt: Any, displacement: Tensor, interpolation: Mode = InterpolationMode.BILINEAR, fill: Fill = None
) -> Any:
    """The input with each pixel read a little beside its place.

    Args:
        inpt: An image, masks, boxes or key points.
        displacement: (1, H, W, 2): how far to the right and down each is read, in halves of the image.
        interpolation: "nearest" or "bilinear".
        fill: What is beyond the input: 0, a number, or one for each channel.

    Raises:
        TypeError: `displacement` is no tensor.
        ValueError: `displacement` has another shape.

    Example:
        >>> import pyburn
        >>> image = pyburn.arange(4.0).reshape(1, 2, 2)
        >>> elastic(image, pyburn.zeros(1, 2, 2, 2)).tolist()
        [[[0.0, 1.0], [2.0, 3.0]]]
    """
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    mode = interpolation_mode(interpolation)

    def check(size: Size) -> None:
        if tuple(displacement.shape) != (1, *size, 2):
            raise ValueError(
                f"Argument displacement shape should be {(1, *size, 2)}, but given {tuple(displacement.shape)}"
            )

    def read(image: Tensor, how: str) -> Tensor:
        size = image.shape[-2], image.shape[-1]
        check(size)
        kind = float32 if image.dtype == float16 else _float_of(image)
        grid = _identity_grid(size, kind, image.device) + displacement.to(device=image.device, dtype=kind)
        if image.dtype == float16:
            return _read(image.to(kind), grid, how, fill).to(float16)
        return _read(image, grid, how, fill)

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        check(canvas)
        return _elastic_boxes(boxes, format, canvas, displacement, clamping), canvas

    def point_kernel(points: Tensor, canvas: Size) -> tuple[Tensor, Size]:
        check(canvas)
        return in_floats(points, lambda each: _elastic_points(each, canvas, displacement)), canvas

    return applied(
        "elastic",
        inpt,
        lambda image: read(image, _tensor_mode(mode)),
        None,
        lambda mask: read(mask, "nearest"),
        box_kernel,
        point_kernel,
    )


elastic_transform = elastic
