"""torchvision.utils: pictures of results."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

from pyburn._core import Tensor, dtype, float32, int64, uint8
from pyburn._core import bool as bool_
from pyburn.autograd import no_grad
from pyburn.ops import atan2, cat, stack, where
from pyburn.ops import tensor as make_tensor
from pyburn.vision._pil import pillow, to_pil, to_tensor
from pyburn.vision.transforms.functional.pixels import scaled

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]

Color = str | tuple[int, int, int]
Colors = Color | Sequence[Color] | None


def _batch(images: Any) -> Tensor:
    if isinstance(images, list):
        for image in images:
            if not isinstance(image, Tensor):
                raise TypeError(f"tensor or list of tensors expected, got a list containing {type(image)}")
        images = stack(images)
    if not isinstance(images, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(images)}")
    while images.dim() < 4:
        # (H, W) and (C, H, W) are one image.
        images = images.unsqueeze(0)
    return cat([images] * 3, 1) if images.shape[1] == 1 else images


def _stretched(image: Tensor, span: tuple[float, float] | None) -> Tensor:
    low, high = (float(image.min()), float(image.max())) if span is None else span
    return (image.clamp(low, high) - low) / max(high - low, 1e-5)


@no_grad()
def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images side by side in one.

    Args:
        tensor: (N, C, H, W), or a list of images of one size.
        nrow: How many images stand in a row.
        padding: How many pixels are between them.
        normalize: Whether values are stretched to 0 and 1.
        value_range: What becomes 0 and 1; the least and the greatest value when left out.
        scale_each: Whether each image is stretched by itself.
        pad_value: What is between them.

    Raises:
        TypeError: It is no tensor, nor a list of them.

    Example:
        >>> import pyburn
        >>> make_grid(pyburn.zeros(5, 3, 4, 4), nrow=3).shape
        pyburn.Size([3, 14, 20])
    """
    images = _batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        images = (
            stack([_stretched(image, value_range) for image in images])
            if scale_each
            else _stretched(images, value_range)
        )
    count, channels, high, wide = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    height, width = high + padding, wide + padding
    grid = images.new_full(
        (channels, height * math.ceil(count / columns) + padding, width * columns + padding), pad_value
    )
    for place, image in enumerate(images):
        top, left = place // columns * height + padding, place % columns * width + padding
        grid[:, top : top + high, left : left + wide] = image
    return grid


@no_grad()
def save_image(
    tensor: Tensor | list[Tensor],
    fp: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    **kwargs: Any,
) -> None:
    """Nothing; images with values between 0 and 1 are written to a file, side by side.

    Args:
        tensor: (N, C, H, W), or a list of images of one size.
        fp: The file, or its name.
        format: The format; from the name's ending when left out.
        **kwargs: Arguments of `make_grid`.
    """
    grid = make_grid(tensor, **kwargs)
    to_pil((grid * 255 + 0.5).clamp(0, 255).to(uint8)).save(fp, format=format)


def _colours(colors: Colors, count: int, kind: dtype = uint8) -> list[tuple[float, ...]]:
    if colors is None:
        steps = 2**25 - 1, 2**15 - 1, 2**21 - 1
        chosen: list[Any] = [tuple(i * step % 255 for step in steps) for i in range(count)]
    elif isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
        chosen = list(colors)
    elif not isinstance(colors, tuple | str):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        chosen = [colors] * count
    named = [pillow("ImageColor").getrgb(color) if isinstance(color, str) else color for color in chosen]
    return [tuple(part / 255 for part in color) for color in named] if kind.is_floating_point else named


def _check_image(image: Any, channels: tuple[int, ...], text: str) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"Tensor expected, got {type(image)}")
    if image.dtype != uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.dim() != 3:
        raise ValueError("Pass individual images, not batches")
    if image.shape[0] not in channels:
        raise ValueError(text)


def _label(draw: Any, box: list[int], text: str, margin: int, font: Any, ink: Any, paper: Any) -> None:
    place = box[0] + margin, box[1] + margin
    if paper is not None:
        left, top, right, bottom = draw.textbbox(place, text, font=font)
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=paper)
    draw.text(place, text, fill=ink, font=font)


@no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: Sequence[str] | None = None,
    colors: Colors = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colors = None,
    label_background_colors: Colors = None,
    fill_labels: bool = False,
) -> Tensor:
    """The image with boxes drawn on it.

    Args:
        image: (1 or 3, H, W) of bytes, or of floats between 0 and 1.
        boxes: (N, 4) as (x1, y1, x2, y2).
        labels: A text for each box.
        colors: The colour of all boxes, or of each; different ones when left out.
        fill: Whether boxes are filled, half transparent.
        width: How wide the lines are.
        font: A font file for the texts.
        font_size: How large they are.
        label_colors: Their colours; those of the boxes when left out.
        label_background_colors: The colours behind them.
        fill_labels: Whether there is a colour behind them.

    Raises:
        TypeError: The image is no tensor.
        ValueError: The image, the boxes or the labels do not fit.

    Example:
        >>> import pyburn
        >>> image = pyburn.zeros(3, 8, 8, dtype=pyburn.uint8)
        >>> draw_bounding_boxes(image, pyburn.tensor([[1, 1, 5, 5]]), colors="red")[0].count_nonzero().item()
        16
    """
    _check_image(image, (1, 3), "Only grayscale and RGB images are supported")
    if (boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any():
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use pyburn.vision.ops.box_convert to convert them"
        )
    count = boxes.shape[0]
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    outlines = _colours(colors, count)
    inks = _colours(label_colors or "black", count) if label_colors or fill_labels else outlines
    papers = _colours(label_background_colors, count) if fill_labels and label_background_colors else outlines
    if font is None and font_size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=2)
    fonts = pillow("ImageFont")
    letters = fonts.load_default() if font is None else fonts.truetype(font=font, size=font_size or 10)
    rgb = cat([image] * 3, 0) if image.shape[0] == 1 else image
    picture = to_pil(scaled(rgb, uint8))
    draw = pillow("ImageDraw").Draw(picture, "RGBA") if fill else pillow("ImageDraw").Draw(picture)
    for i, box in enumerate(boxes.to(int64).tolist()):
        inside = (*outlines[i], 100) if fill else None
        draw.rectangle(box, width=width, outline=outlines[i], fill=inside)
        if labels is not None and labels[i] is not None:
            _label(draw, box, labels[i], width + 1, letters, inks[i], papers[i] if fill_labels else None)
    return scaled(to_tensor(picture), image.dtype)


@no_grad()
def draw_segmentation_masks(image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Colors = None) -> Tensor:
    """The image with masks laid over it; where they overlap, black is.

    Args:
        image: (3, H, W) of bytes, or of floats between 0 and 1.
        masks: (N, H, W) or (H, W), true or false.
        alpha: How much of the image is hidden, from 0 to 1.
        colors: The colour of all masks, or of each; different ones when left out.

    Raises:
        TypeError: The image is no tensor.
        ValueError: The image or the masks do not fit.

    Example:
        >>> import pyburn
        >>> image = pyburn.zeros(3, 2, 2, dtype=pyburn.uint8)
        >>> draw_segmentation_masks(image, pyburn.ones(2, 2, dtype=pyburn.bool), 1.0, "red")[0].tolist()
        [[255, 255], [255, 255]]
    """
    _check_image(image, (3,), "Pass an RGB image. Other Image formats are not supported")
    masks = masks[None] if masks.dim() == 2 else masks
    if masks.dim() != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype != bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if masks.shape[0] == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    painted = image.detach()
    for mask, color in zip(masks, _colours(colors, masks.shape[0], image.dtype), strict=False):
        ink = make_tensor(list(color), dtype=image.dtype, device=image.device)[:, None, None]
        painted = where(mask, ink, painted)
    painted = where(masks.sum(0) > 1, make_tensor(0, dtype=image.dtype, device=image.device), painted)
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: Sequence[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """The image with points drawn on it, and lines between some of them.

    Args:
        image: (3, H, W) of bytes, or of floats between 0 and 1.
        keypoints: (objects, points, 2) as (x, y).
        connectivity: Which points of an object are joined.
        colors: The colour of the points; white when left out.
        radius: How large they are.
        width: How wide the lines are.
        visibility: (objects, points): which points are drawn.

    Raises:
        TypeError: The image is no tensor.
        ValueError: The image or the points do not fit.

    Example:
        >>> import pyburn
        >>> image = pyburn.zeros(3, 9, 9, dtype=pyburn.uint8)
        >>> draw_keypoints(image, pyburn.tensor([[[4, 4]]]), radius=1, colors="red")[0, 4, 4].item()
        255
    """
    _check_image(image, (3,), "Pass an RGB image. Other Image formats are not supported")
    if keypoints.dim() != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    seen = keypoints.new_ones(*keypoints.shape[:-1], dtype=bool_) if visibility is None else visibility
    seen = seen.squeeze(-1) if seen.dim() == 3 else seen
    if tuple(seen.shape) != tuple(keypoints.shape[:-1]):
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got visibility.shape={seen.shape} and keypoints.shape={keypoints.shape}"
        )
    picture = to_pil(scaled(image, uint8))
    draw = pillow("ImageDraw").Draw(picture)
    for points, shown in zip(keypoints.to(int64).tolist(), seen.tolist(), strict=True):
        for (x, y), is_shown in zip(points, shown, strict=True):
            if is_shown:
                draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colors, outline=None, width=0)
        for one, two in connectivity or ():
            if shown[one] and shown[two]:
                draw.line((tuple(points[one]), tuple(points[two])), width=width)
    return scaled(to_tensor(picture), image.dtype)


def _wheel() -> list[list[float]]:
    """The colours around the circle of directions: Baker and others, 2007."""
    # For each arc: its length, the channel that is full, the one that changes, and whether it grows.
    arcs = ((15, 0, 1, True), (6, 1, 0, False), (4, 1, 2, True), (11, 2, 1, False), (13, 2, 0, True), (6, 0, 2, False))
    colours = []
    for length, full, changing, grows in arcs:
        for i in range(length):
            share = math.floor(255 * i / length)
            colour = [0.0, 0.0, 0.0]
            colour[full] = 255.0
            colour[changing] = float(share if grows else 255 - share)
            colours.append(colour)
    return colours


@no_grad()
def flow_to_image(flow: Tensor) -> Tensor:
    """Optical flow as colours: the hue is the direction, the strength the length.

    Args:
        flow: (2, H, W) or (N, 2, H, W) of float32.

    Raises:
        ValueError: The dtype or the shape is another.

    Example:
        >>> import pyburn
        >>> flow_to_image(pyburn.zeros(2, 1, 1)).flatten().tolist()
        [255, 255, 255]
    """
    if flow.dtype != float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    batch = flow[None] if flow.dim() == 3 else flow
    if batch.dim() != 4 or batch.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {flow.shape}.")
    lengths = batch.pow(2).sum(1).sqrt()
    batch = batch / (lengths.max() + 2.0**-23)
    norm = batch.pow(2).sum(1).sqrt()
    wheel = make_tensor(_wheel(), device=flow.device)
    place = (atan2(-batch[:, 1], -batch[:, 0]) / math.pi + 1) / 2 * (wheel.shape[0] - 1)
    before = place.floor().long()
    after = (before + 1) % wheel.shape[0]
    rest = place - before
    planes = []
    for channel in wheel.unbind(1):
        colour = (1 - rest) * (channel[before] / 255.0) + rest * (channel[after] / 255.0)
        planes.append((255 * (1 - norm * (1 - colour))).floor())
    made = stack(planes, 1).to(uint8)
    return made[0] if flow.dim() == 3 else made
