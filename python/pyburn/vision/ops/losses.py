"""Losses of detectors: of rare classes, and of boxes."""

from __future__ import annotations

import math

from pyburn._core import Tensor, float32, float64
from pyburn.autograd import no_grad
from pyburn.nn.functional import binary_cross_entropy_with_logits
from pyburn.ops import atan, maximum, minimum, sigmoid, where

__all__ = ["complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss", "sigmoid_focal_loss"]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction != "mean":
        raise ValueError(
            f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
        )
    # The mean of nothing is 0 here, so that a batch without boxes trains on.
    return loss.mean() if loss.numel() else 0.0 * loss.sum()


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """The cross entropy with less weight on what is easy: Lin and others, 2017.

    Args:
        inputs: Logits.
        targets: 0 or 1 for each of them.
        alpha: The weight of ones, that of zeros is 1 - `alpha`; -1 for none.
        gamma: How much less the easy ones count.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: `alpha` or `reduction` is none of these.

    Example:
        >>> import pyburn
        >>> sigmoid_focal_loss(pyburn.tensor([0.0]), pyburn.tensor([1.0]))
        tensor([0.0433])
    """
    if not 0 <= alpha <= 1 and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    chance = sigmoid(inputs)
    right = chance * targets + (1 - chance) * (1 - targets)
    loss = binary_cross_entropy_with_logits(inputs, targets, reduction="none") * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return loss.mean() if reduction == "mean" else _reduced(loss, reduction)


def _floats(boxes: Tensor) -> Tensor:
    return boxes if boxes.dtype in (float32, float64) else boxes.float()


def _shared_and_joint(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    sides = minimum(boxes1[..., 2:], boxes2[..., 2:]) - maximum(boxes1[..., :2], boxes2[..., :2])
    meet = (sides > 0).all(-1)
    shared = where(meet, sides[..., 0] * sides[..., 1], 0.0)
    areas = [(boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]) for boxes in (boxes1, boxes2)]
    return shared, areas[0] + areas[1] - shared


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    return maximum(boxes1[..., 2:], boxes2[..., 2:]) - minimum(boxes1[..., :2], boxes2[..., :2])


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the generalized shared area of pairs of boxes: Rezatofighi and others, 2019.

    Args:
        boxes1: (N, 4) or (4) as (x1, y1, x2, y2).
        boxes2: The same.
        reduction: "none", "mean" or "sum".
        eps: Added where one divides by areas.

    Raises:
        ValueError: `reduction` is none of these.

    Example:
        >>> import pyburn
        >>> box = pyburn.tensor([[0.0, 0, 2, 2]])
        >>> generalized_box_iou_loss(box, box).round()
        tensor([0.])
    """
    boxes1, boxes2 = _floats(boxes1), _floats(boxes2)
    shared, joint = _shared_and_joint(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    around = sides[..., 0] * sides[..., 1]
    return _reduced(1 - (shared / (joint + eps) - (around - joint) / (around + eps)), reduction)


def _distance(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    shared, joint = _shared_and_joint(boxes1, boxes2)
    iou = shared / (joint + eps)
    diagonal = _hull(boxes1, boxes2).pow(2).sum(-1) + eps
    middles = [(boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2)]
    return 1 - iou + (middles[0] - middles[1]).pow(2).sum(-1) / diagonal, iou


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the shared area, plus the distance of the centres, of pairs of boxes: Zheng and others, 2020.

    See `generalized_box_iou_loss` for the arguments.

    Example:
        >>> import pyburn
        >>> box = pyburn.tensor([[0.0, 0, 2, 2]])
        >>> distance_box_iou_loss(box, box).round()
        tensor([0.])
    """
    return _reduced(_distance(_floats(boxes1), _floats(boxes2), eps)[0], reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """`distance_box_iou_loss` plus the difference in form, of pairs of boxes: Zheng and others, 2020.

    See `generalized_box_iou_loss` for the arguments.

    Example:
        >>> import pyburn
        >>> box = pyburn.tensor([[0.0, 0, 2, 2]])
        >>> complete_box_iou_loss(box, box).round()
        tensor([0.])
    """
    boxes1, boxes2 = _floats(boxes1), _floats(boxes2)
    loss, iou = _distance(boxes1, boxes2, 1e-7)
    forms = [atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])) for boxes in (boxes1, boxes2)]
    unlike = (4 / math.pi**2) * (forms[1] - forms[0]).pow(2)
    with no_grad():
        weight = unlike / (1 - iou + unlike + eps)
    return _reduced(loss + weight * unlike, reduction)
