"""Schedules that multiply the rates by a factor that depends on the step."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pyburn.optim.lr_scheduler.base import LRScheduler, per_group
from pyburn.optim.optimizer import Optimizer


class _Lambdas(LRScheduler):
    """A schedule given by functions of the step, one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = per_group("lr_lambda", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """What the schedule remembers; of the functions only the attributes of callable objects."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        state["lr_lambdas"] = [
            None if not hasattr(fn, "__dict__") or _is_function(fn) else dict(fn.__dict__) for fn in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the schedule goes on where `state_dict` was taken."""
        saved = dict(state_dict)
        for fn, attributes in zip(self.lr_lambdas, saved.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                fn.__dict__.update(attributes)
        self.__dict__.update(saved)


def _is_function(value: Any) -> bool:
    return type(value).__name__ in ("function", "builtin_function_or_method")


class LambdaLR(_Lambdas):
    """The first rate times a function of the step.

    Args:
        optimizer: Whose rates are set.
        lr_lambda: The function of the step, or a list of them, one for each group.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        return [lr * fn(self.last_epoch) for fn, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Lambdas):
    """The present rate times a function of the step; arguments as `LambdaLR`.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [lr * fn(self.last_epoch) for fn, lr in zip(self.lr_lambdas, self._rates(), strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` steps.

    Args:
        optimizer: Whose rates are set.
        step_size: After how many steps.
        gamma: The factor.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the steps `milestones`.

    Args:
        optimizer: Whose rates are set.
        milestones: The steps; one that stands there twice counts twice.
        gamma: The factor.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.MultiStepLR(optimizer, [1, 5], gamma=0.5)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch, 0)
        return [lr * self.gamma**times for lr in self._rates()] if times else self._rates()

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` for the first `total_iters` steps, then the full rate.

    Args:
        optimizer: Whose rates are set.
        factor: The factor, from 0 to 1.
        total_iters: For how many steps.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> pyburn.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch == self.total_iters:
            return [lr * (1.0 / self.factor) for lr in self._rates()]
        return self._rates()

    def _get_closed_form_lr(self) -> list[float]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes evenly from `start_factor` to `end_factor` in `total_iters` steps.

    Args:
        optimizer: Whose rates are set.
        start_factor: The first factor, above 0 and at most 1.
        end_factor: The last, from 0 to 1.
        total_iters: In how many steps.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.LinearLR(optimizer, 0.5, total_iters=2)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        # This step's factor divided by the last one's, so that other schedules may act on the rate too.
        rise = self.end_factor - self.start_factor
        growth = 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        return [lr * growth for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * done) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` after every step.

    Args:
        optimizer: Whose rates are set.
        gamma: The factor.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        return self._rates() if self._is_initial else [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 in `total_iters` steps along a polynomial.

    Args:
        optimizer: Whose rates are set.
        total_iters: In how many steps.
        power: The polynomial's power.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left, before = 1.0 - self.last_epoch / self.total_iters, 1.0 - (self.last_epoch - 1) / self.total_iters
        return [lr * (left / before) ** self.power for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate falls along a half cosine to `eta_min` in `T_max` steps, and rises again after that.

    Args:
        optimizer: Whose rates are set.
        T_max: In how many steps.
        eta_min: The least rate.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step(); schedule.step(); round(schedule.get_last_lr()[0], 6)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, step: float) -> float:
        return (1 + math.cos(math.pi * step / self.T_max)) / 2

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The step before was at the bottom, where the quotient below would divide by zero.
            rise = 1 - self._height(1)
            return [lr + (base - self.eta_min) * rise for base, lr in zip(self.base_lrs, self._rates(), strict=True)]
        change = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [change * (lr - self.eta_min) + self.eta_min for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) for base in self.base_lrs]


class NoamLR(LRScheduler):
    """The rate rises for some steps and then falls with the root of the step ("Attention Is All You Need", 2017).

    The first rate is multiplied by `model_size**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)`, where
    the first step is 1: burn's Noam schedule.

    Args:
        optimizer: Whose rates are set.
        warmup_steps: In how many steps the rate rises.
        model_size: The width of the model.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.NoamLR(optimizer, warmup_steps=4, model_size=16)
        >>> schedule.get_last_lr()
        [0.03125]
    """

    def __init__(
        self, optimizer: Optimizer, warmup_steps: int = 4000, model_size: int = 512, last_epoch: int = -1
    ) -> None:
        for name, value in (("warmup_steps", warmup_steps), ("model_size", model_size)):
            if value <= 0:
                raise ValueError(f"NoamLR: {name} must be positive, but got {value}")
        self.warmup_steps = warmup_steps
        self.model_size = model_size
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        return self._get_closed_form_lr()

    def _get_closed_form_lr(self) -> list[float]:
        step = self.last_epoch + 1
        factor = float(self.model_size**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5))
        return [base * factor for base in self.base_lrs]
