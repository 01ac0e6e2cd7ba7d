"""Boxes: their areas, how much they share, and which of them to keep."""

from __future__ import annotations

import math

from pyburn._core import Tensor, float32, float64, int32, int64
from pyburn._core import bool as bool_
from pyburn.autograd import no_grad
from pyburn.ops import atan, cat, maximum, minimum, stack, unique, where, zeros, zeros_like
from pyburn.vision.detection import nms

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]

_FORMATS = ("xyxy", "xywh", "cxcywh")
# Beyond so many numbers each class is gone through by itself, as in torchvision.
_MANY = 4000


def wide(values: Tensor) -> Tensor:
    """Numbers wide enough for areas."""
    if values.is_floating_point():
        return values if values.dtype in (float32, float64) else values.float()
    return values if values.dtype in (int32, int64) else values.to(int32)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """The places of the boxes that stay, best first, where only boxes of one class cover each other.

    Args:
        boxes: (N, 4) as (x1, y1, x2, y2).
        scores: How good each box is.
        idxs: The class of each box.
        iou_threshold: The share of the joint area beyond which the worse of two boxes goes.

    Example:
        >>> import pyburn
        >>> boxes = pyburn.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2]])
        >>> batched_nms(boxes, pyburn.tensor([0.5, 0.9]), pyburn.tensor([0, 1]), 0.5)
        tensor([1, 0])
    """
    if boxes.numel() == 0:
        return zeros(0, dtype=int64, device=boxes.device)
    if boxes.numel() <= _MANY:
        # Each class is moved to a place of its own, where the others are not.
        moved = boxes + (idxs.to(boxes.dtype) * (boxes.max() + 1))[:, None]
        return nms(moved, scores, iou_threshold)
    kept = zeros_like(scores, dtype=bool_)
    for number in unique(idxs):
        mine = (idxs == number).nonzero().flatten()
        kept[mine[nms(boxes[mine], scores[mine], iou_threshold)]] = True
    places = kept.nonzero().flatten()
    return places[scores[places].sort(descending=True)[1]]


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places of the boxes whose sides are at least `min_size` long.

    Example:
        >>> import pyburn
        >>> remove_small_boxes(pyburn.tensor([[0.0, 0, 2, 2], [0, 0, 9, 1]]), 2)
        tensor([0])
    """
    large = (boxes[..., 2] - boxes[..., 0] >= min_size) & (boxes[..., 3] - boxes[..., 1] >= min_size)
    return large.nonzero()[..., 0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes (..., 4) whose parts beyond an image of this height and width are cut off.

    Example:
        >>> import pyburn
        >>> clip_boxes_to_image(pyburn.tensor([[-1.0, 2, 30, 40]]), (10, 20))
        tensor([[ 0.,  2., 20., 10.]])
    """
    height, width = size
    parts = [boxes[..., i].clamp(0, (width, height)[i % 2]) for i in range(4)]
    return stack(parts, -1)


def _corners(boxes: Tensor, fmt: str) -> Tensor:
    if fmt not in _FORMATS:
        raise ValueError(f"Unsupported format {fmt!r}: boxes are one of {_FORMATS}.")
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return boxes
    if fmt == "xywh":
        return cat([first, first + second], -1)
    return cat([first - 0.5 * second, first + 0.5 * second], -1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """The same boxes in another format.

    Args:
        boxes: (..., 4).
        in_fmt: "xyxy" for two corners, "xywh" for a corner and sizes, "cxcywh" for the centre and sizes.
        out_fmt: The same.

    Raises:
        ValueError: There is no such format.

    Example:
        >>> import pyburn
        >>> box_convert(pyburn.tensor([[1.0, 2, 5, 8]]), "xyxy", "cxcywh")
        tensor([[3., 5., 4., 6.]])
    """
    if in_fmt not in _FORMATS or out_fmt not in _FORMATS:
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    corners = _corners(boxes, in_fmt)
    first, second = corners[..., :2], corners[..., 2:]
    if out_fmt == "xyxy":
        return corners
    return cat([first if out_fmt == "xywh" else (first + second) / 2, second - first], -1)


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """The area of each box.

    Raises:
        ValueError: There is no such format.

    Example:
        >>> import pyburn
        >>> box_area(pyburn.tensor([[0.0, 0, 2, 3]]))
        tensor([6.])
    """
    if fmt not in _FORMATS:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = wide(boxes)
    sides = boxes[..., 2:] - boxes[..., :2] if fmt == "xyxy" else boxes[..., 2:]
    return sides[..., 0] * sides[..., 1]


def _shared_and_joint(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    one, two = _corners(boxes1, fmt)[..., :, None, :], _corners(boxes2, fmt)[..., None, :, :]
    sides = wide(minimum(one[..., 2:], two[..., 2:]) - maximum(one[..., :2], two[..., :2])).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., :, None] + area2[..., None, :] - shared


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The sides of the boxes around each pair."""
    one, two = boxes1[..., :, None, :], boxes2[..., None, :, :]
    return wide(maximum(one[..., 2:], two[..., 2:]) - minimum(one[..., :2], two[..., :2])).clamp(min=0)


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """How much of their joint area each box of the first shares with each of the second: (N, M).

    Raises:
        ValueError: There is no such format.

    Example:
        >>> import pyburn
        >>> box_iou(pyburn.tensor([[0.0, 0, 2, 2]]), pyburn.tensor([[1.0, 0, 3, 2], [5, 5, 6, 6]]))
        tensor([[0.3333, 0.0000]])
    """
    shared, joint = _shared_and_joint(boxes1, boxes2, fmt)
    return shared / joint


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The shared area, less what the box around both leaves empty: (N, M); Rezatofighi and others, 2019.

    Example:
        >>> import pyburn
        >>> generalized_box_iou(pyburn.tensor([[0.0, 0, 1, 1]]), pyburn.tensor([[1.0, 0, 3, 1]]))
        tensor([[0.]])
    """
    shared, joint = _shared_and_joint(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    around = sides[..., 0] * sides[..., 1]
    return shared / joint - (around - joint) / around


def _distance_iou(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    iou = box_iou(boxes1, boxes2)
    diagonal = _hull(boxes1, boxes2).pow(2).sum(-1) + eps
    middle1, middle2 = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2))
    apart = (middle1[..., :, None, :] - middle2[..., None, :, :]).pow(2).sum(-1)
    return iou - apart / diagonal, iou


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The shared area, less the distance of the centres: (N, M); Zheng and others, 2020.

    Example:
        >>> import pyburn
        >>> distance_box_iou(pyburn.tensor([[0.0, 0, 2, 2]]), pyburn.tensor([[0.0, 0, 2, 2]]))
        tensor([[1.]])
    """
    return _distance_iou(wide(boxes1), wide(boxes2), eps)[0]


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The shared area, less the distance of the centres and the difference in form: (N, M); Zheng and others, 2020.

    Example:
        >>> import pyburn
        >>> complete_box_iou(pyburn.tensor([[0.0, 0, 2, 2]]), pyburn.tensor([[0.0, 0, 2, 2]]))
        tensor([[1.]])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    distance, iou = _distance_iou(boxes1, boxes2, eps)
    forms = [atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])) for boxes in (boxes1, boxes2)]
    unlike = (4 / math.pi**2) * (forms[0][..., :, None] - forms[1][..., None, :]).pow(2)
    with no_grad():
        weight = unlike / (1 - iou + unlike + eps)
    return distance - weight * unlike


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The boxes (N, 4) around the parts of masks (N, H, W) that are not 0; of an empty mask all 0.

    Example:
        >>> import pyburn
        >>> masks_to_boxes(pyburn.tensor([[[0, 0, 0], [0, 1, 1]]]))
        tensor([[1., 1., 2., 1.]])
    """
    if masks.numel() == 0:
        return zeros(0, 4, device=masks.device)
    height, width = masks.shape[1:]
    rows, columns = ((masks != 0).any(dim).float() for dim in (2, 1))
    x1, y1 = columns.argmax(1), rows.argmax(1)
    x2, y2 = width - 1 - columns.flip(1).argmax(1), height - 1 - rows.flip(1).argmax(1)
    found = stack([x1, y1, x2, y2], 1).float()
    return where(rows.any(1)[:, None], found, 0.0)
