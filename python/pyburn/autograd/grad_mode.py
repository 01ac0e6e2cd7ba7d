"""Switches for recording: contexts that are decorators too, for the current thread only."""

from __future__ import annotations

import functools
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar, cast

from pyburn import _core
from pyburn._core import is_grad_enabled, is_inference_mode_enabled

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])


def _wrap_generator(make: Callable[[], _Mode], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        body = function(*args, **kwargs)

        def resume(step: Callable[..., Any], *values: Any) -> Any:
            # Only the body runs in the mode; the caller keeps its own between two values.
            with make():
                return step(*values)

        try:
            item = resume(body.send, None)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    resume(body.close)
                    raise
                except BaseException as error:
                    item = resume(body.throw, error)
                else:
                    item = resume(body.send, sent)
        except StopIteration as end:
            return end.value

    return wrapper


class _Mode(ABC):
    """A context manager that can also decorate a function, a generator function or a method."""

    @abstractmethod
    def __enter__(self) -> None: ...

    @abstractmethod
    def __exit__(self, *_error: object) -> None: ...

    def clone(self) -> Self:
        """A fresh context of the same kind."""
        return self.__class__()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                f"{type(self).__name__} on a class applies to its construction only; decorate __init__ instead, "
                "as this will stop working.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return cast(F, _wrap_generator(self.clone, function))

        @functools.wraps(function, updated=() if inspect.isclass(function) else ("__dict__",))
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast(F, wrapper)


class _FixedMode(_Mode):
    """A mode without arguments: ``@no_grad`` means the same as ``@no_grad()``."""

    _enabled: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A context, or the decorated function if one is given."""
        return super().__new__(cls) if function is None else cls()(function)

    def __init__(self) -> None:
        # A stack, so that one object can be entered inside itself.
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(_core.is_grad_enabled())
        _core._set_grad_enabled(self._enabled)

    def __exit__(self, *_error: object) -> None:
        _core._set_grad_enabled(self._previous.pop())


class no_grad(_FixedMode):
    """A context, or decorator, in which nothing is recorded: results never require grad.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2, requires_grad=True)
        >>> with no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
        >>> @no_grad()
        ... def doubled(x):
        ...     return x * 2
        >>> doubled(x).requires_grad
        False
    """

    _enabled = False


class enable_grad(_FixedMode):
    """A context, or decorator, in which operations are recorded, inside `no_grad` too.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2, requires_grad=True)
        >>> with no_grad(), enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    _enabled = True


class set_grad_enabled(_Mode):
    """Recording on or off from now on; as a context or decorator, until its end.

    Args:
        mode: Whether to record.

    Example:
        >>> with set_grad_enabled(False):
        ...     is_grad_enabled()
        False
        >>> is_grad_enabled()
        True
    """

    def __init__(self, mode: bool) -> None:
        self._previous = _core.is_grad_enabled()
        self.mode = mode
        _core._set_grad_enabled(mode)

    def __call__(self, function: F) -> F:
        """The function, run in this mode."""
        # Making the decorator has already switched the mode for everyone.
        _core._set_grad_enabled(self._previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        _core._set_grad_enabled(self.mode)

    def __exit__(self, *_error: object) -> None:
        _core._set_grad_enabled(self._previous)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}(mode={self.mode})"

    def clone(self) -> Self:
        """A fresh context with the same mode."""
        return self.__class__(self.mode)


class inference_mode(_Mode):
    """A context, or decorator, for pure inference: no recording, no version counting.

    Args:
        mode: Whether to switch it on; ``False`` inside of it records again. A function in this
            place is decorated.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2, requires_grad=True)
        >>> with inference_mode():
        ...     y = x * 2
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        """A context, or the decorated function if one is given."""
        return cls()(mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._previous.append((_core.is_grad_enabled(), _core.is_inference_mode_enabled()))
        _core._set_inference_mode(self.mode)
        _core._set_grad_enabled(not self.mode)

    def __exit__(self, *_error: object) -> None:
        grad, inference = self._previous.pop()
        _core._set_inference_mode(inference)
        _core._set_grad_enabled(grad)

    def clone(self) -> Self:
        """A fresh context with the same mode."""
        return self.__class__(self.mode)
