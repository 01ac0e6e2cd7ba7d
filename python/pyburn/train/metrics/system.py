"""Metrics of the run itself: learning rate, speed, and what it takes of the machine."""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Literal

from pyburn._core import Tensor
from pyburn.train.metrics.base import Accumulated, Batch, State, divide, samples_of

__all__ = ["CPUMemory", "CPUTemperature", "CPUUse", "IterationSpeed", "LearningRate"]

_GIB = 1 << 30


class LearningRate(Accumulated):
    """The learning rate of the last batch.

    Example:
        >>> rate = LearningRate()
        >>> for value in (0.1, 0.01):
        ...     rate.observe(Batch(None, None, None, None, size=1, learning_rate=value))
        >>> rate.compute()
        0.01
    """

    name = "learning_rate"

    def observe(self, batch: Batch) -> None:
        """Notes the learning rate of a batch."""
        self._add({"last": batch.learning_rate})

    def update(self, output: Any, target: Any) -> None:
        """Raises: only a batch of the Learner knows its learning rate."""
        raise TypeError(f"{self.name}: outputs and targets say nothing about it; call observe(batch).")

    def __call__(self, output: Any, target: Any) -> float | Tensor:
        """Raises, as `update` does."""
        self.update(output, target)
        return math.nan

    def _merge(self, old: State, new: State) -> State:
        return new

    def _value(self, state: State) -> float | Tensor:
        return float(state["last"])


class IterationSpeed(Accumulated):
    """How many batches, or samples, were computed per second of the time that the batches took.

    Args:
        unit: "batches" or "samples".

    Example:
        >>> speed = IterationSpeed()
        >>> for seconds in (0.1, 0.3):
        ...     speed.observe(Batch(None, None, None, None, size=32, seconds=seconds))
        >>> round(speed.compute(), 3)
        5.0
    """

    higher_is_better = True

    def __init__(self, unit: Literal["batches", "samples"] = "batches", name: str | None = None) -> None:
        if unit not in ("batches", "samples"):
            raise ValueError(f"iteration_speed: unit is {unit!r}; expected 'batches' or 'samples'.")
        self.unit = unit
        self.name = name or ("iteration_speed" if unit == "batches" else "samples_per_second")
        self._last = time.perf_counter()
        super().__init__()

    def reset(self) -> None:
        """Forgets every batch, and starts the clock that `update` reads."""
        super().reset()
        self._last = time.perf_counter()

    def observe(self, batch: Batch) -> None:
        """Takes the seconds of a batch into account."""
        self._add({"seconds": batch.seconds, "batches": 1, "samples": batch.size})

    def _statistics(self, output: Any, target: Any) -> State:
        last, self._last = self._last, time.perf_counter()
        return {"seconds": self._last - last, "batches": 1, "samples": samples_of(target, output)}

    def _value(self, state: State) -> float | Tensor:
        return divide(state[self.unit], state["seconds"])


class _Probe(Accumulated):
    """The mean of what is measured at each batch."""

    def _measure(self) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define _measure().")

    def _statistics(self, output: Any, target: Any) -> State:
        value = self._measure()
        return {"total": 0.0, "count": 0} if math.isnan(value) else {"total": value, "count": 1}

    def _value(self, state: State) -> float | Tensor:
        return divide(state["total"], state["count"])


class CPUUse(_Probe):
    """The use of the processor in percent between batches: of all cores of the machine, or by this process.

    Args:
        scope: "machine", from 0 to 100 (on Linux, else nan), or "process", where one busy core is 100.

    Example:
        >>> use = CPUUse("process")
        >>> use.update(None, None)
        >>> use.compute() >= 0
        True
    """

    def __init__(self, scope: Literal["machine", "process"] = "machine", name: str | None = None) -> None:
        if scope not in ("machine", "process"):
            raise ValueError(f"cpu_use: scope is {scope!r}; expected 'machine' or 'process'.")
        self.scope = scope
        self.name = name or ("cpu_use" if scope == "machine" else "process_cpu_use")
        super().__init__()

    def reset(self) -> None:
        """Forgets every batch, and starts the interval that the next one ends."""
        super().reset()
        self._before = self._times()

    def _statistics(self, output: Any, target: Any) -> State:
        (busy, total), self._before = self._before, self._times()
        # Summed as times, so that a long batch counts as long as it was.
        return {"total": 100 * (self._before[0] - busy), "count": self._before[1] - total}

    def _times(self) -> tuple[float, float]:
        """Busy and total seconds so far."""
        if self.scope == "process":
            return time.process_time(), time.perf_counter()
        return _machine_times(_text("/proc/stat"))


def _machine_times(stat: str) -> tuple[float, float]:
    """Busy and total ticks from the text of /proc/stat: idle and waiting for disks are not busy; (0, 0) without it."""
    numbers = [float(word) for word in stat.partition("\n")[0].split()[1:9]]  # guests count as user already
    return (sum(numbers) - sum(numbers[3:5]), sum(numbers)) if numbers else (0.0, 0.0)


class CPUMemory(_Probe):
    """The memory in use in GiB, the mean over the batches: of the machine, or of this process.

    Args:
        scope: "machine" (on Linux, else nan) or "process" (its resident memory; elsewhere than on Linux its peak).

    Example:
        >>> memory = CPUMemory("process")
        >>> memory.update(None, None)
        >>> memory.compute() > 0.001
        True
    """

    higher_is_better = False

    def __init__(self, scope: Literal["machine", "process"] = "machine", name: str | None = None) -> None:
        if scope not in ("machine", "process"):
            raise ValueError(f"cpu_memory: scope is {scope!r}; expected 'machine' or 'process'.")
        self.scope = scope
        self.name = name or ("cpu_memory" if scope == "machine" else "process_memory")
        super().__init__()

    def _measure(self) -> float:
        return _process_memory() / _GIB if self.scope == "process" else _machine_memory(_text("/proc/meminfo")) / _GIB


def _process_memory() -> float:
    words = _text("/proc/self/statm").split()
    if len(words) > 1:
        return float(words[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource  # which Windows does not have

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) * (1 if sys.platform == "darwin" else 1024)


def _machine_memory(meminfo: str) -> float:
    """The bytes that are not available, from the text of /proc/meminfo; nan without it."""
    lines = dict(line.partition(":")[::2] for line in meminfo.splitlines())
    if "MemTotal" not in lines or "MemAvailable" not in lines:
        return math.nan
    total, free = (float(lines[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    return total - free


class CPUTemperature(_Probe):
    """The temperature of the hottest sensor in degrees Celsius, the mean over the batches; nan where there is none.

    Example:
        >>> temperature = CPUTemperature()
        >>> temperature.update(None, None)
        >>> isinstance(temperature.compute(), float)
        True
    """

    name = "cpu_temperature"
    higher_is_better = False

    def __init__(self, sensors: str = "/sys/class/thermal", name: str | None = None) -> None:
        self.sensors = sensors
        self.name = name or self.name
        super().__init__()

    def _measure(self) -> float:
        texts = [_text(str(path)).strip() for path in sorted(Path(self.sensors).glob("thermal_zone*/temp"))]
        return max((float(text) / 1000 for text in texts if text.lstrip("-").isdigit()), default=math.nan)


def _text(path: str) -> str:
    """The text of a file of the kernel; empty where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
