"""How often predictions are right, and losses as metrics."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras.losses import functions
from pyburn.keras.metrics.base import MeanMetricWrapper, aligned

__all__ = [
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Hinge",
    "KLDivergence",
    "LogCoshError",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "SquaredHinge",
    "TopKCategoricalAccuracy",
    "accuracy",
    "binary_accuracy",
    "categorical_accuracy",
    "sparse_categorical_accuracy",
    "sparse_top_k_categorical_accuracy",
    "top_k_categorical_accuracy",
]


def _hits(values: Tensor) -> Tensor:
    return values.float()


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where both are equal, else 0."""
    true, pred = aligned(y_true, y_pred)
    return _hits(true.to(pred.dtype) == pred)


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """The share of probabilities on the right side of the threshold."""
    true, pred = aligned(y_true, y_pred)
    return _hits(true.to(pred.dtype) == (pred > threshold).to(pred.dtype)).mean(-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the largest prediction is at the one of the one-hot label."""
    pred = functions.tensor(y_pred)
    true = functions.tensor(y_true, pred).argmax(-1)
    return _hits(true == pred.argmax(-1))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the largest prediction is that of the class number."""
    pred = functions.tensor(y_pred)
    true = functions.tensor(y_true, pred)
    if true.dim() == pred.dim() and true.shape[-1] == 1:
        true = true.squeeze(-1)
    return _hits(true.long() == pred.argmax(-1))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 where the class of the one-hot label is among the `k` largest predictions."""
    return sparse_top_k_categorical_accuracy(functions.tensor(y_true).argmax(-1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False) -> Tensor:
    """1 where the class number is among the `k` largest predictions."""
    pred = functions.tensor(y_pred)
    true = functions.tensor(y_true, pred).long()
    if true.dim() == pred.dim():
        true = true.squeeze(-1)
    if from_sorted_ids:
        return _hits((pred[..., :k].long() == true.unsqueeze(-1)).any(-1))
    own = pred.gather(-1, true.unsqueeze(-1))
    return _hits((pred > own).sum(-1) < k) * ops.isfinite(own.squeeze(-1)).float()


class Accuracy(MeanMetricWrapper):
    """How often predictions equal labels."""

    def __init__(self, name: str = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often probabilities are on the right side of the threshold.

    Example:
        >>> float(BinaryAccuracy()([[1], [0]], [[0.9], [0.7]]))
        0.5
    """

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is right, for one-hot labels."""

    def __init__(self, name: str = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is right, for class numbers."""

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the right class is among the `k` largest, for one-hot labels."""

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the right class is among the `k` largest, for class numbers."""

    def __init__(
        self,
        k: int = 5,
        name: str = "sparse_top_k_categorical_accuracy",
        dtype: Any = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids)


class _OfLoss(MeanMetricWrapper):
    """The mean of a loss."""

    _function: Any = None
    _name = ""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(type(self)._function[0], name or self._name, dtype)


class MeanSquaredError(_OfLoss):
    """The mean of the squared errors."""

    _function, _name = (functions.mean_squared_error,), "mean_squared_error"


class MeanAbsoluteError(_OfLoss):
    """The mean of the sizes of the errors."""

    _function, _name = (functions.mean_absolute_error,), "mean_absolute_error"


class MeanAbsolutePercentageError(_OfLoss):
    """The mean of the errors in percent."""

    _function, _name = (functions.mean_absolute_percentage_error,), "mean_absolute_percentage_error"


class MeanSquaredLogarithmicError(_OfLoss):
    """The mean of the squared differences of `log(1 + y)`."""

    _function, _name = (functions.mean_squared_logarithmic_error,), "mean_squared_logarithmic_error"


class Hinge(_OfLoss):
    """The mean hinge loss."""

    _function, _name = (functions.hinge,), "hinge"


class SquaredHinge(_OfLoss):
    """The mean squared hinge loss."""

    _function, _name = (functions.squared_hinge,), "squared_hinge"


class CategoricalHinge(_OfLoss):
    """The mean categorical hinge loss."""

    _function, _name = (functions.categorical_hinge,), "categorical_hinge"


class KLDivergence(_OfLoss):
    """The mean divergence of two distributions."""

    _function, _name = (functions.kl_divergence,), "kl_divergence"


class Poisson(_OfLoss):
    """The mean loss of counts."""

    _function, _name = (functions.poisson,), "poisson"


class LogCoshError(_OfLoss):
    """The mean of `log(cosh(error))`."""

    _function, _name = (functions.log_cosh,), "logcosh"


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine between labels and predictions."""

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(functions.cosine_similarity, name, dtype, axis=axis)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean binary cross-entropy."""

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            functions.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross-entropy of one-hot labels."""

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross-entropy of class numbers."""

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(functions.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits, axis=axis)
