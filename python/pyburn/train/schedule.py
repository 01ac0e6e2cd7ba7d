"""When a learning-rate schedule moves on: after each step or each epoch, with the metric that it watches."""

from __future__ import annotations

from typing import Any

from pyburn.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR, ReduceLROnPlateau

__all__ = ["Schedule"]


class Schedule:
    """A schedule and its pace.

    Args:
        scheduler: The schedule, or None for a constant rate.
        every: "step" or "epoch"; without it, schedules that count steps in torch's own examples (OneCycleLR, CyclicLR)
            move after each step, all others after each epoch.
        monitor: The entry of an epoch's line that ReduceLROnPlateau watches.
    """

    def __init__(self, scheduler: LRScheduler | None, every: str | None = None, monitor: str = "valid_loss") -> None:
        if every not in (None, "step", "epoch"):
            raise ValueError(f"Learner: schedule_every is {every!r}, but must be 'step' or 'epoch'")
        self.scheduler, self.monitor = scheduler, monitor
        self.every = every or ("step" if isinstance(scheduler, (OneCycleLR, CyclicLR)) else "epoch")

    def after_step(self) -> None:
        """Nothing; a schedule of steps has moved on."""
        if self.scheduler is not None and self.every == "step":
            self.scheduler.step()

    def after_epoch(self, line: dict[str, Any]) -> None:
        """Nothing; a schedule of epochs has moved on."""
        if self.scheduler is None or self.every == "step":
            return
        if isinstance(self.scheduler, ReduceLROnPlateau):
            watched = line.get(self.monitor, line.get("train_loss"))
            self.scheduler.step(watched)
        else:
            self.scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of the schedule."""
        return {} if self.scheduler is None else self.scheduler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        if self.scheduler is not None and state:
            self.scheduler.load_state_dict(state)
