"""Keras's losses, by name, dictionary or object."""

from __future__ import annotations

from typing import Any

from pyburn.keras._registry import deserialize_keras_object as _deserialize
from pyburn.keras._registry import getter, serialize_keras_object
from pyburn.keras.losses import functions
from pyburn.keras.losses.base import Loss, LossFunctionWrapper
from pyburn.keras.losses.functions import *  # noqa: F403

__all__ = [
    "CTC",
    "BinaryCrossentropy",
    "BinaryFocalCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Dice",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "LossFunctionWrapper",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "Tversky",
    "deserialize",
    "get",
    "serialize",
    *functions.__all__,
]

_MEAN = "sum_over_batch_size"


class _Plain(LossFunctionWrapper):
    """A loss whose function takes no settings."""

    _function: Any = None

    def __init__(self, reduction: str | None = _MEAN, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(type(self)._function[0], reduction, name or type(self)._function[0].__name__, dtype)


class MeanSquaredError(_Plain):
    """The mean of the squared errors.

    Example:
        >>> MeanSquaredError()([[0.0], [2.0]], [[0.0], [0.0]])
        tensor(2.)
    """

    _function = (functions.mean_squared_error,)


class MeanAbsoluteError(_Plain):
    """The mean of the sizes of the errors."""

    _function = (functions.mean_absolute_error,)


class MeanAbsolutePercentageError(_Plain):
    """The mean of the errors in percent of the true values."""

    _function = (functions.mean_absolute_percentage_error,)


class MeanSquaredLogarithmicError(_Plain):
    """The mean of the squared differences of `log(1 + y)`."""

    _function = (functions.mean_squared_logarithmic_error,)


class Hinge(_Plain):
    """The mean of `max(1 - y_true * y_pred, 0)`."""

    _function = (functions.hinge,)


class SquaredHinge(_Plain):
    """The mean of `max(1 - y_true * y_pred, 0)²`."""

    _function = (functions.squared_hinge,)


class CategoricalHinge(_Plain):
    """`max(largest wrong score - right score + 1, 0)`."""

    _function = (functions.categorical_hinge,)


class LogCosh(_Plain):
    """The mean of `log(cosh(error))`."""

    _function = (functions.log_cosh,)


class Poisson(_Plain):
    """The loss of counts."""

    _function = (functions.poisson,)


class KLDivergence(_Plain):
    """How far one distribution is from another."""

    _function = (functions.kl_divergence,)


class CTC(_Plain):
    """The loss of labels whose places in the sequence are not known."""

    _function = (functions.ctc,)


class Huber(LossFunctionWrapper):
    """Half the squared error where it is small, a line beyond `delta`."""

    def __init__(
        self, delta: float = 1.0, reduction: str | None = _MEAN, name: str | None = "huber_loss", dtype: Any = None
    ) -> None:
        super().__init__(functions.huber, reduction, name, dtype, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """Minus the cosine of the angle between both."""

    def __init__(
        self, axis: int = -1, reduction: str | None = _MEAN, name: str | None = "cosine_similarity", dtype: Any = None
    ) -> None:
        super().__init__(_negative_cosine, reduction, name, dtype, axis=axis)


def _negative_cosine(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    return -functions.cosine_similarity(y_true, y_pred, axis)


class BinaryCrossentropy(LossFunctionWrapper):
    """The cross-entropy of labels 0 and 1 and their probabilities (or logits)."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = _MEAN,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.binary_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class BinaryFocalCrossentropy(LossFunctionWrapper):
    """The binary cross-entropy in which easy samples count little."""

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = _MEAN,
        name: str | None = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.binary_focal_crossentropy,
            reduction,
            name,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalCrossentropy(LossFunctionWrapper):
    """The cross-entropy of one-hot labels and predictions."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = _MEAN,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(LossFunctionWrapper):
    """The categorical cross-entropy in which easy samples count little."""

    def __init__(
        self,
        alpha: Any = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = _MEAN,
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.categorical_focal_crossentropy,
            reduction,
            name,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The cross-entropy of class numbers and predictions."""

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = _MEAN,
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.sparse_categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)


class Dice(LossFunctionWrapper):
    """One minus twice the overlap over the sum of both."""

    def __init__(
        self, reduction: str | None = _MEAN, name: str | None = "dice", axis: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(functions.dice, reduction, name, dtype, axis=axis)


class Tversky(LossFunctionWrapper):
    """One minus the Tversky index."""

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = _MEAN,
        name: str | None = "tversky",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(functions.tversky, reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


_CLASSES = [value for value in globals().values() if isinstance(value, type) and issubclass(value, Loss)]
_FUNCTIONS: dict[str, Any] = {name: getattr(functions, name) for name in functions.__all__}
_SHORT = {
    "mse": functions.mean_squared_error,
    "MSE": functions.mean_squared_error,
    "mae": functions.mean_absolute_error,
    "MAE": functions.mean_absolute_error,
    "mape": functions.mean_absolute_percentage_error,
    "MAPE": functions.mean_absolute_percentage_error,
    "msle": functions.mean_squared_logarithmic_error,
    "MSLE": functions.mean_squared_logarithmic_error,
    "bce": functions.binary_crossentropy,
    "BCE": functions.binary_crossentropy,
    "kld": functions.kl_divergence,
    "KLD": functions.kl_divergence,
    "kldivergence": functions.kl_divergence,
    "logcosh": functions.log_cosh,
    "cosine_similarity": _negative_cosine,
}
get = getter("losses", Loss, {each.__name__: each for each in _CLASSES if each is not Loss}, {**_FUNCTIONS, **_SHORT})
serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss that `serialize` described."""
    return _deserialize(config, custom_objects, "losses")
