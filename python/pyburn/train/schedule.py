"""When a learning-rate schedule moves on: after each step or each epoch, with the metric that it watches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyburn.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR, ReduceLROnPlateau

__all__ = ["Pace", "Schedule", "watched_in"]


Pace = str | tuple[str, int]


class Schedule:
    """A schedule and its pace.

    Args:
        scheduler: The schedule, or None for a constant rate.
        every: "step" or "epoch", or a pair such as ("epoch", 2) for every second one; without it, schedules that count
            steps in torch's own examples (OneCycleLR, CyclicLR) move after each step, all others after each epoch.
        monitor: The entry of an epoch's line that ReduceLROnPlateau watches.
    """

    def __init__(self, scheduler: LRScheduler | None, every: Pace | None = None, monitor: str = "valid_loss") -> None:
        usual = "step" if isinstance(scheduler, (OneCycleLR, CyclicLR)) else "epoch"
        self.every, self.count = every if isinstance(every, tuple) else (every or usual, 1)
        if self.every not in ("step", "epoch") or self.count < 1:
            raise ValueError(f"Learner: schedule_every is {every!r}, but must be 'step' or 'epoch', or ('epoch', 2)")
        if isinstance(scheduler, ReduceLROnPlateau) and self.every == "step":
            raise ValueError("Learner: ReduceLROnPlateau watches a number of whole epochs; let it move every 'epoch'")
        self.scheduler, self.monitor = scheduler, monitor
        self._passed = 0  # steps or epochs since the start

    def after_step(self) -> None:
        """Nothing; a schedule of steps has moved on."""
        if self.scheduler is not None and self.every == "step" and self._is_due():
            self.scheduler.step()

    def after_epoch(self, line: dict[str, Any]) -> None:
        """Nothing; a schedule of epochs has moved on."""
        if self.scheduler is None or self.every == "step" or not self._is_due():
            return
        if not isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step()
            return
        watched = watched_in(line, self.monitor)
        if watched is None:
            names = ", ".join(name for name in line if name not in ("epoch", "step", "seconds"))
            raise ValueError(
                f"Learner: ReduceLROnPlateau watches {self.monitor!r}, but an epoch has {names}; give Learner "
                "monitor=... one of these"
            )
        self.scheduler.step(watched)

    def _is_due(self) -> bool:
        self._passed += 1
        return self._passed % self.count == 0

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of the schedule."""
        return {} if self.scheduler is None else {"scheduler": self.scheduler.state_dict(), "passed": self._passed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        if self.scheduler is not None and state:
            self.scheduler.load_state_dict(state["scheduler"])
            self._passed = state["passed"]


def watched_in(line: Mapping[str, Any], monitor: str) -> Any:
    """The number of an epoch's line that is meant by `monitor`; None where it has none.

    "val_..." and "valid_..." mean each other where only one is there, and a run without validation is judged by its
    training.

    Example:
        >>> line = {"epoch": 1, "train_loss": 0.5, "valid_loss": 0.6}
        >>> watched_in(line, "valid_loss"), watched_in(line, "val_loss"), watched_in(line, "valid_f1")
        (0.6, 0.6, None)
        >>> watched_in({"train_loss": 0.5}, "valid_loss")
        0.5
    """
    split, _, name = monitor.partition("_")
    if monitor in line or split not in ("val", "valid"):
        return line.get(monitor)
    if any(key.startswith(("val_", "valid_")) for key in line):
        return line.get(f"valid_{name}", line.get(f"val_{name}"))
    return line.get(f"train_{name}")
