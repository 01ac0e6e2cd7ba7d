"""The best point of a curve under a condition, and how well predictions follow labels."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras.losses.functions import tensor
from pyburn.keras.metrics.base import MeanMetricWrapper
from pyburn.keras.metrics.confusion import _Counts, _share

__all__ = [
    "ConcordanceCorrelation",
    "PearsonCorrelation",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    "concordance_correlation",
    "pearson_correlation",
]


class _BestUnder(_Counts):
    """The largest of one number among the thresholds at which another is at least `value`."""

    def __init__(
        self, what: str, value: float, num_thresholds: int, class_id: int | None, name: str | None, dtype: Any
    ) -> None:
        where = type(self).__name__
        if not 0 <= value <= 1:
            raise ValueError(f"{where}: {what} is {value}, but must be between 0 and 1")
        if num_thresholds <= 0:
            raise ValueError(f"{where}: num_thresholds is {num_thresholds}, but must be greater than 0")
        inner = [(place + 1) / (num_thresholds - 1) for place in range(num_thresholds - 2)]
        super().__init__([0.5] if num_thresholds == 1 else [0.0, *inner, 1.0], name, dtype, None, class_id)
        self.num_thresholds, self._value = num_thresholds, value

    def _sensitivity(self) -> Tensor:
        return _share(self.tp, self.tp + self.fn)

    def _specificity(self) -> Tensor:
        return _share(self.tn, self.tn + self.fp)

    def _precision(self) -> Tensor:
        return _share(self.tp, self.tp + self.fp)

    def _best(self, held: Tensor, wanted: Tensor) -> Tensor:
        return ops.where(held >= self._value, wanted, ops.zeros_like(wanted)).max().float()


class SensitivityAtSpecificity(_BestUnder):
    """The best share of positives found where the share of negatives found is at least `specificity`.

    Args:
        specificity: That share.
        num_thresholds: At how many thresholds it is looked for.
        class_id: The column of the only class that counts.
        name: Its name.
        dtype: Accepted for Keras's sake.

    Example:
        >>> metric = SensitivityAtSpecificity(0.5)
        >>> metric.update_state([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]); float(metric.result())
        0.5
    """

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("specificity", specificity, num_thresholds, class_id, name, dtype)
        self.specificity = specificity

    def result(self) -> Any:
        return self._best(self._specificity(), self._sensitivity())


class SpecificityAtSensitivity(_BestUnder):
    """The best share of negatives found where the share of positives found is at least `sensitivity`.

    The arguments are those of `SensitivityAtSpecificity`.
    """

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("sensitivity", sensitivity, num_thresholds, class_id, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Any:
        return self._best(self._sensitivity(), self._specificity())


class PrecisionAtRecall(_BestUnder):
    """The best precision where the recall is at least `recall`; see `SensitivityAtSpecificity` for the arguments."""

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("recall", recall, num_thresholds, class_id, name, dtype)
        self.recall = recall

    def result(self) -> Any:
        return self._best(self._sensitivity(), self._precision())


class RecallAtPrecision(_BestUnder):
    """The best recall where the precision is at least `precision`; see `SensitivityAtSpecificity` for the arguments."""

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("precision", precision, num_thresholds, class_id, name, dtype)
        self.precision = precision

    def result(self) -> Any:
        return self._best(self._precision(), self._sensitivity())


def _centred(y_true: Any, y_pred: Any, axis: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Labels and predictions without their means, and the means."""
    pred = tensor(y_pred)
    true = tensor(y_true).to(pred.dtype)
    means = true.mean(axis, keepdim=True), pred.mean(axis, keepdim=True)
    return true - means[0], pred - means[1], *means


def pearson_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """How well predictions follow labels along a line, from -1 to 1.

    Example:
        >>> pearson_correlation([[0.0, 1.0, 2.0]], [[1.0, 3.0, 5.0]]).round(decimals=3)
        tensor([1.])
    """
    true, pred, _, _ = _centred(y_true, y_pred, axis)
    spread = true.std(axis, correction=0) * pred.std(axis, correction=0)
    return (true * pred).mean(axis) / spread


def concordance_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """How well predictions are the labels, from -1 to 1.

    Example:
        >>> concordance_correlation([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]]).round(decimals=3)
        tensor([1.])
    """
    true, pred, true_mean, pred_mean = _centred(y_true, y_pred, axis)
    apart = ((true_mean - pred_mean) ** 2).squeeze(axis)
    below = true.var(axis, correction=0) + pred.var(axis, correction=0) + apart
    return 2 * (true * pred).mean(axis) / below


class PearsonCorrelation(MeanMetricWrapper):
    """The mean of `pearson_correlation` over samples.

    Args:
        name: Its name.
        dtype: Accepted for Keras's sake.
        axis: The axis along which it is computed.
    """

    def __init__(self, name: str = "pearson_correlation", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(pearson_correlation, name=name, dtype=dtype, axis=axis)
        self.axis = axis


class ConcordanceCorrelation(MeanMetricWrapper):
    """The mean of `concordance_correlation` over samples; see `PearsonCorrelation` for the arguments."""

    def __init__(self, name: str = "concordance_correlation", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(concordance_correlation, name=name, dtype=dtype, axis=axis)
        self.axis = axis
