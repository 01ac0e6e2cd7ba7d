"""Streams and events without CUDA: work is done when a call returns, so that waiting is over at once."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from pyburn import _core

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "stream"]


class Stream:
    """A row of work; everything is in one row here."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.priority = priority
        self.cuda_stream = 0

    def wait_event(self, event: Event) -> None:
        """Nothing; work is done in the order of the calls."""

    def wait_stream(self, stream: Stream) -> None:
        """Nothing; work is done in the order of the calls."""

    def record_event(self, event: Event | None = None) -> Event:
        """The event, set now."""
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Nothing; returns when the default device has done its work."""
        _core.synchronize()


class Event:
    """A moment; two of them with `enable_timing` measure what lies between."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._timed = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Nothing; this event is now, after the work so far."""
        _core.synchronize()
        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to another.

        Raises:
            RuntimeError: One of them was not recorded, or was made without `enable_timing`.
        """
        if not self._timed or not end_event._timed:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1000.0

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing; work is done in the order of the calls."""

    def synchronize(self) -> None:
        """Nothing; returns when the default device has done its work."""
        _core.synchronize()


class StreamContext:
    """A block whose work would be put into a stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """A block whose work would be put into `stream`; it runs as everywhere else."""
    return StreamContext(stream)


_DEFAULT = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream there is.

    Example:
        >>> current_stream().query()
        True
    """
    return _DEFAULT


def default_stream(device: Any = None) -> Stream:
    """The one stream there is."""
    return _DEFAULT
