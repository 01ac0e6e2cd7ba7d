"""The base of metrics: numbers that add up over batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras._naming import snake_case, unique_name
from pyburn.keras._registry import Configured
from pyburn.keras.losses.base import _expanded, _squeezed
from pyburn.keras.losses.functions import same_rank, tensor
from pyburn.keras.variables import State

__all__ = ["Mean", "MeanMetricWrapper", "Metric", "Sum"]


class Metric(Configured):
    """A number with memory: `update_state` for each batch, `result`, `reset_state`.

    Args:
        dtype: Accepted for Keras's sake.
        name: Its name.
    """

    # What grows with each batch: names and first values.
    _zeros: dict[str, float]

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.dtype = dtype
        self._states: dict[str, Any] = {}
        self._starts: dict[str, Callable[[], Any]] = {}

    def add_variable(
        self, shape: Any, initializer: Any = "zeros", dtype: Any = None, name: str | None = None
    ) -> Tensor:
        """A tensor that `reset_state` sets back to its first values."""
        from pyburn.keras import initializers

        make = initializers.get(initializer)
        key = name or f"variable_{len(self._states)}"
        self._starts[key] = lambda: make(tuple(shape), dtype=dtype) if dtype else make(tuple(shape))
        made = State(self._starts[key]())
        made._path = f"{self.name}/{key}"
        self._states[key] = made
        return made

    def add_weight(
        self, shape: Any = (), initializer: Any = "zeros", dtype: Any = None, name: str | None = None
    ) -> Tensor:
        """A tensor that `reset_state` sets back to its first values."""
        return self.add_variable(shape, initializer, dtype, name)

    @property
    def variables(self) -> list[Any]:
        """What the metric remembers."""
        return list(self._states.values())

    def reset_state(self) -> None:
        """Nothing; the metric has seen nothing."""
        with no_grad():
            for key, start in self._starts.items():
                self._states[key].copy_(start())

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Nothing; the metric has seen one batch more."""
        raise NotImplementedError(f"{type(self).__name__}: a metric must define update_state")

    def result(self) -> Any:
        """The number so far."""
        raise NotImplementedError(f"{type(self).__name__}: a metric must define result")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same metric."""
        return super().get_config() | {"name": self.name}


class Mean(Metric):
    """The mean of the values so far.

    Example:
        >>> mean = Mean(); mean.update_state([1.0, 3.0]); float(mean.result())
        2.0
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.reset_state()

    def reset_state(self) -> None:
        self.total: Any = 0.0
        self.count: Any = 0.0

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Nothing; `values` are part of the mean, each as often as its weight says."""
        with no_grad():
            values, weight = weighted(values, sample_weight)
            if weight is None:
                self.total, self.count = self.total + values.sum(), self.count + float(values.numel())
            else:
                self.total, self.count = self.total + (values * weight).sum(), self.count + weight.sum()

    def result(self) -> Any:
        total, count = float(self.total), float(self.count)
        return ops.tensor(total / count if count else 0.0)


class Sum(Metric):
    """The sum of the values so far."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.reset_state()

    def reset_state(self) -> None:
        self.total: Any = 0.0

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Nothing; `values` are part of the sum, each as often as its weight says."""
        with no_grad():
            values, weight = weighted(values, sample_weight)
            self.total = self.total + (values.sum() if weight is None else (values * weight).sum())

    def result(self) -> Any:
        return ops.tensor(float(self.total))


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred) over samples."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(str(name or getattr(fn, "__name__", "metric")), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any = None, sample_weight: Any = None
    ) -> None:
        """Nothing; the batch is part of the mean."""
        mask = getattr(y_pred, "_keras_mask", None)
        with no_grad():
            pred = tensor(y_pred).detach()
            values = self._fn(tensor(y_true, pred), pred, **self._fn_kwargs)
            if mask is not None:
                weight = tensor(mask, values).to(values.dtype)
                if sample_weight is not None:
                    given = tensor(sample_weight, values).to(values.dtype)
                    given, weight = _expanded(given, weight.dim()), _expanded(weight, given.dim())
                    weight = weight * given
                sample_weight = weight
            super().update_state(values, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype} | self._fn_kwargs


def weighted(values: Any, sample_weight: Any) -> tuple[Tensor, Tensor | None]:
    """The values as floats, and the weights in their shape."""
    values = tensor(values).detach()
    values = values if values.is_floating_point() else values.float()
    if sample_weight is None:
        return values, None
    weight = tensor(sample_weight, values).to(values.dtype)
    if weight.dim() > values.dim():
        weight = _squeezed(weight, values.dim())
    if weight.dim() > values.dim():
        # The values are means over axes that the weights still have.
        weight = weight.mean(tuple(range(values.dim(), weight.dim())))
    return values, _expanded(weight, values.dim()).broadcast_to(values.shape)


def aligned(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors of the same rank."""
    pred = tensor(y_pred).detach()
    return same_rank(tensor(y_true, pred).detach(), pred)
