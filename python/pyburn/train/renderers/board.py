"""What a dashboard knows of a run, and what its keys may do to it: the run writes, the screen reads, in two threads."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["Board"]

POINTS = 4000


class Board(Callback):
    """The state of a run for a dashboard.

    Example:
        >>> board = Board()
        >>> board.pause()
        >>> board.paused
        True
    """

    order = 80

    def __init__(self) -> None:
        self.title = ""
        self.history: list[dict[str, Any]] = []
        self.batches: list[tuple[int, float]] = []
        self.values: dict[str, dict[str, Any]] = {}
        self.epoch = self.epochs = self.first = self.done = self.step = 0
        self.total: int | None = None
        self.phase = "starting"
        self.learning_rate = 0.0
        self.messages: deque[str] = deque(maxlen=200)
        self.finished = threading.Event()
        self.waiting = threading.Event()  # set while the run stands still
        self._gate = threading.Event()
        self._gate.set()
        self._learner: Learner | None = None
        self._thread: int | None = None
        self._times: deque[tuple[float, int]] = deque(maxlen=400)
        self._began = time.monotonic()
        self._read = 0.0

    @property
    def paused(self) -> bool:
        """Whether the run stands still, or will after this batch."""
        return not self._gate.is_set()

    def pause(self) -> None:
        """Nothing; the run stands still after this batch, or goes on."""
        if self.paused:
            self._gate.set()
        else:
            self._gate.clear()

    def stop(self) -> None:
        """Nothing; the run ends after this batch with a checkpoint, as after Ctrl-C."""
        if self._learner is not None and not self._learner.interrupts.asked:
            self._learner.interrupts.asked = True
            self.messages.append("Stopping after this batch; Ctrl-C stops at once.")
        self._gate.set()

    def interrupt(self) -> None:
        """Nothing; the first time the run ends after this batch, the second time at once."""
        if self._learner is not None and self._learner.interrupts.asked and self._thread is not None:
            kind = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), kind)
        self.stop()

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the run is known."""
        self._learner, self._thread = learner, threading.get_ident()
        self.title = type(learner.model).__name__
        if learner.folder is not None:
            self.title += f" · {learner.folder.path.name}"
        self.history, self.first, self.epochs = learner.history, learner.finished, learner.last_epoch
        self._began = time.monotonic()
        if learner.config is not None:
            self.messages.extend(str(learner.config).splitlines())

    def _begin(self, learner: Learner, phase: str, data: Any) -> None:
        self.epoch, self.phase, self.done = learner.epoch, phase, 0
        self.total = text.length(data)

    def before_train(self, learner: Learner) -> None:
        """Nothing; training batches are counted."""
        self._begin(learner, "train", learner.train_data)
        self.done = learner.batches_done

    def before_validate(self, learner: Learner) -> None:
        """Nothing; validation batches are counted."""
        self._begin(learner, learner.split, learner.valid_data)

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the numbers of the batch are known. A run that should stand still does so here."""
        batch = learner.batch
        if batch is None:
            return
        now = time.monotonic()
        self.done, self.step = self.done + 1, learner.step
        self._times.append((now, batch.size))
        if learner.training and batch.value is not None:
            self.batches.append((learner.step, batch.value))
            if len(self.batches) > POINTS:
                self.batches = self.batches[::2]
        if now - self._read > 0.125:
            self._read, self.learning_rate = now, learner.learning_rate
            self.values[learner.split] = learner.values()
        if self.paused and not learner.interrupts.asked:
            self.waiting.set()
            self._gate.wait()
            self.waiting.clear()
            self._times.clear()

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the numbers of the epoch are known."""
        self.history = list(learner.history)
        for split in learner.trackers:
            self.values[split] = learner.values(split)

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the run is over."""
        self.phase = "done"
        if learner.stopped:
            self.messages.append(f"stopped in epoch {learner.epoch}: {learner.stopped}")

    def speed(self) -> tuple[float, float]:
        """Batches and samples per second of the last seconds."""
        times = [each for each in list(self._times) if each[0] > time.monotonic() - 3]
        if len(times) < 2 or times[-1][0] <= times[0][0]:
            return 0.0, 0.0
        seconds = times[-1][0] - times[0][0]
        return (len(times) - 1) / seconds, sum(size for _, size in times[1:]) / seconds

    def share(self) -> float:
        """How much of the run is done, from 0 to 1."""
        part = self.done / self.total if self.total and self.phase == "train" else float(self.phase != "starting")
        whole = max(self.epochs - self.first, 1)
        return min(1.0, max(0.0, (max(self.epoch - 1 - self.first, 0) + part) / whole))

    def times(self) -> tuple[str, str]:
        """How long the run has gone on, and how long it still will."""
        gone, share = time.monotonic() - self._began, self.share()
        return text.duration(gone), text.duration(gone / share - gone) if share > 0.01 else "?"

    def best(self, name: str) -> str:
        """The best number of `name` so far, by what its metric says is better."""
        values = [float(line[name]) for line in self.history if name in line and text.is_number(line[name])]
        metrics = [] if self._learner is None else self._learner.metrics
        higher = next((each.higher_is_better for each in metrics if name.endswith(f"_{each.name}")), None)
        return "" if not values or higher is None else text.number(max(values) if higher else min(values))
