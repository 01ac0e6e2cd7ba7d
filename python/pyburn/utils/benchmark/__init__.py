"""torch.utils.benchmark: timing of statements."""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

from pyburn import _core

__all__ = ["Compare", "Measurement", "Timer", "timer"]


def timer() -> float:
    """The time in seconds after the default device has done its work."""
    _core.synchronize()
    return time.perf_counter()


class Measurement:
    """Times of runs of a statement, each the mean over `number_per_run`."""

    def __init__(self, number_per_run: int, raw_times: list[float], statement: str = "") -> None:
        self.number_per_run, self.raw_times, self.statement = number_per_run, raw_times, statement

    @property
    def times(self) -> list[float]:
        """The seconds of one execution, for each run."""
        return [total / self.number_per_run for total in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of the quartiles of the times."""
        if len(self.times) < 2:
            return 0.0
        quarters = statistics.quantiles(self.times, n=4)
        return quarters[2] - quarters[0]

    def __repr__(self) -> str:
        what, microseconds = self.statement or "stmt", self.median * 1e6
        return f"<pyburn Measurement: {what}, median {microseconds:.2f} us, {len(self.times)} runs>"


class Timer:
    """Times a statement; torch's words, Python's `timeit` underneath.

    Example:
        >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
        10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        self._statement = label or stmt
        self._threads = num_threads
        names = {"torch": sys.modules["pyburn"], **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _run(self, number: int) -> float:
        before = _core.get_num_threads()
        _core.set_num_threads(self._threads)
        try:
            return self._timer.timeit(number)
        finally:
            _core.set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of `number` executions in a row."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._statement)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """The times of blocks of executions, for at least `min_run_time` seconds."""
        number = 1
        while (took := self._run(number)) < min_run_time / 1000 and number < 10**9:
            number *= 10
        times = [took]
        while sum(times) < min_run_time:
            times.append(self._run(number))
        return Measurement(number, times, self._statement)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """As `blocked_autorange`."""
        return self.blocked_autorange(callback, min_run_time)


class Compare:
    """A table of measurements, one line for each statement.

    Example:
        >>> print(Compare([Measurement(1, [0.5], "x + 1")]))
        x + 1: 500000.00 us
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: list[Measurement]) -> None:
        """Nothing; the table has these measurements too."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Nothing; times are shown with two decimals anyway."""

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing; the table has no colours."""

    def print(self) -> None:
        """Nothing; the table is printed."""
        print(str(self))

    def __str__(self) -> str:
        return "\n".join(f"{result.statement or 'stmt'}: {result.median * 1e6:.2f} us" for result in self._results)
