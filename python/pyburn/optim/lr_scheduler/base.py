"""The base class of the schedules, and what they share."""

from __future__ import annotations

import warnings
from typing import Any

from pyburn._core import Tensor
from pyburn.optim.optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler."
)


class LRScheduler:
    """Sets the learning rate of each group of an optimizer at each `step`.

    A subclass gives `get_lr`, the list of new rates, from `self.last_epoch` and the present rates.
    Making a schedule takes its first step.

    Args:
        optimizer: Whose rates are set.
        last_epoch: The number of the step before the next one; -1 to begin.

    Attributes:
        base_lrs: The rates that the groups began with.
        last_epoch: How many steps were taken, not counting the first.

    Example:
        >>> import pyburn
        >>> class Halving(pyburn.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = Halving(optimizer)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0; load the optimizer's state first, or begin with last_epoch=-1."
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """The rates of this step, one for each group; a subclass says them."""
        raise NotImplementedError(f"{type(self).__name__}: a schedule must define get_lr().")

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Nothing; the groups have the next rates.

        Args:
            epoch: The number of this step, where it is not the next one.
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first rate of the "
                "schedule is skipped. Call `optimizer.step()` first.",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed()
        finally:
            self._get_lr_called_within_step = False
        self._last_lr = set_rates(self.optimizer, rates)

    def _rates(self) -> list[float]:
        """The present rates of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule remembers but its optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the schedule goes on where `state_dict` was taken."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer: Any) -> None:
    """Nothing; raises TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def set_rates(optimizer: Optimizer, rates: list[float]) -> list[float]:
    """The groups' rates, after `rates` were put there; a rate that is a tensor keeps its identity."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(float(rate))
        else:
            group["lr"] = rate
    held = (group["lr"] for group in optimizer.param_groups)
    now: list[Any] = [rate.clone() if isinstance(rate, Tensor) else rate for rate in held]
    return now


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` for each group: given as a list, or the same for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return list(value)


def set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Nothing; the group's momentum, or first beta, is `momentum`."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def check_momentum(optimizer: Optimizer) -> bool:
    """Whether the optimizer's momentum is its first beta; ValueError when it has neither."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults
