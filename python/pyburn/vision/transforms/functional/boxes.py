"""Boxes: from one format to another, within the image, and those worth keeping."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.vision.transforms.functional.kinds import is_pure_tensor
from pyburn.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, box_format

__all__ = ["clamp_bounding_boxes", "convert_bounding_box_format", "sanitize_bounding_boxes"]

XYXY, XYWH, CXCYWH = BoundingBoxFormat.XYXY, BoundingBoxFormat.XYWH, BoundingBoxFormat.CXCYWH


def to_corners(boxes: Tensor, format: BoundingBoxFormat) -> Tensor:
    """Boxes as (x1, y1, x2, y2)."""
    if format == XYXY:
        return boxes
    first, size = boxes[..., :2], boxes[..., 2:]
    if format == XYWH:
        return cat([first, first + size], -1)
    corner = first - size / 2  # of floats for whole numbers too: the far corner is rounded once
    return cat([corner, corner + size], -1).to(boxes.dtype)


def from_corners(boxes: Tensor, format: BoundingBoxFormat) -> Tensor:
    """Boxes (x1, y1, x2, y2) in a format."""
    if format == XYXY:
        return boxes
    first, size = boxes[..., :2], boxes[..., 2:] - boxes[..., :2]
    if format == XYWH:
        return cat([first, size], -1)
    rounding = None if boxes.is_floating_point() else "floor"
    return cat([(first * 2 + size).div(2, rounding_mode=rounding), size], -1)


def convert_bounding_box_format(
    inpt: Tensor,
    old_format: BoundingBoxFormat | str | None = None,
    new_format: BoundingBoxFormat | str | None = None,
    inplace: bool = False,
) -> Any:
    """The same boxes in another format.

    Args:
        inpt: `BoundingBoxes`, or a tensor (..., 4).
        old_format: The format they have, for a tensor only.
        new_format: The format they get.
        inplace: Accepted; the boxes given stay as they are.

    Raises:
        TypeError: `new_format` is absent, or `inpt` is no boxes.
        ValueError: `old_format` is absent for a tensor, or given for `BoundingBoxes`.

    Example:
        >>> import pyburn
        >>> convert_bounding_box_format(pyburn.tensor([1, 2, 5, 8]), "XYXY", "XYWH")
        tensor([1, 2, 4, 6])
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new = box_format(new_format)
    if isinstance(inpt, BoundingBoxes):
        if old_format is not None:
            raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
        return inpt._like(_converted(inpt.as_subclass(Tensor), inpt.format, new), format=new)
    if not is_pure_tensor(inpt):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if old_format is None:
        raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
    return _converted(inpt, box_format(old_format), new)


def _converted(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat) -> Tensor:
    return boxes if old == new else from_corners(to_corners(boxes, old), new)


def clamped(boxes: Tensor, format: BoundingBoxFormat, canvas: tuple[int, int], mode: str | None) -> Tensor:
    """Boxes whose parts beyond the image are cut off, unless `mode` is None."""
    if mode is None:
        return boxes.clone()
    corners = to_corners(boxes if boxes.is_floating_point() else boxes.float(), format)
    height, width = canvas
    parts = [corners[..., i : i + 1].clamp(0, (width, height)[i % 2]) for i in range(4)]
    return from_corners(cat(parts, -1), format).to(boxes.dtype)


def clamp_bounding_boxes(
    inpt: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    clamping_mode: str | None = "auto",
) -> Any:
    """Boxes whose parts beyond the image are cut off.

    Args:
        inpt: `BoundingBoxes`, or a tensor (..., 4).
        format: The format, for a tensor only.
        canvas_size: The image's height and width, for a tensor only.
        clamping_mode: "soft" or "hard", which are the same here; None leaves the boxes as they are; "auto" is what the
            boxes say.

    Raises:
        ValueError: What belongs to a tensor is absent, or given for `BoundingBoxes`.
        TypeError: `inpt` is no boxes.

    Example:
        >>> import pyburn
        >>> clamp_bounding_boxes(pyburn.tensor([-1, 2, 5, 80]), "XYXY", (10, 4), "soft")
        tensor([ 0,  2,  4, 10])
    """
    if clamping_mode not in ("soft", "hard", "auto", None):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if isinstance(inpt, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
        mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
        return inpt._like(clamped(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode))
    if not is_pure_tensor(inpt):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if format is None or canvas_size is None or clamping_mode == "auto":
        raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
    return clamped(inpt, box_format(format), canvas_size, clamping_mode)


def worth_keeping(
    boxes: Tensor, format: BoundingBoxFormat, canvas: tuple[int, int], min_size: float, min_area: float
) -> Tensor:
    """Which boxes (N, 4) lie within the image and are large enough."""
    corners = to_corners(boxes, format)
    width, height = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    large = (width >= min_size) & (height >= min_size) & (width * height >= min_area)
    inside = (corners >= 0).all(-1) & (corners[:, ::2] <= canvas[1]).all(-1) & (corners[:, 1::2] <= canvas[0]).all(-1)
    return large & inside


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Any, Tensor]:
    """The boxes that lie within the image and are large enough, and which those were.

    Args:
        bounding_boxes: `BoundingBoxes`, or a tensor (N, 4).
        format: The format, for a tensor only.
        canvas_size: The image's height and width, for a tensor only.
        min_size: The least width and height.
        min_area: The least area.

    Raises:
        ValueError: What belongs to a tensor is absent, or given for `BoundingBoxes`.

    Example:
        >>> import pyburn
        >>> boxes = pyburn.tensor([[0, 0, 5, 5], [3, 3, 3, 4]])
        >>> sanitize_bounding_boxes(boxes, "XYXY", (10, 10))
        (tensor([[0, 0, 5, 5]]), tensor([ True, False]))
    """
    if isinstance(bounding_boxes, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError(
                "format and canvas_size must be None when bounding_boxes is a tv_tensors.BoundingBoxes instance. "
                f"Got format={format} and canvas_size={canvas_size}."
            )
        plain = bounding_boxes.as_subclass(Tensor)
        valid = worth_keeping(plain, bounding_boxes.format, bounding_boxes.canvas_size, min_size, min_area)
        return bounding_boxes._like(plain[valid]), valid
    if format is None or canvas_size is None:
        raise ValueError(
            "format and canvas_size cannot be None if bounding_boxes is a pure tensor. "
            f"Got format={format} and canvas_size={canvas_size}."
        )
    valid = worth_keeping(bounding_boxes, box_format(format), canvas_size, min_size, min_area)
    return bounding_boxes[valid], valid
