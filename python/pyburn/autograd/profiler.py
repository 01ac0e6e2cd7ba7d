"""torch.autograd.profiler: times of blocks; the operations inside them are not listed one by one."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from pyburn import _core

__all__ = ["emit_itt", "emit_nvtx", "profile", "record_function"]

# The profile that is running, which blocks of `record_function` report to.
_running: list[profile] = []


class FunctionEvent:
    """One block that was measured, in microseconds from the beginning."""

    def __init__(self, name: str, start: float, end: float) -> None:
        self.name = self.key = name
        self.start, self.end = start, end
        self.count = 1

    @property
    def cpu_time_total(self) -> float:
        """The microseconds that it took."""
        return (self.end - self.start) * 1e6

    @property
    def cpu_time(self) -> float:
        """The microseconds that it took."""
        return self.cpu_time_total


class EventList(list[FunctionEvent]):
    """The blocks of a profile."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **kwargs: Any) -> str:
        """A text with a line for each name: how often, and how long in all."""
        totals: dict[str, tuple[int, float]] = {}
        for event in self:
            count, total = totals.get(event.name, (0, 0.0))
            totals[event.name] = (count + 1, total + event.cpu_time_total)
        ordered = sorted(totals.items(), key=lambda item: -item[1][1])
        lines = [f"{'Name':<40}{'Calls':>8}{'CPU total us':>16}"]
        lines += [f"{name[:38]:<40}{count:>8}{total:>16.1f}" for name, (count, total) in ordered[:row_limit]]
        return "\n".join(lines) + "\n"

    def total_average(self) -> FunctionEvent:
        """One event as long as all of them together."""
        return FunctionEvent("Total", 0.0, sum(event.end - event.start for event in self))


class profile:
    """A block whose time, and the times of `record_function` blocks inside it, are measured.

    Differs from torch:
        Single operations are not recorded; wrap what is to be seen in `record_function`.

    Example:
        >>> from pyburn.autograd.profiler import profile, record_function
        >>> with profile() as measured:
        ...     with record_function("work"):
        ...         pass
        >>> [event.name for event in measured.function_events]
        ['work', 'profile']
    """

    def __init__(self, enabled: bool = True, **kwargs: Any) -> None:
        self.enabled = enabled
        self.function_events = EventList()
        self._start = 0.0

    def __enter__(self) -> profile:
        if self.enabled:
            _core.synchronize()
            self._start = time.perf_counter()
            _running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            _core.synchronize()
            _running.remove(self)
            self._add("profile", self._start, time.perf_counter())

    def _add(self, name: str, start: float, end: float) -> None:
        self.function_events.append(FunctionEvent(name, start, end))

    def events(self) -> EventList:
        """The blocks that were measured."""
        return self.function_events

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """The blocks that were measured; `table` adds up those of one name."""
        return self.function_events

    def table(self, *args: Any, **kwargs: Any) -> str:
        """A text with a line for each name."""
        return self.function_events.table(*args, **kwargs)

    def total_average(self) -> FunctionEvent:
        """One event as long as all of them together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The microseconds of the whole block."""
        return self.function_events[-1].cpu_time_total if self.function_events else 0.0

    def export_chrome_trace(self, path: str) -> None:
        """Nothing; the file can be opened in Chrome's tracing page."""
        events = [
            {"name": e.name, "ph": "X", "ts": e.start * 1e6, "dur": e.cpu_time_total, "pid": os.getpid(), "tid": 0}
            for e in self.function_events
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)


class record_function:
    """A named block, or a decorator, that a running profile measures.

    Example:
        >>> with record_function("forward"):
        ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._start = 0.0

    def __enter__(self) -> record_function:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        for running in _running:
            running._add(self.name, self._start, time.perf_counter())

    def __call__(self, func: Any) -> Any:
        """The function, which runs in such a block."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return func(*args, **kwargs)

        return wrapper


class emit_nvtx:
    """A block whose operations NVIDIA's profiler would see; there is no CUDA, so it does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *_: object) -> None:
        return None


emit_itt = emit_nvtx
