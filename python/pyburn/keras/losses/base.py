"""The base of losses: how the losses of samples become one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras._naming import snake_case, unique_name
from pyburn.keras._registry import Configured
from pyburn.keras.losses.functions import same_rank, tensor
from pyburn.keras.symbolic import map_structure

__all__ = ["Loss", "LossFunctionWrapper"]

_REDUCTIONS = (None, "none", "sum", "mean", "sum_over_batch_size", "mean_with_sample_weight")


class Loss(Configured):
    """A loss: a subclass gives in `call(y_true, y_pred)` the loss of each sample.

    Args:
        name: Its name.
        reduction: "sum_over_batch_size" (the mean), "sum", "mean", "mean_with_sample_weight" or "none".
        dtype: The dtype that it is computed in.
    """

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"{type(self).__name__}: reduction is {reduction!r}, but must be one of {_REDUCTIONS}")
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.reduction = None if reduction == "none" else reduction
        self.dtype = dtype or settings.floatx()

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """The loss of all samples."""
        mask = getattr(y_pred, "_keras_mask", None)
        kind = settings.as_dtype(self.dtype)
        pred = map_structure(lambda each: _as_float(tensor(each), kind), y_pred)
        true = map_structure(tensor, y_true)
        losses = self.call(true, pred)
        own = getattr(losses, "_keras_mask", None)
        mask = own if mask is None else mask if own is None else mask & own
        return reduce(losses, sample_weight, mask, self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample; every subclass says it."""
        raise NotImplementedError(f"{type(self).__name__}: a loss must define call(y_true, y_pred)")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same loss."""
        return {"name": self.name, "reduction": self.reduction}


class LossFunctionWrapper(Loss):
    """A function of (y_true, y_pred) as a loss."""

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name or getattr(fn, "__name__", None), reduction, dtype)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        if isinstance(y_true, Tensor) and isinstance(y_pred, Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | self._fn_kwargs


def _as_float(value: Tensor, kind: Any) -> Tensor:
    return value.to(kind) if value.dtype != kind else value


def reduce(losses: Tensor, sample_weight: Any, mask: Any, reduction: str | None) -> Tensor:
    """The losses of samples, weighted and masked, as one number."""
    weight = None if sample_weight is None else tensor(sample_weight, losses).to(losses.dtype)
    if mask is not None:
        mask = tensor(mask, losses).to(losses.dtype)
        if reduction in ("mean", "sum_over_batch_size"):
            # The mean is over what is not masked.
            mask = mask * (math.prod(mask.shape) / ops.clamp(mask.sum(), min=1e-30))
        if weight is not None:
            weight, mask = _expanded(weight, mask.dim()), _expanded(mask, weight.dim())
            weight = weight * mask
        else:
            weight = mask
    if weight is not None:
        losses = losses * _expanded(_squeezed(weight, losses.dim()), losses.dim())
    if reduction is None:
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean_with_sample_weight" and weight is not None:
        total = _expanded(_squeezed(weight, losses.dim()), losses.dim()).broadcast_to(losses.shape).sum()
        return losses.sum() / ops.clamp(total, min=1e-30)
    return losses.mean() if losses.numel() else losses.sum()


def _squeezed(weight: Tensor, rank: int) -> Tensor:
    return weight.squeeze(-1) if weight.dim() == rank + 1 and weight.shape[-1] == 1 else weight


def _expanded(weight: Tensor, rank: int) -> Tensor:
    while 0 < weight.dim() < rank:
        weight = weight.unsqueeze(-1)
    return weight
