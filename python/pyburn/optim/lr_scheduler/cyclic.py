"""Schedules that rise and fall: one cycle, many cycles, and cosines that start anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn.optim.lr_scheduler.base import (
    LRScheduler,
    check_momentum,
    check_optimizer,
    per_group,
    set_momentum,
    set_rates,
)
from pyburn.optim.optimizer import Optimizer


class OneCycleLR(LRScheduler):
    """The rate rises to `max_lr` and falls far below its start, the momentum the other way (Smith, 2018).

    Args:
        optimizer: Whose rates are set.
        max_lr: The highest rate, or one for each group.
        total_steps: How many steps there are; or give the next two.
        epochs: How many epochs.
        steps_per_epoch: How many steps an epoch has.
        pct_start: The part of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: Whether the momentum changes too.
        base_momentum: The least momentum, or one for each group.
        max_momentum: The largest momentum, or one for each group.
        div_factor: `max_lr` divided by the first rate.
        final_div_factor: The first rate divided by the last.
        three_phase: Whether the fall to the first rate and below it are two phases.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], momentum=0.9)
        >>> schedule = pyburn.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> round(schedule.get_last_lr()[0], 6)
        0.04
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(pct_start * self.total_steps, self.total_steps, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.use_beta1 = check_momentum(optimizer)
            if last_epoch == -1:
                _set_momentum_range(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[float]:
        """The rates of this step; the momentum of this step is set as well."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin, phase = 0.0, self._schedule_phases[0]
        for i, phase in enumerate(self._schedule_phases):
            if step <= phase["end_step"] or i == len(self._schedule_phases) - 1:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                set_momentum(group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    given = {"total_steps": total_steps} if total_steps is not None else {}
    if not given:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(value for value in given.values() if value is not None)


def _phases(rise: float, total: int, three_phase: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and between which settings of a group it goes."""

    def phase(end: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return {"end_step": end, **dict(zip(names, (*rates, *momenta), strict=True))}

    up = phase(float(rise) - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three_phase:
        return [up, phase(total - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    down = phase(float(2 * rise) - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [up, down, phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]


def _set_momentum_range(optimizer: Optimizer, least: Any, largest: Any) -> None:
    lows, highs = per_group("base_momentum", optimizer, least), per_group("max_momentum", optimizer, largest)
    for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
        set_momentum(group, high)
        group["max_momentum"] = high
        group["base_momentum"] = low


class CyclicLR(LRScheduler):
    """The rate goes up and down between `base_lr` and `max_lr` again and again (Smith, 2015).

    Args:
        optimizer: Whose rates are set.
        base_lr: The least rate, or one for each group.
        max_lr: The highest rate, or one for each group.
        step_size_up: In how many steps it rises.
        step_size_down: In how many it falls; as many when left out.
        mode: "triangular", "triangular2" (half as high each time) or "exp_range" (`gamma ** step`).
        gamma: The factor of "exp_range".
        scale_fn: The height of a cycle by a function of one's own, instead of `mode`.
        scale_mode: Whether `scale_fn` is given the number of the "cycle" or of the step ("iterations").
        cycle_momentum: Whether the momentum changes too, the other way.
        base_momentum: The least momentum, or one for each group.
        max_momentum: The largest momentum, or one for each group.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], momentum=0.9)
        >>> schedule = pyburn.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=4)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            set_rates(optimizer, base_lrs)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up if step_size_down is None else step_size_down) + step_size_up
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = check_momentum(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                _set_momentum_range(optimizer, self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the cycle at `x`, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1)) if self.mode == "triangular2" else float(self.gamma**x)

    def get_lr(self) -> list[float]:
        """The rates of this step; the momentum of this step is set as well."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in momenta:
                set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """What the schedule remembers; of its own height function only a callable object's attributes."""
        state = super().state_dict()
        fn = state.pop("_scale_fn_custom")
        plain = fn is None or type(fn).__name__ == "function"
        state["_scale_fn_custom"] = None if plain else dict(fn.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the schedule goes on where `state_dict` was taken."""
        saved = dict(state_dict)
        attributes = saved.pop("_scale_fn_custom")
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self.__dict__.update(saved)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls along a half cosine and starts anew at its height (SGDR, Loshchilov and Hutter, 2016).

    Args:
        optimizer: Whose rates are set.
        T_0: How many steps the first fall takes.
        T_mult: By how many times each fall is longer than the one before.
        eta_min: The least rate.
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> optimizer.step(); schedule.step(); round(schedule.get_last_lr()[0], 6)
        0.5
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Nothing; the groups have the next rates.

        Args:
            epoch: The place in the schedule, which may lie between two steps.
        """
        self._step_count += 1
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._last_lr = set_rates(self.optimizer, self.get_lr())
        finally:
            self._get_lr_called_within_step = False

    def _jump(self, epoch: float) -> None:
        """Nothing; the fall that `epoch` lies in, and the place there, are the present ones."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            falls = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**falls - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**falls
