"""Schedules made of schedules, and the one that watches a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from pyburn.optim.lr_scheduler.base import LRScheduler, check_optimizer, set_rates
from pyburn.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when a metric has not improved for more than `patience` steps.

    Args:
        optimizer: Whose rates are set.
        mode: Whether the metric should become small ("min") or large ("max").
        factor: The factor, below 1.
        patience: How many steps without improvement are let pass.
        threshold: By how much it must improve.
        threshold_mode: Whether `threshold` is a part of the best metric ("rel") or a difference ("abs").
        cooldown: How many steps after a reduction do not count.
        min_lr: The least rate, or one for each group.
        eps: A reduction that is smaller is not done.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        >>> schedule.step(2.0); schedule.step(2.0); schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        listed = isinstance(min_lr, list | tuple)
        self.default_min_lr = None if listed else min_lr
        self.min_lrs: list[Any] = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the last reduction is so near that steps do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, current: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        needed = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return current < needed if self.mode == "min" else current > needed

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Nothing; the rates are smaller if `metrics` has not improved for long enough.

        Args:
            metrics: What is watched, a number or a tensor of one.
            epoch: The number of this step, where it is not the next one.
        """
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce_lr(self) -> None:
        rates = [float(rate) for rate in self._rates()]
        if len(rates) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau: the optimizer has {len(rates)} groups but min_lr was given for "
                    f"{len(self.min_lrs)}; set min_lrs to one value for each group."
                )
            self.min_lrs = [self.default_min_lr] * len(rates)
        lower = [max(rate * self.factor, least) for rate, least in zip(rates, self.min_lrs, strict=True)]
        set_rates(self.optimizer, [n if r - n > self.eps else r for r, n in zip(rates, lower, strict=True)])


class _Combined(LRScheduler):
    """A schedule that has others act on the same optimizer."""

    _schedulers: list[Any]

    def _check(self, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{type(self).__name__} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__} does not support `ReduceLROnPlateau`, whose step needs a metric; "
                    f"take the scheduler at index {i} out and step it on its own."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but the one at "
                    f"index {i} has another."
                )

    def state_dict(self) -> dict[str, Any]:
        """What the schedule and those in it remember."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the schedule and those in it go on where `state_dict` was taken."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after another; `milestones` says at which steps the next one begins.

    Args:
        optimizer: Whose rates are set.
        schedulers: The schedules in order.
        milestones: The steps at which each but the first begins.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> from pyburn.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> parts = [ConstantLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, 0.9)]
        >>> SequentialLR(optimizer, parts, milestones=[2]).get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} milestones, "
                f"but got {len(milestones)}; give the step at which each scheduler but the first begins."
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Making each schedule took its first step: undo all of them, then take the first one's again.
        set_rates(optimizer, [group["initial_lr"] for group in optimizer.param_groups])
        self._undo(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _undo(self, scheduler: Any) -> None:
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self._undo(inner)
        else:
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Nothing; the schedule whose turn it is takes its next step."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once: each multiplies what the one before left.

    Args:
        schedulers: The schedules.
        optimizer: Whose rates are set; the first schedule's when left out.

    Example:
        >>> import pyburn
        >>> from pyburn.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> both = ChainedScheduler([ConstantLR(optimizer, 0.5), ExponentialLR(optimizer, 0.5)])
        >>> optimizer.step(); both.step(); both.get_last_lr()
        [0.25]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        self._check(schedulers, self.optimizer)
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]
        """Nothing; each schedule took its next step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
