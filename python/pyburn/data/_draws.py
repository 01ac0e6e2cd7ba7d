"""What datasets draw from Python's `random` and from `numpy.random` in the threads that read them.

Both generators belong to the whole process, so threads that draw at once would get numbers that depend on which was
first. Torch's workers are processes with generators of their own. Here the first batch of each worker shows whether the
dataset draws: if it does, workers take turns, each with the state that torch's worker would have, and the program's own
state is as if nobody had drawn. A dataset that draws nothing is read by all workers at once.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

from pyburn.ops import get_rng_state, set_rng_state

__all__ = ["Draws", "Stream"]

_ALONE = threading.Condition()  # held by whoever has the generators to himself
_watched = 0  # how many read without it, for now


def _state() -> tuple[Any, Any]:
    """The state of both generators of the process; numpy's only where somebody has imported it."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return random.getstate(), None
    kind, keys, *rest = numpy.random.get_state(legacy=True)
    return random.getstate(), (kind, keys.tobytes(), *rest)


def _restore(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    if state[1] is not None:
        numpy = sys.modules["numpy"]
        kind, keys, *rest = state[1]
        numpy.random.set_state((kind, numpy.frombuffer(keys, dtype="uint32"), *rest))


def _seeded(base: int, worker: int) -> None:
    """Nothing; the generators are as those of a worker of torch when it begins."""
    random.seed(base + worker)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = [worker, base & 0xFFFFFFFF, base >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))


class Draws:
    """What is known of a loader's dataset: `used` is whether it draws, None before all workers' first batches."""

    def __init__(self, used: bool | None = None) -> None:
        self.used = used
        self.waiting = 0
        self.before: tuple[Any, Any] | None = None

    def begin(self, workers: int) -> None:
        """Nothing; an epoch begins, and nobody has drawn for it yet."""
        self.waiting = workers
        self.before = _state() if self.used is None else None

    def delivered(self) -> None:
        """Nothing; the program has a batch, and may draw numbers of its own from now on."""
        self.before = None


class Stream:
    """The numbers of one worker.

    Args:
        known: What all workers of the loader know of its dataset.
        base: The seed of the epoch's workers.
        worker: The number of this one.
    """

    def __init__(self, known: Draws, base: int, worker: int) -> None:
        self.known, self.base, self.worker = known, base, worker
        self.first = known.before
        self.state: tuple[Any, Any] | None = None

    def fetch(self, function: Callable[[Any], Any], task: Any) -> Any:
        """What `function(task)` gives, with the numbers of this worker."""
        if not self._watches():
            return self.alone(function, task) if self.known.used else function(task)
        own = get_rng_state()  # of this thread's generator of tensors
        try:
            found = _reading(function, task)
        except BaseException:
            if not self._drawn():
                raise
        else:
            if not self._drawn():
                return found
        set_rng_state(own)
        return self.alone(function, task)

    def begun(self, function: Callable[[int], Any]) -> Callable[[int], Any]:
        """A worker_init_fn that seeds the generators of its own worker."""

        def begin(worker: int) -> None:
            seeds = self.alone(lambda number: (_state(), function(number), _state()), worker)
            if seeds[0] != seeds[2]:
                self.known.used = True

        return begin

    def _watches(self) -> bool:
        """Whether this batch may show that the dataset draws; if so, it is counted as being read."""
        global _watched
        if self.known.used is not None or self.first is None:
            return False
        with _ALONE:
            # Asked again: whoever was alone until now may have found out, and the program may have that batch.
            first = self.known.used is None
            _watched += first
            return first

    def _drawn(self) -> bool:
        """Whether the first batch changed the generators."""
        with _ALONE:
            if self.known.used is None and _state() != self.first:
                self.known.used = True
            self.first = None
            self.known.waiting -= 1
            if self.known.used is None and not self.known.waiting:
                self.known.used = False
            return self.known.used is True

    def alone(self, function: Callable[[Any], Any], task: Any) -> Any:
        """What `function(task)` gives while nobody else draws; the program's own state stays as it was."""
        with _ALONE:
            _ALONE.wait_for(lambda: not _watched)
            outside = self.known.before or _state()
            if self.state is None:
                _seeded(self.base, self.worker)
            else:
                _restore(self.state)
            try:
                return function(task)
            finally:
                self.state = _state()
                _restore(outside)


def _reading(function: Callable[[Any], Any], task: Any) -> Any:
    """What `function(task)` gives; after that it counts no longer as being read."""
    global _watched
    try:
        return function(task)
    finally:
        with _ALONE:
            _watched -= 1
            _ALONE.notify_all()
