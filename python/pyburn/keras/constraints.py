"""What weights must keep to after each step, by name, dictionary or object."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras._registry import Configured, by_name, getter, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize

__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "UnitNorm",
    "deserialize",
    "get",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "serialize",
    "unit_norm",
]


class Constraint(Configured):
    """A projection of a weight: a subclass has `__call__(w)`."""

    def __call__(self, w: Tensor) -> Tensor:
        """The weight as it is allowed to be."""
        raise NotImplementedError(f"{type(self).__name__}: a constraint must define __call__(w)")


def _norms(w: Tensor, axis: Any) -> Tensor:
    return ops.sqrt((w * w).sum(axis, keepdim=True))


class MaxNorm(Constraint):
    """No norm along `axis` is larger than `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        return w * (ops.clamp(norms, 0, self.max_value) / (settings.epsilon() + norms))


class NonNeg(Constraint):
    """No value is negative.

    Example:
        >>> import pyburn
        >>> NonNeg()(pyburn.tensor([-1.0, 2.0]))
        tensor([-0., 2.])
    """

    def __call__(self, w: Tensor) -> Tensor:
        return w * (w >= 0).to(w.dtype)


class UnitNorm(Constraint):
    """Each norm along `axis` is 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Tensor) -> Tensor:
        return w / (settings.epsilon() + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """Norms along `axis` are pulled between two bounds, at the given rate."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = self.rate * ops.clamp(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (settings.epsilon() + norms))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
get = getter("constraints", Constraint, by_name(MaxNorm, MinMaxNorm, NonNeg, UnitNorm))
serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The constraint that `serialize` described."""
    return _deserialize(config, custom_objects, "constraints")
