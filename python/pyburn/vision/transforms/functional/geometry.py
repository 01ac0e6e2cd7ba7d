"""Where pixels are: flips, other sizes, parts and borders."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, float32, float64, int64, uint8
from pyburn._core import bool as bool_
from pyburn.nn.functional import interpolate
from pyburn.nn.functional import pad as pad_tensor
from pyburn.ops import cat, linspace, tensor
from pyburn.vision._borders import places
from pyburn.vision._pil import is_pil, pillow, to_pil, to_tensor
from pyburn.vision.transforms.functional.boxes import CXCYWH, XYXY, clamped, from_corners, to_corners
from pyburn.vision.transforms.functional.kinds import (
    PIL_MODES,
    InterpolationMode,
    applied,
    flat_images,
    interpolation_mode,
)
from pyburn.vision.transforms.functional.points import flipped_points, resized_points, shifted_points
from pyburn.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask

__all__ = [
    "center_crop",
    "crop",
    "five_crop",
    "get_dimensions",
    "get_image_size",
    "get_num_channels",
    "get_num_frames",
    "get_size",
    "hflip",
    "horizontal_flip",
    "pad",
    "resize",
    "resized_crop",
    "ten_crop",
    "uniform_temporal_subsample",
    "vertical_flip",
    "vflip",
]

Size = tuple[int, int]
Fill = float | Sequence[float] | None


def get_dimensions(inpt: Any) -> list[int]:
    """The channels, height and width of an image.

    Example:
        >>> import pyburn
        >>> get_dimensions(pyburn.zeros(2, 3, 4, 5))
        [3, 4, 5]
    """
    if is_pil(inpt):
        return [len(inpt.getbands()), inpt.height, inpt.width]
    if inpt.dim() == 2:
        return [1, *inpt.shape]
    return list(inpt.shape[-3:])


def get_num_channels(inpt: Any) -> int:
    """The channels of an image.

    Example:
        >>> import pyburn
        >>> get_num_channels(pyburn.zeros(3, 4, 5))
        3
    """
    return get_dimensions(inpt)[0]


def get_num_frames(inpt: Tensor) -> int:
    """How many images a video (..., T, C, H, W) has.

    Example:
        >>> import pyburn
        >>> get_num_frames(pyburn.zeros(7, 3, 4, 5))
        7
    """
    return inpt.shape[-4]


def uniform_temporal_subsample(inpt: Any, num_samples: int) -> Any:
    """Some images of a video (..., T, C, H, W), the first and the last and those between at equal distances.

    Args:
        inpt: The video.
        num_samples: How many; more than there are repeats some.

    Example:
        >>> import pyburn
        >>> uniform_temporal_subsample(pyburn.arange(7).reshape(7, 1, 1, 1), 3).flatten().tolist()
        [0, 3, 6]
    """

    def kernel(video: Tensor) -> Tensor:
        if video.dim() < 4:
            raise ValueError(
                f"uniform_temporal_subsample: a video has the shape (..., T, C, H, W), not {tuple(video.shape)}."
            )
        return video.index_select(-4, linspace(0, video.shape[-4] - 1, num_samples, device=video.device).long())

    return applied("uniform_temporal_subsample", inpt, kernel)


def get_size(inpt: Any) -> list[int]:
    """The height and width of an image, of a mask, or of the image that boxes or points belong to.

    Example:
        >>> import pyburn
        >>> get_size(pyburn.zeros(3, 4, 5))
        [4, 5]
    """
    return list(inpt.canvas_size) if isinstance(inpt, BoundingBoxes | KeyPoints) else get_dimensions(inpt)[1:]


def get_image_size(inpt: Any) -> list[int]:
    """The width and height of an image.

    Example:
        >>> import pyburn
        >>> get_image_size(pyburn.zeros(3, 4, 5))
        [5, 4]
    """
    return get_size(inpt)[::-1]


def _flipped_boxes(boxes: Tensor, format: BoundingBoxFormat, length: int, axis: int) -> Tensor:
    columns = list(boxes.unbind(-1))
    near, far = columns[axis], columns[axis + 2]
    if format == XYXY:
        columns[axis], columns[axis + 2] = length - far, length - near
    else:
        columns[axis] = length - near if format == CXCYWH else length - (near + far)
    return cat([column.unsqueeze(-1) for column in columns], -1)


def horizontal_flip(inpt: Any) -> Any:
    """The input with left and right exchanged.

    Example:
        >>> import pyburn
        >>> horizontal_flip(pyburn.arange(4).reshape(1, 2, 2)).tolist()
        [[[1, 0], [3, 2]]]
    """
    return applied(
        "horizontal_flip",
        inpt,
        lambda image: image.flip(-1),
        lambda image: image.transpose(0),  # FLIP_LEFT_RIGHT
        lambda mask: mask.flip(-1),
        lambda boxes, format, canvas, mode: (_flipped_boxes(boxes, format, canvas[1], 0), canvas),
        lambda points, canvas: (flipped_points(points, canvas[1], 0), canvas),
    )


def vertical_flip(inpt: Any) -> Any:
    """The input with top and bottom exchanged.

    Example:
        >>> import pyburn
        >>> vertical_flip(pyburn.arange(4).reshape(1, 2, 2)).tolist()
        [[[2, 3], [0, 1]]]
    """
    return applied(
        "vertical_flip",
        inpt,
        lambda image: image.flip(-2),
        lambda image: image.transpose(1),  # FLIP_TOP_BOTTOM
        lambda mask: mask.flip(-2),
        lambda boxes, format, canvas, mode: (_flipped_boxes(boxes, format, canvas[0], 1), canvas),
        lambda points, canvas: (flipped_points(points, canvas[0], 1), canvas),
    )


hflip = horizontal_flip
vflip = vertical_flip


def resized_size(canvas: Size, size: int | Sequence[int] | None, max_size: int | None = None) -> Size:
    """The height and width that an image of this size gets.

    Raises:
        ValueError: The sizes contradict each other.
    """
    height, width = canvas
    short, long = min(canvas), max(canvas)
    wanted = [size] if isinstance(size, int) else size
    if wanted is not None and len(wanted) != 1:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size is None or specifies the length of the smaller edge, "
                "i.e. size should be an int or a sequence of length 1 in torchscript mode."
            )
        return wanted[0], wanted[1]
    if wanted is None:
        if not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        new_short, new_long = int(max_size * short / long), max_size
    else:
        new_short, new_long = wanted[0], int(wanted[0] * long / short)
        if max_size is not None:
            if max_size <= new_short:
                raise ValueError(
                    f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge "
                    f"size = {size}"
                )
            if new_long > max_size:
                new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def _resized(image: Tensor, size: Size, mode: InterpolationMode, antialias: bool) -> Tensor:
    if tuple(image.shape[-2:]) == size:
        return image
    if image.numel() == 0:
        return image.new_zeros(*image.shape[:-2], *size)
    nearest = mode in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT)
    # Bytes on the CPU are rounded after each direction, as torch's kernel does it.
    direct = image.dtype in (float32, float64) or (image.dtype == uint8 and (nearest or image.device.type == "cpu"))
    flat = flat_images(image if direct else image.to(float32))
    if nearest:
        made = interpolate(flat, size=size, mode=mode.value)
    else:
        made = interpolate(flat, size=size, mode=mode.value, align_corners=False, antialias=antialias)
    if not direct:
        if image.dtype == uint8:
            made = made.clamp(0, 255)
        made = (made if image.is_floating_point() or image.dtype == bool_ else made.round()).to(image.dtype)
    return made.reshape(*image.shape[:-2], *size)


def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: str | int | InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The input in another size.

    Args:
        inpt: An image, masks (which take nearest pixels) or boxes.
        size: The height and width, or the length of the shorter side; None with `max_size`.
        interpolation: How new pixels are made of old ones.
        max_size: The most that the longer side may have, or all it has if `size` is None.
        antialias: Whether all pixels count when an image becomes smaller; images of PIL always do so.

    Raises:
        ValueError: The sizes contradict each other, or the mode is for images of PIL only.

    Example:
        >>> import pyburn
        >>> resize(pyburn.zeros(3, 20, 10), 5).shape
        pyburn.Size([3, 10, 5])
    """
    mode = interpolation_mode(interpolation)
    nearest = mode if mode == InterpolationMode.NEAREST_EXACT else InterpolationMode.NEAREST

    def image_kernel(image: Tensor) -> Tensor:
        if mode in (InterpolationMode.BOX, InterpolationMode.HAMMING, InterpolationMode.LANCZOS):
            raise ValueError(f"resize: interpolation mode {mode.value!r} is for images of PIL only.")
        return _resized(image, resized_size(_hw(image), size, max_size), mode, bool(antialias))

    def pil_kernel(image: Any) -> Any:
        if antialias is False:
            warnings.warn(
                "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=4
            )
        height, width = resized_size((image.height, image.width), size, max_size)
        return image if (width, height) == image.size else image.resize((width, height), PIL_MODES[mode])

    def mask_kernel(mask: Tensor) -> Tensor:
        return _resized(mask, resized_size(_hw(mask), size, max_size), nearest, False)

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        new = resized_size(canvas, size, max_size)
        ratios = tensor([new[1] / canvas[1], new[0] / canvas[0]] * 2, device=boxes.device)
        return (boxes if new == canvas else (boxes * ratios).to(boxes.dtype)), new

    def point_kernel(points: Tensor, canvas: Size) -> tuple[Tensor, Size]:
        new = resized_size(canvas, size, max_size)
        return resized_points(points, canvas, new), new

    return applied("resize", inpt, image_kernel, pil_kernel, mask_kernel, box_kernel, point_kernel)


def _hw(image: Tensor) -> Size:
    return image.shape[-2], image.shape[-1]


def _shifted_boxes(boxes: Tensor, format: BoundingBoxFormat, left: int, top: int) -> Tensor:
    second = [left, top] if format == XYXY else [0, 0]
    return boxes + tensor([left, top, *second], dtype=boxes.dtype, device=boxes.device)


def _cut(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    high, wide = _hw(image)
    bottom, right = top + height, left + width
    part = image[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top >= 0 and left >= 0 and bottom <= high and right <= wide:
        return part
    border = [
        max(min(right, 0) - left, 0),
        max(right - max(wide, left), 0),
        max(min(bottom, 0) - top, 0),
        max(bottom - max(high, top), 0),
    ]
    return pad_tensor(part, border)


def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part of the input; what lies beyond it is 0.

    Args:
        inpt: An image, masks, boxes or key points.
        top: The first row.
        left: The first column.
        height: How many rows.
        width: How many columns.

    Example:
        >>> import pyburn
        >>> crop(pyburn.arange(9).reshape(1, 3, 3), 1, 1, 2, 3).tolist()
        [[[4, 5, 0], [7, 8, 0]]]
    """

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        moved = _shifted_boxes(boxes, format, -left, -top)
        return clamped(moved, format, (height, width), clamping), (height, width)

    def kernel(image: Tensor) -> Tensor:
        return _cut(image, top, left, height, width)

    return applied(
        "crop",
        inpt,
        kernel,
        lambda image: image.crop((left, top, left + width, top + height)),
        kernel,
        box_kernel,
        lambda points, canvas: (shifted_points(points, -left, -top), (height, width)),
    )


def pair(size: int | Sequence[int]) -> Size:
    """Height and width of one number or two."""
    if isinstance(size, int | float):
        return int(size), int(size)
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return size[0], size[1]


def center_crop(inpt: Any, output_size: int | Sequence[int]) -> Any:
    """The middle of the input, with 0 around it where it is smaller.

    Args:
        inpt: An image, masks, boxes or key points.
        output_size: The height and width, or one number for both.

    Example:
        >>> import pyburn
        >>> center_crop(pyburn.arange(16).reshape(1, 4, 4), 2).tolist()
        [[[5, 6], [9, 10]]]
    """
    height, width = pair(output_size)
    high, wide = get_size(inpt)
    if not isinstance(inpt, BoundingBoxes | KeyPoints) and (height > high or width > wide):
        more_y, more_x = max(height - high, 0), max(width - wide, 0)
        inpt = pad(inpt, [more_x // 2, more_y // 2, (more_x + 1) // 2, (more_y + 1) // 2])
        high, wide = get_size(inpt)
    return crop(inpt, round((high - height) / 2.0), round((wide - width) / 2.0), height, width)


def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: str | int | InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A part of the input, in another size; see `crop` and `resize` for the arguments.

    Example:
        >>> import pyburn
        >>> resized_crop(pyburn.zeros(3, 8, 8), 0, 0, 4, 4, [2, 2]).shape
        pyburn.Size([3, 2, 2])
    """
    if isinstance(inpt, Mask):  # torchvision takes the nearest pixels here, whatever the mode
        interpolation = InterpolationMode.NEAREST
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(inpt: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    """The four corners and the middle.

    Args:
        inpt: An image.
        size: The height and width of each part, or one number for both.

    Raises:
        ValueError: The image is smaller.

    Example:
        >>> import pyburn
        >>> [part.item() for part in five_crop(pyburn.arange(9).reshape(1, 3, 3), 1)]
        [0, 2, 6, 8, 4]
    """
    height, width = pair(size)
    high, wide = get_size(inpt)
    if height > high or width > wide:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(high, wide)}")
    corners = [(top, left) for top in (0, high - height) for left in (0, wide - width)]
    return (*(crop(inpt, top, left, height, width) for top, left in corners), center_crop(inpt, [height, width]))


def ten_crop(inpt: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """The four corners and the middle, then those of the flipped image; see `five_crop`.

    Example:
        >>> import pyburn
        >>> [part.item() for part in ten_crop(pyburn.arange(9).reshape(1, 3, 3), 1)]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """
    flipped = vflip(inpt) if vertical_flip else hflip(inpt)
    return five_crop(inpt, size) + five_crop(flipped, size)


def border(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """How much is added at the left, top, right and bottom."""
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if not isinstance(padding, tuple | list):
        raise TypeError(f"`padding` should be an integer or tuple or list of integers, but got {padding}")
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple or list. Found {len(padding)}")
    left, top, right, bottom = list(padding) * (4 // len(padding))
    return left, top, right, bottom


def _wrapped(image: Tensor, sides: tuple[int, int, int, int], border: str) -> Tensor:
    """The image with mirror images around it, as many as it takes; negative sides are cut off first."""
    left, top, right, bottom = sides
    height, width = image.shape[-2:]
    part = image[..., max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
    rows = places(part.shape[-2], max(top, 0), max(bottom, 0), border)
    columns = places(part.shape[-1], max(left, 0), max(right, 0), border)
    down = tensor(rows, dtype=int64, device=image.device)
    return part.index_select(-2, down).index_select(-1, tensor(columns, dtype=int64, device=image.device))


def _padded(image: Tensor, sides: tuple[int, int, int, int], fill: Fill, mode: str) -> Tensor:
    left, top, right, bottom = sides
    if image.numel() == 0 and 0 not in image.shape[-2:]:  # no masks, or an empty batch
        return image.new_zeros(*image.shape[:-2], image.shape[-2] + top + bottom, image.shape[-1] + left + right)
    if mode == "symmetric":
        return _wrapped(image, sides, mode)
    flat = flat_images(image)
    if mode == "constant":
        values = [0.0] if fill is None else [fill] if isinstance(fill, int | float) else list(fill)
        parts = [flat] if len(values) == 1 else list(flat.split(1, -3))
        if len(values) not in (1, len(parts)):
            raise ValueError(f"pad: fill has {len(values)} values but the image {len(parts)} channels.")
        made = cat([pad_tensor(part, [left, right, top, bottom], value=value) for part, value in zip(parts, values)], 1)
    else:
        made = pad_tensor(flat, [left, right, top, bottom], mode="replicate" if mode == "edge" else mode)
    return made.reshape(*image.shape[:-2], *made.shape[-2:])


def pad(inpt: Any, padding: int | Sequence[int], fill: Fill = None, padding_mode: str = "constant") -> Any:
    """The input with a border around it.

    Args:
        inpt: An image, masks, boxes or key points.
        padding: How wide the border is: one number, (left and right, top and bottom), or (left, top, right, bottom).
        fill: What it holds: 0, a number, or one for each channel.
        padding_mode: "constant" for `fill`; "edge" for the outermost pixel; "reflect" for the mirror image without the
            outermost pixel, "symmetric" with it.

    Raises:
        ValueError: There is no such mode, or `fill` does not fit.
        TypeError: `padding` is no integers.

    Example:
        >>> import pyburn
        >>> pad(pyburn.ones(1, 1, 1), [1, 0, 2, 0]).tolist()
        [[[0.0, 1.0, 0.0, 0.0]]]
    """
    sides = border(padding)
    left, top, right, bottom = sides
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or `'symmetric'`, "
            f"but got `'{padding_mode}'`."
        )

    def pil_kernel(image: Any) -> Any:
        if padding_mode == "constant":
            return pillow("ImageOps").expand(image, border=sides, fill=pil_fill(fill, image))
        return to_pil(
            _wrapped(to_tensor(image), sides, "replicate" if padding_mode == "edge" else padding_mode), image.mode
        )

    def mask_kernel(mask: Tensor) -> Tensor:
        if isinstance(fill, tuple | list):
            raise ValueError("Non-scalar fill value is not supported")
        return _padded(mask, sides, fill, padding_mode)

    def box_kernel(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, clamping: str | None) -> tuple[Tensor, Size]:
        if padding_mode != "constant":
            raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
        new = canvas[0] + top + bottom, canvas[1] + left + right
        return clamped(_shifted_boxes(boxes, format, left, top), format, new, clamping), new

    def point_kernel(points: Tensor, canvas: Size) -> tuple[Tensor, Size]:
        if padding_mode != "constant":
            raise ValueError(
                f"Padding mode '{padding_mode}' is not supported with KeyPoints (supported modes are constant)"
            )
        return shifted_points(points, left, top), (canvas[0] + top + bottom, canvas[1] + left + right)

    def kernel(image: Tensor) -> Tensor:
        if padding_mode != "constant" and isinstance(fill, tuple | list) and len(fill) > 1:
            raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
        return _padded(image, sides, fill, padding_mode)

    return applied("pad", inpt, kernel, pil_kernel, mask_kernel, box_kernel, point_kernel)


def pil_fill(fill: Fill, image: Any) -> Any:
    """A colour for an image of PIL: one whole number for each channel, or one number.

    Raises:
        ValueError: There are more or fewer numbers than channels.
    """
    channels = len(image.getbands())
    values = [0] if fill is None else [fill] if isinstance(fill, int | float) else list(fill)
    if len(values) == 1:
        values = values * channels
    if len(values) != channels:
        raise ValueError(
            "The number of elements in 'fill' does not match the number of channels of the image "
            f"({len(values)} != {channels})"
        )
    whole = values if image.mode == "F" else [int(value) for value in values]
    return whole[0] if channels == 1 else tuple(whole)


def corner_points(boxes: Tensor, format: BoundingBoxFormat) -> Tensor:
    """The four corners of each box, as floats: (N, 4, 2)."""
    floats = boxes if boxes.is_floating_point() else boxes.float()
    x1, y1, x2, y2 = to_corners(floats, format).reshape(-1, 4).split(1, -1)
    return cat([x1, y1, x2, y1, x2, y2, x1, y2], -1).reshape(-1, 4, 2)


def around_points(points: Tensor, like: Tensor, format: BoundingBoxFormat, canvas: Size, mode: str | None) -> Tensor:
    """The boxes around moved corners (N, 4, 2), within the image, in the form of `like`."""
    corners = cat([points.amin(1), points.amax(1)], -1)
    return from_corners(clamped(corners, XYXY, canvas, mode), format).reshape(like.shape).to(like.dtype)
