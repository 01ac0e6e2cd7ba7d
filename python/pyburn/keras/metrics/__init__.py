"""Keras's metrics, by name, dictionary or object."""

from __future__ import annotations

from typing import Any

from pyburn.keras._registry import by_name, getter, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize
from pyburn.keras.losses import functions
from pyburn.keras.losses.functions import *  # noqa: F403
from pyburn.keras.metrics import accuracy as _accuracy
from pyburn.keras.metrics import base as _base
from pyburn.keras.metrics import confusion as _confusion
from pyburn.keras.metrics import curves as _curves
from pyburn.keras.metrics.accuracy import *  # noqa: F403
from pyburn.keras.metrics.base import *  # noqa: F403
from pyburn.keras.metrics.confusion import *  # noqa: F403
from pyburn.keras.metrics.curves import *  # noqa: F403

__all__ = [
    *_accuracy.__all__,
    *_base.__all__,
    *_confusion.__all__,
    *_curves.__all__,
    *functions.__all__,
    "deserialize",
    "get",
    "serialize",
]

_CLASSES = [value for value in list(globals().values()) if isinstance(value, type) and issubclass(value, _base.Metric)]
_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(functions, name) for name in functions.__all__},
    **{name: getattr(_accuracy, name) for name in _accuracy.__all__ if name.islower()},
    **{name: getattr(_curves, name) for name in _curves.__all__ if name.islower()},
}
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
    "logcosh": functions.log_cosh,
}
_WITHOUT_ARGUMENTS = [each for each in _CLASSES if each not in (_base.Metric, _base.MeanMetricWrapper)]
get = getter("metrics", _base.Metric, {**by_name(*_WITHOUT_ARGUMENTS)}, {**_FUNCTIONS, **_SHORT})
serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric that `serialize` described."""
    return _deserialize(config, custom_objects, "metrics")
