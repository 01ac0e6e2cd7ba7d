"""Metrics of decisions: precision, recall, AUC, F-scores, IoU, and others with a memory of their own."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras.losses.functions import pair, tensor
from pyburn.keras.metrics.base import Mean, Metric, weighted

__all__ = [
    "AUC",
    "BinaryIoU",
    "F1Score",
    "FBetaScore",
    "FalseNegatives",
    "FalsePositives",
    "IoU",
    "MeanIoU",
    "OneHotIoU",
    "OneHotMeanIoU",
    "Precision",
    "R2Score",
    "Recall",
    "RootMeanSquaredError",
    "TrueNegatives",
    "TruePositives",
]


def _flat(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Labels, predictions and weights, one of each per decision, in double precision."""
    true, pred = pair(y_true, y_pred)
    true, pred = true.detach(), pred.detach()
    if sample_weight is None:
        weight = ops.ones_like(pred)
    else:
        _, found = weighted(pred, sample_weight)
        weight = ops.ones_like(pred) if found is None else found
    return true.flatten().double(), pred.flatten(), weight.flatten().double()


class _Counts(Metric):
    """Counts of right and wrong decisions at some thresholds."""

    def __init__(self, thresholds: Any, name: str | None, dtype: Any, top_k: Any = None, class_id: Any = None) -> None:
        super().__init__(dtype, name)
        self.thresholds = thresholds
        self.top_k, self.class_id = top_k, class_id
        given = 0.5 if thresholds is None else thresholds
        self._levels = list(given) if isinstance(given, (list, tuple)) else [given]
        self._single = not isinstance(thresholds, (list, tuple))
        self.reset_state()

    def reset_state(self) -> None:
        zero = [0.0] * len(self._levels)
        self.tp, self.fp, self.tn, self.fn = (ops.tensor(zero, dtype=ops.ones(0).double().dtype) for _ in range(4))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is counted."""
        with no_grad():
            true, pred = tensor(y_true), tensor(y_pred)
            if self.top_k is not None:
                best = pred.topk(self.top_k, -1).indices
                pred = ops.zeros_like(pred).scatter_(-1, best, 1.0) * pred
            if self.class_id is not None:
                true, pred = true[..., self.class_id], pred[..., self.class_id]
            flat_true, flat_pred, weight = _flat(true, pred, sample_weight)
            positive = flat_true.unsqueeze(0)
            levels = ops.tensor(self._levels, dtype=flat_pred.dtype, device=flat_pred.device).unsqueeze(1)
            said = (flat_pred.unsqueeze(0) > levels).double()
            if self.top_k is not None and self.thresholds is None:
                said = (flat_pred.unsqueeze(0) > 0).double()
            self.tp = self.tp + (said * positive * weight).sum(1).cpu()
            self.fp = self.fp + (said * (1 - positive) * weight).sum(1).cpu()
            self.fn = self.fn + ((1 - said) * positive * weight).sum(1).cpu()
            self.tn = self.tn + ((1 - said) * (1 - positive) * weight).sum(1).cpu()

    def _given(self, values: Tensor) -> Any:
        values = values.float()
        return values[0] if self._single else values


def _share(part: Tensor, whole: Tensor) -> Tensor:
    return ops.where(whole > 0, part / ops.where(whole > 0, whole, ops.ones_like(whole)), ops.zeros_like(whole))


class Precision(_Counts):
    """How many of the positive decisions are right.

    Args:
        thresholds: From which probability on a decision is positive, or a list.
        top_k: Only the largest so many predictions can be positive.
        class_id: Only this class counts.
        name: Its name.
        dtype: Accepted for Keras's sake.
    """

    def __init__(
        self,
        thresholds: Any = None,
        top_k: Any = None,
        class_id: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(thresholds, name, dtype, top_k, class_id)

    def result(self) -> Any:
        return self._given(_share(self.tp, self.tp + self.fp))


class Recall(_Counts):
    """How many of the positives were found.

    Args:
        thresholds: From which probability on a decision is positive, or a list.
        top_k: Only the largest so many predictions can be positive.
        class_id: Only this class counts.
        name: Its name.
        dtype: Accepted for Keras's sake.
    """

    def __init__(
        self,
        thresholds: Any = None,
        top_k: Any = None,
        class_id: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(thresholds, name, dtype, top_k, class_id)

    def result(self) -> Any:
        return self._given(_share(self.tp, self.tp + self.fn))


class _One(_Counts):
    _which = "tp"

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype)

    def result(self) -> Any:
        return self._given(getattr(self, self._which))


class TruePositives(_One):
    """The number of right positive decisions."""


class FalsePositives(_One):
    """The number of wrong positive decisions."""

    _which = "fp"


class TrueNegatives(_One):
    """The number of right negative decisions."""

    _which = "tn"


class FalseNegatives(_One):
    """The number of wrong negative decisions."""

    _which = "fn"


class AUC(_Counts):
    """The area under the curve of true over false positives ("ROC") or of precision over recall ("PR").

    Args:
        num_thresholds: At how many thresholds the curve is known.
        curve: "ROC" or "PR".
        summation_method: "interpolation", "minoring" or "majoring".
        name: Its name.
        dtype: Accepted for Keras's sake.
        thresholds: The thresholds, in place of even ones.
        multi_label: Whether the columns of predictions are labels, each with a curve of its own, whose areas are
            averaged.
        num_labels: How many labels there are; known from the predictions without it.
        label_weights: How much each label counts in the average.
        from_logits: Whether predictions are logits.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        if num_labels and not multi_label:
            raise ValueError("AUC: num_labels is needed only when multi_label is True")
        if curve not in ("ROC", "PR"):
            raise ValueError(f"AUC: curve is {curve!r}, but must be 'ROC' or 'PR'")
        inner = (
            sorted(thresholds)
            if thresholds is not None
            else [(place + 1) / (num_thresholds - 1) for place in range(num_thresholds - 2)]
        )
        super().__init__([-1e-7, *inner, 1.0 + 1e-7], name, dtype)
        self.num_thresholds, self.curve, self.summation_method = len(inner) + 2, curve, summation_method
        self.from_logits, self._inner = from_logits, thresholds
        self.multi_label, self.num_labels, self.label_weights = multi_label, num_labels, label_weights
        self._labels: list[AUC] = []

    def reset_state(self) -> None:
        super().reset_state()
        self._labels = []

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is part of the curve."""
        if self.multi_label:
            self._update_labels(tensor(y_true), tensor(y_pred), sample_weight)
            return
        if self.label_weights is not None:
            sample_weight = self._weights_of(tensor(y_pred), sample_weight)
        # As in Keras, what is below 0 or above 1 counts as these.
        pred = ops.sigmoid(tensor(y_pred)) if self.from_logits else ops.clamp(tensor(y_pred), 0.0, 1.0)
        super().update_state(y_true, pred, sample_weight)

    def _weights_of(self, pred: Tensor, sample_weight: Any) -> Tensor:
        """The weights of all single decisions, from those of labels and samples."""
        weight = tensor(self.label_weights).to(pred.dtype).to(pred.device).expand(pred.shape)
        if sample_weight is None:
            return weight
        given = tensor(sample_weight).to(pred.dtype).to(pred.device)
        return weight * given.reshape([*given.shape, *[1] * (pred.dim() - given.dim())])

    def _update_labels(self, true: Tensor, pred: Tensor, sample_weight: Any) -> None:
        if pred.dim() != 2 or (self.num_labels and pred.shape[1] != self.num_labels):
            raise ValueError(
                f"AUC: y_pred has shape {tuple(pred.shape)}, but multi_label=True needs (samples, "
                f"{self.num_labels or 'labels'})"
            )
        if not self._labels:
            settings = (self.num_thresholds, self.curve, self.summation_method, None, None, self._inner)
            self._labels = [AUC(*settings, from_logits=self.from_logits) for _ in range(pred.shape[1])]
        for place, each in enumerate(self._labels):
            each.update_state(true[:, place], pred[:, place], sample_weight)

    def result(self) -> Any:
        if self.multi_label:
            areas = ops.stack([each.result() for each in self._labels]) if self._labels else ops.zeros(1)
            if self.label_weights is None:
                return areas.mean()
            weight = tensor(self.label_weights).to(areas.dtype).cpu()
            return (areas * weight).sum() / weight.sum()
        recall = _share(self.tp, self.tp + self.fn)
        if self.curve == "PR":
            if self.summation_method == "interpolation":
                return self._interpolated()
            x, y = recall, _share(self.tp, self.tp + self.fp)
        else:
            x, y = _share(self.fp, self.fp + self.tn), recall
        if self.summation_method == "minoring":
            heights = ops.minimum(y[:-1], y[1:])
        elif self.summation_method == "majoring":
            heights = ops.maximum(y[:-1], y[1:])
        else:
            heights = (y[:-1] + y[1:]) / 2
        return ((x[:-1] - x[1:]) * heights).sum().float()

    def _interpolated(self) -> Tensor:
        """The area under precision and recall, with the true interpolation between two thresholds."""
        step = self.tp[:-1] - self.tp[1:]
        said = self.tp + self.fp
        fall = said[:-1] - said[1:]
        slope = _share(step, ops.clamp(fall, min=0))
        intercept = self.tp[1:] - slope * said[1:]
        both = (said[:-1] > 0) & (said[1:] > 0)
        safe = _share(said[:-1], ops.clamp(said[1:], min=0))
        ratio = ops.where(both, safe, ops.ones_like(safe))
        total = self.tp[1:] + self.fn[1:]
        return _share(slope * (step + intercept * ops.log(ratio)), ops.clamp(total, min=0)).sum().float()

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            "label_weights": self.label_weights,
            "thresholds": self._inner,
            "from_logits": self.from_logits,
        }


class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any = None, sample_weight: Any = None
    ) -> None:
        """Nothing; the batch is part of the mean."""
        true, pred = pair(y_true, y_pred)
        super().update_state((true - pred).detach() ** 2, sample_weight)

    def result(self) -> Any:
        return ops.sqrt(super().result())


class R2Score(Metric):
    """How much of the variance the predictions explain.

    Args:
        class_aggregation: "uniform_average", "variance_weighted_average" or None.
        num_regressors: Accepted for Keras's sake with 0 only.
        name: Its name.
        dtype: Accepted for Keras's sake.
    """

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.reset_state()

    def reset_state(self) -> None:
        self.squares: Any = 0.0
        self.total: Any = 0.0
        self.residual: Any = 0.0
        self.count: Any = 0.0
        self.samples = 0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is part of the score."""
        true, pred = pair(y_true, y_pred)
        true, pred = true.detach().double(), pred.detach().double()
        weight: Any = 1.0 if sample_weight is None else tensor(sample_weight, true).double().reshape(-1, 1)
        ones = ops.ones_like(true)
        self.total = self.total + (true * weight).sum(0)
        self.squares = self.squares + (true**2 * weight).sum(0)
        self.residual = self.residual + ((true - pred) ** 2 * weight).sum(0)
        self.count = self.count + (ones * weight).sum(0)
        self.samples += true.shape[0]

    def result(self) -> Any:
        spread = self.squares - self.total**2 / self.count
        score = 1 - self.residual / spread
        if self.class_aggregation == "uniform_average":
            score = score.mean()
        elif self.class_aggregation == "variance_weighted_average":
            score = (score * spread).sum() / spread.sum()
        if self.num_regressors:
            score = 1 - (1 - score) * (self.samples - 1) / (self.samples - self.num_regressors - 1)
        return score.float()


class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall of each class.

    Args:
        average: None for each class, "micro", "macro" or "weighted".
        beta: What recall counts against precision.
        threshold: From which probability on a decision is positive; None takes the largest.
        name: Its name.
        dtype: Accepted for Keras's sake.
    """

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(f"FBetaScore: average is {average!r}, but must be None, micro, macro or weighted")
        self.average, self.beta, self.threshold = average, beta, threshold
        self.reset_state()

    def reset_state(self) -> None:
        self.tp: Any = 0.0
        self.fp: Any = 0.0
        self.fn: Any = 0.0
        self.support: Any = 0.0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is counted."""
        true, pred = pair(y_true, y_pred)
        true, pred = true.detach(), pred.detach()
        if self.threshold is None:
            said = (pred >= pred.amax(-1, keepdim=True)).to(pred.dtype)
        else:
            said = (pred > self.threshold).to(pred.dtype)
        weight: Any = 1.0 if sample_weight is None else tensor(sample_weight, pred).to(pred.dtype).reshape(-1, 1)
        dims = None if self.average == "micro" else 0
        self.tp = self.tp + _sum(said * true * weight, dims)
        self.fp = self.fp + _sum(said * (1 - true) * weight, dims)
        self.fn = self.fn + _sum((1 - said) * true * weight, dims)
        self.support = self.support + _sum(true * weight, dims)

    def result(self) -> Any:
        small = 1e-7
        precision, recall = self.tp / (self.tp + self.fp + small), self.tp / (self.tp + self.fn + small)
        square = self.beta**2
        score = (1 + square) * precision * recall / (square * precision + recall + small)
        if self.average == "weighted":
            return (score * (self.support / (self.support.sum() + small))).sum()
        return score if self.average is None else score.mean()


def _sum(values: Tensor, dims: Any) -> Tensor:
    return values.sum() if dims is None else values.sum(dims)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall of each class."""

    def __init__(
        self, average: str | None = None, threshold: float | None = None, name: str = "f1_score", dtype: Any = None
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("beta", None)
        return config


class IoU(Metric):
    """The overlap of labels and predictions over their union, as the mean over some classes.

    Args:
        num_classes: The number of classes.
        target_class_ids: Which of them count.
        name: Its name.
        dtype: Accepted for Keras's sake.
        ignore_class: A class that is left out.
        sparse_y_true: Whether labels are class numbers.
        sparse_y_pred: Whether predictions are class numbers.
        axis: The axis of the classes of what is not.
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Any,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(dtype, name)
        self.num_classes, self.target_class_ids, self.ignore_class = num_classes, list(target_class_ids), ignore_class
        self.sparse_y_true, self.sparse_y_pred, self.axis = sparse_y_true, sparse_y_pred, axis
        self.reset_state()

    def reset_state(self) -> None:
        self.matrix = ops.zeros(self.num_classes * self.num_classes).double()

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is counted."""
        true, pred = tensor(y_true).detach(), tensor(y_pred).detach()
        true = true if self.sparse_y_true else true.argmax(self.axis)
        pred = pred if self.sparse_y_pred else pred.argmax(self.axis)
        weight = ops.ones(true.numel()) if sample_weight is None else tensor(sample_weight).float()
        if weight.numel() != true.numel():
            weight = weight.reshape(*weight.shape, *[1] * (true.dim() - weight.dim())).broadcast_to(true.shape)
        true, pred, weight = true.flatten().long().cpu(), pred.flatten().long().cpu(), weight.flatten().double().cpu()
        if self.ignore_class is not None:
            kept = true != self.ignore_class
            true, pred, weight = true[kept], pred[kept], weight[kept]
        self.matrix = self.matrix.scatter_add(0, true * self.num_classes + pred, weight)

    def _each(self) -> tuple[Tensor, Tensor]:
        table = self.matrix.reshape(self.num_classes, self.num_classes)
        overlap = table.diagonal()
        union = table.sum(0) + table.sum(1) - overlap
        return overlap[self.target_class_ids], union[self.target_class_ids]

    def result(self) -> Any:
        overlap, union = self._each()
        known = float((union > 0).sum())
        return (_share(overlap, union).sum() / known).float() if known else ops.tensor(math.nan)


class BinaryIoU(IoU):
    """The overlap of two classes, from probabilities and a threshold."""

    def __init__(
        self, target_class_ids: Any = (0, 1), threshold: float = 0.5, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the batch is counted."""
        super().update_state(y_true, (tensor(y_pred) >= self.threshold).long(), sample_weight)


class MeanIoU(IoU):
    """The overlap of labels and predictions over their union, as the mean over all classes."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        ids = list(range(num_classes))
        super().__init__(num_classes, ids, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)


class OneHotIoU(IoU):
    """`IoU` for one-hot labels and scores."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Any,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)


class OneHotMeanIoU(MeanIoU):
    """`MeanIoU` for one-hot labels and scores."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
