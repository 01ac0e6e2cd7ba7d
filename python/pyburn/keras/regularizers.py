"""Losses of weights and activities, by name, dictionary or object."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras._registry import Configured, by_name, getter, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize

__all__ = [
    "L1",
    "L1L2",
    "L2",
    "OrthogonalRegularizer",
    "Regularizer",
    "deserialize",
    "get",
    "l1",
    "l1_l2",
    "l2",
    "serialize",
]


class Regularizer(Configured):
    """A loss of a weight: a subclass has `__call__(x)`."""

    def __call__(self, x: Tensor) -> Any:
        """The loss."""
        raise NotImplementedError(f"{type(self).__name__}: a regularizer must define __call__(x)")


def _check(name: str, value: float | None, default: float) -> float:
    value = default if value is None else float(value)
    if not value >= 0 or value == float("inf"):
        raise ValueError(f"{name}: the factor is {value}, but must be a finite number that is not negative")
    return value


class L1L2(Regularizer):
    """`l1 * sum(|x|) + l2 * sum(x²)`.

    Example:
        >>> import pyburn
        >>> L1L2(l1=1.0, l2=0.5)(pyburn.tensor([-2.0, 1.0]))
        tensor(5.5000)
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = _check("L1L2", l1, 0.0), _check("L1L2", l2, 0.0)

    def __call__(self, x: Tensor) -> Any:
        total: Any = 0.0
        if self.l1:
            total = total + self.l1 * ops.abs(x).sum()
        if self.l2:
            total = total + self.l2 * (x * x).sum()
        return total


class L1(Regularizer):
    """`l1 * sum(|x|)`."""

    def __init__(self, l1: float = 0.01) -> None:
        self.l1 = _check("L1", l1, 0.01)

    def __call__(self, x: Tensor) -> Any:
        return self.l1 * ops.abs(x).sum()


class L2(Regularizer):
    """`l2 * sum(x²)`."""

    def __init__(self, l2: float = 0.01) -> None:
        self.l2 = _check("L2", l2, 0.01)

    def __call__(self, x: Tensor) -> Any:
        return self.l2 * (x * x).sum()


class OrthogonalRegularizer(Regularizer):
    """Pulls the rows (or columns) of a matrix towards being orthogonal."""

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        if mode not in ("rows", "columns"):
            raise ValueError(f"OrthogonalRegularizer: mode is {mode!r}, but must be rows or columns")
        self.factor, self.mode = factor, mode

    def __call__(self, x: Tensor) -> Any:
        if x.dim() != 2:
            raise ValueError(f"OrthogonalRegularizer: a matrix has 2 dimensions, but the input is {list(x.shape)}")
        vectors = x if self.mode == "rows" else x.T
        unit = vectors / ops.sqrt(ops.clamp((vectors * vectors).sum(1, keepdim=True), min=1e-12))
        product = ops.abs(unit @ unit.T)
        size = x.shape[0] if self.mode == "rows" else x.shape[1]
        off = product * (1.0 - ops.eye(size, dtype=x.dtype, device=x.device))
        return self.factor * 0.5 * off.sum() / max(size * (size - 1) / 2.0, 1.0)


l1, l2, l1_l2, orthogonal_regularizer = L1, L2, L1L2, OrthogonalRegularizer
get = getter("regularizers", Regularizer, by_name(L1, L1L2, L2, OrthogonalRegularizer, l1_l2=L1L2))
serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The regularizer that `serialize` described."""
    return _deserialize(config, custom_objects, "regularizers")
