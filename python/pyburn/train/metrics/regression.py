"""Metrics of numbers: errors, explained variance, the loss and the perplexity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from pyburn._core import ShapeError, Tensor, float32, float64, int64
from pyburn.autograd import no_grad
from pyburn.ops import log_softmax, ones_like, where
from pyburn.train.metrics.base import Accumulated, Batch, Mean, State, at_least_float32, divide, samples_of, to_tensor

__all__ = ["MAE", "MSE", "R2", "RMSE", "Loss", "Perplexity"]


def _pair(name: str, output: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Floats of one shape: no broadcasting, which would compare everything with everything."""
    output, target = to_tensor(name, "output", output), to_tensor(name, "target", target)
    if output.shape != target.shape:
        fix = "squeeze or reshape one of them" if output.numel() == target.numel() else "every output needs its target"
        raise ShapeError(
            f"{name}: output has shape {list(output.shape)} and target {list(target.shape)}; expected one shape: {fix}."
        )
    wide = float64 if float64 in (output.dtype, target.dtype) else float32
    return output.to(wide), target.to(wide)


class MAE(Mean):
    """The mean of the absolute errors.

    Example:
        >>> import pyburn
        >>> mae = MAE()
        >>> mae.update(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 4.0]))
        >>> mae.compute()
        1.0
    """

    name = "mae"
    higher_is_better = False

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        output, target = _pair(self.name, output, target)
        return (output - target).abs().sum(), output.numel()


class MSE(Mean):
    """The mean of the squared errors.

    Example:
        >>> import pyburn
        >>> mse = MSE()
        >>> mse.update(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 4.0]))
        >>> mse.compute()
        2.0
    """

    name = "mse"
    higher_is_better = False

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        output, target = _pair(self.name, output, target)
        return ((output - target) ** 2).sum(), output.numel()


class RMSE(MSE):
    """The root of the mean of the squared errors over all batches, which is not the mean of the batches' roots.

    Of several outputs the errors are taken together, as torchmetrics does; scikit-learn takes a root for each output.

    Example:
        >>> import pyburn
        >>> rmse = RMSE()
        >>> rmse.update(pyburn.tensor([1.0, 3.0]), pyburn.tensor([1.0, 3.0]))
        >>> rmse.update(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 4.0]))
        >>> rmse.compute()
        1.0
    """

    name = "rmse"

    def _value(self, state: State) -> float | Tensor:
        return math.sqrt(divide(state["total"], state["count"]))


class R2(Accumulated):
    """The share of the targets' variance that the outputs explain: 1 is perfect, 0 no better than their mean.

    As in scikit-learn, constant targets give 1 where they are met and 0 where not, and fewer than two samples give nan.

    Args:
        multioutput: For outputs (N, D): "uniform_average" over D, "variance_weighted", or "raw_values".

    Example:
        >>> import pyburn
        >>> r2 = R2()
        >>> r2.update(pyburn.tensor([2.5, 0.0, 2.0, 8.0]), pyburn.tensor([3.0, -0.5, 2.0, 7.0]))
        >>> round(r2.compute(), 4)
        0.9486
    """

    name = "r2"
    higher_is_better = True

    def __init__(
        self,
        multioutput: Literal["uniform_average", "variance_weighted", "raw_values"] = "uniform_average",
        name: str | None = None,
    ) -> None:
        if multioutput not in ("uniform_average", "variance_weighted", "raw_values"):
            raise ValueError(
                f"r2: multioutput is {multioutput!r}; expected 'uniform_average', 'variance_weighted' or 'raw_values'."
            )
        self.name = name or self.name
        self.multioutput = multioutput
        super().__init__()

    def _statistics(self, output: Any, target: Any) -> State:
        output, target = _pair(self.name, output, target)
        columns = [output.shape[0], math.prod(output.shape[1:])] if output.ndim else [1, 1]
        output, target = output.reshape(columns), target.reshape(columns)
        if not len(target):
            zero = target.sum(0)
            return {"count": 0, "mean": zero, "spread": zero, "residual": zero}
        mean = target.mean(0)
        spread = ((target - mean) ** 2).sum(0)
        return {"count": len(target), "mean": mean, "spread": spread, "residual": ((output - target) ** 2).sum(0)}

    def _merge(self, old: State, new: State) -> State:
        # Sums of squares lose all digits where the mean is large: spreads are merged around their means instead.
        merged = super()._merge(old, new)
        if merged["count"]:
            share = new["count"] / merged["count"]
            step = new["mean"] - old["mean"]
            merged["mean"] = old["mean"] + step * share
            merged["spread"] = merged["spread"] + step**2 * old["count"] * share
        return merged

    def _value(self, state: State) -> float | Tensor:
        spread, residual = state["spread"], state["residual"]
        if state["count"] < 2:
            return math.nan
        flat = spread == 0
        scores = where(flat, (residual == 0).to(float64), 1 - residual / where(flat, 1.0, spread))
        if self.multioutput == "raw_values":
            return scores
        weights = spread if self.multioutput == "variance_weighted" and float(spread.sum()) else ones_like(spread)
        return divide((scores * weights).sum(), weights.sum())


class Loss(Mean):
    """The mean of the loss over all samples: what the Learner computed, or a function (output, target) -> loss.

    Example:
        >>> import pyburn
        >>> loss = Loss()
        >>> loss.observe(Batch(None, None, None, loss=pyburn.tensor(1.0), size=3))
        >>> loss.observe(Batch(None, None, None, loss=pyburn.tensor(3.0), size=1))
        >>> loss.compute()
        1.5
    """

    name = "loss"
    higher_is_better = False

    def __init__(self, function: Callable[[Any, Any], Any] | None = None, name: str | None = None) -> None:
        self.function = function
        self.name = name or self.name
        super().__init__()

    def observe(self, batch: Batch) -> None:
        """Takes the loss of one batch into account, weighted by its size."""
        if self.function is None and batch.loss is None:
            raise ValueError(
                f"{self.name}: the batch has no loss; give the Learner a loss, the model a validation_step, or Loss a "
                "function."
            )
        if self.function is None and batch.value is not None:
            state, total = self._state, batch.value * batch.size
            if state and not self._waiting:
                state["total"], state["count"] = state["total"] + total, state["count"] + batch.size
            else:
                self._add({"total": total, "count": batch.size})
            return
        with no_grad():
            found = batch.loss if self.function is None else self.function(batch.output, batch.target)
            self._add(self._weighted(found, batch.size))

    def _statistics(self, output: Any, target: Any) -> State:
        if self.function is None:
            raise ValueError(f"{self.name}: update(output, target) needs a loss function; create it as Loss(function).")
        return self._weighted(self.function(output, target), samples_of(target, output))

    def _weighted(self, loss: Any, size: int) -> State:
        if isinstance(loss, Tensor):
            loss = at_least_float32(loss.detach())
            loss = loss.mean() if loss.ndim else loss  # a loss without reduction
        return {"total": loss * size, "count": size}


class Perplexity(Mean):
    """The exponential of the mean negative log-likelihood of the true tokens.

    Outputs have the shape (..., V) with the vocabulary last, targets (...).

    Args:
        ignore_index: Targets of this value (padding) do not count.
        from_logits: Whether outputs are logits; False for probabilities.

    Example:
        >>> import pyburn
        >>> perplexity = Perplexity(ignore_index=-100)
        >>> perplexity.update(pyburn.zeros(2, 3, 50), pyburn.tensor([[4, 9, 30], [7, -100, -100]]))
        >>> round(perplexity.compute(), 3)
        50.0
    """

    name = "perplexity"
    higher_is_better = False

    def __init__(self, ignore_index: int | None = None, from_logits: bool = True, name: str | None = None) -> None:
        self.ignore_index = ignore_index
        self.from_logits = from_logits
        self.name = name or self.name
        super().__init__()

    def _statistics(self, output: Any, target: Any) -> State:
        output, target = to_tensor(self.name, "output", output), to_tensor(self.name, "target", target)
        if output.ndim < 2 or output.shape[:-1] != target.shape or not output.is_floating_point():
            fix = "give output.movedim(1, -1)" if output.ndim == target.ndim + 1 else "give one token per row of scores"
            raise ShapeError(
                f"{self.name}: output has shape {list(output.shape)} and target {list(target.shape)}; expected floats "
                f"(..., V) with the vocabulary last, and tokens (...): {fix}."
            )
        size = output.shape[-1]
        rows, tokens = at_least_float32(output).reshape([-1, size]), target.reshape([-1]).to(int64)
        chances = log_softmax(rows, -1) if self.from_logits else rows.log()
        valid = ones_like(tokens) == 1 if self.ignore_index is None else tokens != self.ignore_index
        legal = (tokens >= 0) & (tokens < size)
        found = chances.gather(1, where(legal, tokens, 0).unsqueeze(1)).squeeze(1)
        total = where(valid & legal, -found, 0.0).sum()
        return {"total": total, "count": valid.sum(), "bad": (valid & legal.logical_not()).sum()}

    def _check(self, found: State) -> None:
        if found["bad"]:
            raise ValueError(
                f"{self.name}: {found['bad']} targets are outside of the vocabulary; if they mark padding, give "
                "their value as ignore_index."
            )

    def _value(self, state: State) -> float | Tensor:
        mean = divide(state["total"], state["count"])
        return math.exp(mean) if mean < 700 else math.inf if mean == mean else math.nan
