"""torch.futures: a value that comes later, from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value or an error that somebody sets once, and others wait for.

    Example:
        >>> future = Future()
        >>> after = future.then(lambda done: done.value() + 1)
        >>> future.set_result(1)
        >>> after.wait()
        2
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value or the error is there."""
        return self._event.is_set()

    def wait(self) -> T:
        """The value, when it is there; raises the error that was set instead."""
        self._event.wait()
        return self.value()

    def value(self) -> T:
        """The value that is there; raises the error that was set instead."""
        if not self.done():
            raise RuntimeError("Future: the value is not there yet; wait() waits for it.")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be set once")
            self._value, self._error = value, error
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback(self)

    def set_result(self, result: T) -> None:
        """Nothing; those who wait get this value."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Nothing; those who wait get this error raised."""
        if not isinstance(result, BaseException):
            raise TypeError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Nothing; the function is called with this future when it is done."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what the function makes of this one."""
        later: Future[Any] = Future()

        def follow(done: Future[T]) -> None:
            try:
                later.set_result(callback(done))
            except Exception as error:
                later.set_exception(error)

        self.add_done_callback(follow)
        return later


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done, with the list, when all of them are."""
    together: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()

    def count(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            together.set_result(futures)

    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all of them; raises the first error."""
    return [future.wait() for future in collect_all(futures).wait()]
