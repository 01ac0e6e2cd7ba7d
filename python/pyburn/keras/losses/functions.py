"""Losses of each sample, as functions of (y_true, y_pred)."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.keras import config as settings
from pyburn.nn import functional

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "cosine_similarity",
    "ctc",
    "dice",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]


def tensor(value: Any, like: Tensor | None = None) -> Tensor:
    """`value` as a tensor, where `like` is."""
    made = value if isinstance(value, Tensor) else ops.as_tensor(value)
    return made if like is None or made.device == like.device else made.to(like.device)


def pair(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Both as floats of the same rank: a last axis of size 1 that only one has goes, or comes."""
    pred = tensor(y_pred)
    pred = pred if pred.is_floating_point() else pred.to(settings.as_dtype(settings.floatx()))
    true = tensor(y_true, pred)
    true = true if true.dtype == pred.dtype else true.to(pred.dtype)
    return same_rank(true, pred)


def same_rank(one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors whose ranks may differ by a last axis of size 1, with the same rank."""
    if one.dim() == two.dim() + 1 and one.shape[-1] == 1:
        return (one, two.unsqueeze(-1)) if two.dim() == 1 else (one.squeeze(-1), two)
    if two.dim() == one.dim() + 1 and two.shape[-1] == 1:
        return (one.unsqueeze(-1), two) if one.dim() == 1 else (one, two.squeeze(-1))
    return one, two


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `(y_true - y_pred)²` over the last axis.

    Example:
        >>> mean_squared_error([[0.0, 2.0]], [[0.0, 0.0]])
        tensor([2.])
    """
    true, pred = pair(y_true, y_pred)
    return ((true - pred) ** 2).mean(-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `|y_true - y_pred|` over the last axis."""
    true, pred = pair(y_true, y_pred)
    return ops.abs(true - pred).mean(-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of the errors in percent of the true values."""
    true, pred = pair(y_true, y_pred)
    return 100.0 * ops.abs((true - pred) / ops.clamp(ops.abs(true), min=settings.epsilon())).mean(-1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of the squared differences of `log(1 + y)`."""
    true, pred = pair(y_true, y_pred)
    small = settings.epsilon()
    one, two = ops.log(ops.clamp(true, min=small) + 1.0), ops.log(ops.clamp(pred, min=small) + 1.0)
    return ((one - two) ** 2).mean(-1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """The cosine of the angle between both."""
    true, pred = pair(y_true, y_pred)
    return (_unit(true, axis) * _unit(pred, axis)).sum(axis)


def _unit(x: Tensor, axis: int) -> Tensor:
    return x * ops.rsqrt(ops.clamp((x * x).sum(axis, keepdim=True), min=1e-12))


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Half the squared error where it is small, a line beyond `delta`."""
    true, pred = pair(y_true, y_pred)
    error = ops.abs(pred - true)
    return ops.where(error <= delta, 0.5 * error * error, delta * error - 0.5 * delta * delta).mean(-1)


def log_cosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `log(cosh(y_pred - y_true))`."""
    true, pred = pair(y_true, y_pred)
    error = pred - true
    return (error + functional.softplus(error * -2.0) - math.log(2.0)).mean(-1)


def _signs(true: Tensor) -> Tensor:
    """Labels of 0 and 1 as -1 and 1."""
    binary = bool(((true == 0) | (true == 1)).all())
    return 2.0 * true - 1.0 if binary else true


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `max(1 - y_true * y_pred, 0)`, for labels -1 and 1."""
    true, pred = pair(y_true, y_pred)
    return ops.clamp(1.0 - _signs(true) * pred, min=0.0).mean(-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `max(1 - y_true * y_pred, 0)²`."""
    true, pred = pair(y_true, y_pred)
    return (ops.clamp(1.0 - _signs(true) * pred, min=0.0) ** 2).mean(-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """`max(largest wrong score - right score + 1, 0)`."""
    true, pred = pair(y_true, y_pred)
    return ops.clamp(((1.0 - true) * pred).amax(-1) - (true * pred).sum(-1) + 1.0, min=0.0)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `y_pred - y_true * log(y_pred)`."""
    true, pred = pair(y_true, y_pred)
    return (pred - true * ops.log(pred + settings.epsilon())).mean(-1)


def kl_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """How far the distribution `y_pred` is from `y_true`."""
    true, pred = pair(y_true, y_pred)
    small = settings.epsilon()
    true, pred = ops.clamp(true, small, 1.0), ops.clamp(pred, small, 1.0)
    return (true * ops.log(true / pred)).sum(-1)


def _logits(pred: Tensor, axis: int) -> Tensor:
    small = settings.epsilon()
    pred = pred / pred.sum(axis, keepdim=True)
    return ops.log(ops.clamp(pred, small, 1.0 - small))


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """The cross-entropy of one-hot labels (or distributions) and predictions."""
    pred = tensor(y_pred)
    true = tensor(y_true, pred).to(pred.dtype)
    if tuple(true.shape) != tuple(pred.shape):
        raise ShapeError(
            f"categorical_crossentropy: y_true has shape {tuple(true.shape)} but y_pred {tuple(pred.shape)}; give "
            "one-hot "
            "labels (keras.utils.to_categorical), or use sparse_categorical_crossentropy for class numbers"
        )
    if label_smoothing:
        true = true * (1.0 - label_smoothing) + label_smoothing / true.shape[axis]
    logs = functional.log_softmax(pred, axis) if from_logits else _logits(pred, axis)
    return -(true * logs).sum(axis)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Tensor:
    """The cross-entropy of class numbers and predictions.

    Example:
        >>> sparse_categorical_crossentropy([1], [[0.0, 1.0]]) < 1e-3
        tensor([True])
    """
    pred = tensor(y_pred)
    true = tensor(y_true, pred)
    if true.dim() == pred.dim() and true.shape[-1] == 1 and pred.dim() > 1:
        true = true.squeeze(-1)
    expected = [size for place, size in enumerate(pred.shape) if place != axis % pred.dim()]
    if list(true.shape) != expected:
        raise ShapeError(
            f"sparse_categorical_crossentropy: y_true has shape {tuple(true.shape)} but must have {tuple(expected)}, "
            "that of "
            f"y_pred {tuple(pred.shape)} without its classes; for one-hot labels use categorical_crossentropy"
        )
    label = true.long()
    valid = None if ignore_class is None else label != ignore_class
    if valid is not None:
        label = ops.where(valid, label, ops.zeros_like(label))
    _check_labels(label, pred.shape[axis])
    logs = functional.log_softmax(pred, axis) if from_logits else _logits(pred, axis)
    loss = -logs.gather(axis, label.unsqueeze(axis)).squeeze(axis)
    if valid is None:
        return loss
    loss = ops.where(valid, loss, ops.zeros_like(loss))
    # As in Keras, the mean of the losses is over the labels that are not ignored.
    loss._keras_mask = valid  # type: ignore[attr-defined]
    return loss


def _check_labels(label: Tensor, classes: int) -> None:
    if label.is_meta or not label.numel():
        return
    low, high = int(label.min()), int(label.max())
    if low < 0 or high >= classes:
        raise ValueError(
            f"sparse_categorical_crossentropy: labels go from {low} to {high}, but y_pred has {classes} classes, so "
            "they "
            f"must be between 0 and {classes - 1}; give the last layer {high + 1} units, or renumber the labels"
        )


def _binary(true: Tensor, pred: Tensor, from_logits: bool) -> Tensor:
    if from_logits:
        return functional.binary_cross_entropy_with_logits(pred, true, reduction="none")
    small = settings.epsilon()
    pred = ops.clamp(pred, small, 1.0 - small)
    return -(true * ops.log(pred) + (1.0 - true) * ops.log(1.0 - pred))


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """The mean cross-entropy of labels 0 and 1 and their probabilities."""
    true, pred = pair(y_true, y_pred)
    if label_smoothing:
        true = true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return _binary(true, pred, from_logits).mean(axis)


def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The binary cross-entropy in which easy samples count little."""
    true, pred = pair(y_true, y_pred)
    if label_smoothing:
        true = true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    pred = ops.sigmoid(pred) if from_logits else pred
    loss = _binary(true, pred, False)
    right = true * pred + (1 - true) * (1 - pred)
    loss = (1.0 - right) ** gamma * loss
    if apply_class_balancing:
        loss = (true * alpha + (1 - true) * (1 - alpha)) * loss
    return loss.mean(axis)


def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The categorical cross-entropy in which easy samples count little."""
    pred = tensor(y_pred)
    true = tensor(y_true, pred).to(pred.dtype)
    if label_smoothing:
        true = true * (1.0 - label_smoothing) + label_smoothing / true.shape[axis]
    pred = functional.softmax(pred, axis) if from_logits else pred / pred.sum(axis, keepdim=True)
    small = settings.epsilon()
    pred = ops.clamp(pred, small, 1.0 - small)
    weight = tensor(alpha, pred).to(pred.dtype) if isinstance(alpha, (list, tuple)) else alpha
    return (weight * (1.0 - pred) ** gamma * -true * ops.log(pred)).sum(axis)


def _sums(true: Tensor, pred: Tensor, axis: Any) -> tuple[Tensor, Tensor, Any]:
    dims = tuple(range(true.dim())) if axis is None else (tuple(axis) if isinstance(axis, (list, tuple)) else (axis,))
    return true, pred, dims


def dice(y_true: Any, y_pred: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """One minus twice the overlap over the sum of both."""
    true, pred, dims = _sums(*pair(y_true, y_pred), axis)
    overlap = (true * pred).sum(dims)
    small = settings.epsilon()
    return 1 - (2.0 * overlap) / (true.sum(dims) + pred.sum(dims) + small)


def tversky(
    y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None, dtype: Any = None
) -> Tensor:
    """One minus the Tversky index, which weighs false alarms and misses."""
    true, pred, dims = _sums(*pair(y_true, y_pred), axis)
    overlap = (true * pred).sum(dims)
    alarms, misses = ((1 - true) * pred).sum(dims), (true * (1 - pred)).sum(dims)
    return 1 - overlap / (overlap + alpha * alarms + beta * misses + settings.epsilon())


def ctc(y_true: Any, y_pred: Any) -> Tensor:
    """The loss of labels whose places in the sequence are not known; class 0 is the blank, and pads the labels."""
    pred = tensor(y_pred)
    true = tensor(y_true, pred).long()
    lengths = (true != 0).sum(-1)
    full = ops.full((pred.shape[0],), pred.shape[1], dtype=lengths.dtype, device=pred.device)
    logs = functional.log_softmax(pred, -1).transpose(0, 1)
    return functional.ctc_loss(logs, true, full, lengths, blank=0, reduction="none")
