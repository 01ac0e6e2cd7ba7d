"""Callbacks that most runs want: early stopping, averaged weights, TensorBoard."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.train.checkpoints import better
from pyburn.train.events import Callback
from pyburn.train.renderers.text import is_number
from pyburn.train.schedule import watched_in
from pyburn.utils.tensorboard import SummaryWriter

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["EMA", "EarlyStopping", "TensorBoard"]

POINTS, SECONDS = 100, 30  # of batches that TensorBoard's file gets together: so many, or of so long a time


class EarlyStopping(Callback):
    """Ends a run whose number has not become better for `patience` epochs.

    Args:
        monitor: A name of an epoch's line, such as "valid_loss" or "valid_accuracy".
        patience: How many epochs without a gain are borne.
        min_delta: What counts as a gain.
        mode: "max", "min", or "auto" to go by the metric's `higher_is_better`.
    """

    order = 50

    def __init__(
        self, monitor: str = "valid_loss", patience: int = 3, min_delta: float = 0.0, mode: str = "auto"
    ) -> None:
        self.monitor, self.patience, self.min_delta, self.mode = monitor, patience, min_delta, mode
        self.sign = 0
        self.best, self.best_epoch, self.waited = -math.inf, 0, 0

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the run goes on while there is hope."""
        line = learner.history[-1]
        watched = watched_in(line, self.monitor)
        if watched is None:
            names = ", ".join(name for name, value in line.items() if is_number(value))
            raise ValueError(f"EarlyStopping: an epoch has no {self.monitor!r}; it has {names}")
        self.sign = better(self.monitor, self.mode, learner.metrics)
        value = self.sign * float(watched)
        if value > self.best + self.min_delta:
            self.best, self.best_epoch, self.waited = value, learner.epoch, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            learner.stop(
                f"{self.monitor} has not become better since epoch {self.best_epoch} ({self.sign * self.best:.4g})"
            )

    def state_dict(self) -> dict[str, Any]:
        """The best so far."""
        return {"best": self.best, "best_epoch": self.best_epoch, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        self.best, self.best_epoch, self.waited = state["best"], state["best_epoch"], state["waited"]


class EMA(Callback):
    """Keeps an exponential moving average of the weights, which validates in their place.

    The model trains on, and ends, with its own weights; `apply(learner)` gives it the average.

    Args:
        decay: How much of the average stays at each step.
        warmup: Let the decay grow with the steps, (1 + step) / (10 + step): the first weights are soon forgotten.
    """

    order = -50

    def __init__(self, decay: float = 0.999, warmup: bool = True) -> None:
        if not 0.0 <= decay < 1.0:
            raise ValueError(f"EMA: decay is {decay}, but must be at least 0 and less than 1")
        self.decay, self.warmup = decay, warmup
        self.average: dict[str, Tensor] = {}
        self._trained: dict[str, Tensor] = {}

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the average begins with the weights of now, or goes on with its own."""
        weights = learner.model.state_dict()
        if not self.average:
            self.average = {name: value.detach().clone() for name, value in weights.items()}

    def after_step(self, learner: Learner) -> None:
        """Nothing; the average has moved."""
        decay = min(self.decay, (1 + learner.step) / (10 + learner.step)) if self.warmup else self.decay
        with no_grad():
            for name, value in learner.model.state_dict().items():
                if value.is_floating_point():
                    self.average[name].lerp_(value.detach(), 1.0 - decay)
                else:
                    self.average[name].copy_(value)

    def before_validate(self, learner: Learner) -> None:
        """Nothing; the model has the average."""
        self._trained = {name: value.detach().clone() for name, value in learner.model.state_dict().items()}
        self.apply(learner)

    def after_validate(self, learner: Learner) -> None:
        """Nothing; the model has its own weights again."""
        if self._trained:
            learner.model.load_state_dict(self._trained)
            self._trained = {}

    def after_fit(self, learner: Learner) -> None:
        """Nothing; an interrupted validation leaves the model its own weights."""
        self.after_validate(learner)

    def apply(self, learner: Learner) -> None:
        """Nothing; the model has the averaged weights."""
        if self.average:
            learner.model.load_state_dict(self.average)

    def state_dict(self) -> dict[str, Any]:
        """The average."""
        return {"average": self.average}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        self.average = state["average"]


class TensorBoard(Callback):
    """Writes the numbers of batches and epochs as event files that TensorBoard reads.

    Args:
        every: One in so many batches is written.
    """

    order = 85

    def __init__(self, every: int = 10) -> None:
        self.every = every
        self._writer: SummaryWriter | None = None
        self._points: list[tuple[float, int, float]] = []  # of batches, which are written together

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the file is open."""
        self._points = []
        if learner.folder is not None:
            # What a resumed run writes again takes the place of what came after the checkpoint, and a run that begins
            # anew in the folder of another that of the other.
            old = any(learner.folder.path.glob("events.out.tfevents.*"))
            first = learner.step + 1 if learner.step else 0 if old else None
            self._writer = SummaryWriter(str(learner.folder.path), purge_step=first, max_queue=POINTS)
            if learner.config is not None:
                lines = "\n".join(f"    {line}" for line in str(learner.config).splitlines())
                self._writer.add_text("config", lines, learner.step)

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the batch is written, together with some that follow."""
        batch = learner.batch
        if self._writer is None or batch is None or batch.value is None or not learner.training:
            return
        if learner.batches_done % self.every == 0:
            self._points.append((batch.value, learner.step, time.time()))
            if len(self._points) >= POINTS or self._points[-1][2] - self._points[0][2] > SECONDS:
                self._write_points(self._writer)
                self._writer.flush()

    def _write_points(self, writer: SummaryWriter) -> None:
        """Nothing; the batches so far are in the file."""
        for value, step, moment in self._points:
            writer.add_scalar("batch/loss", value, step, moment)
        self._points.clear()

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the epoch is written."""
        if self._writer is None:
            return
        self._write_points(self._writer)
        for name, value in learner.history[-1].items():
            if is_number(value) and name not in ("epoch", "step"):
                self._writer.add_scalar(name.replace("_", "/", 1), float(value), learner.step)
        self._writer.flush()

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the file is closed."""
        if self._writer is not None:
            self._write_points(self._writer)
            self._writer.close()
            self._writer = None
