"""Calls of functions that an argument takes over through `__torch_function__`, as torch hands them over.

Functions know nothing of this, and plain tensors pay nothing for it: only when a class that takes calls over comes into
sight (`arm`), each public function gets new code that looks at its arguments first.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

from pyburn import _core

# Where the functions stand that torch lets arguments take over.
NAMESPACES = ("pyburn", "pyburn.nn.functional", "pyburn.linalg", "pyburn.fft", "pyburn.special")

# They make tensors of something else, or ask what an object is.
_IGNORED = (
    "arange as_tensor asarray bartlett_window blackman_window compile device devices empty empty_strided eye "
    "from_dlpack from_file from_numpy frombuffer full get_default_device get_rng_state hamming_window hann_window "
    "initial_seed is_storage is_tensor kaiser_window linspace load logspace manual_seed ones rand randint randn "
    "randperm range save scalar_tensor seed set_flush_denormal set_rng_state sparse_coo_tensor tensor tril_indices "
    "triu_indices typename vmap zeros"
)
IGNORED = frozenset(_IGNORED.split())

_armed: dict[FunctionType, FunctionType] = {}
_lock = threading.RLock()
_state = threading.local()


class DisableTorchFunctionSubclass:
    """A context in which subclasses of Tensor compute as plain tensors."""

    _level = 1

    def __enter__(self) -> None:
        self._before = _core._set_function_disabled(max(self._level, _core._get_function_disabled()))

    def __exit__(self, *_error: object) -> None:
        _core._set_function_disabled(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which nothing takes a call over."""

    _level = 2


def modes() -> list[Any]:
    """The `TorchFunctionMode`s that are active on this thread, the innermost last."""
    found: list[Any] | None = getattr(_state, "modes", None)
    if found is None:
        found = _state.modes = []
    return found


def ask(function: Callable[..., Any], overloaded: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, or else the first argument that does not decline, makes of a call; or NotImplemented."""
    types = tuple(map(type, overloaded))
    active = modes()
    if active:
        mode = active.pop()
        _core._set_function_modes(len(active))
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            active.append(mode)
            _core._set_function_modes(len(active))
        if result is not NotImplemented:
            return result
    for argument in overloaded:
        result = argument.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def take_over(
    function: Callable[..., Any], overloaded: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `ask`; a TypeError where all decline."""
    result = ask(function, overloaded, args, kwargs)
    if result is NotImplemented:
        kinds = [type(argument).__name__ for argument in overloaded]
        name = getattr(function, "__qualname__", function)
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {kinds}")
    return result


def _code(*args: Any, **kwargs: Any) -> Any:
    # The name is a constant of the code, in whose place each function gets what handles its calls.
    handle: Any = "handle"
    return handle(args, kwargs)


def copied(function: FunctionType) -> FunctionType:
    """A function that does the same, and goes on to do so when the other gets new code."""
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__dict__.update(function.__dict__)
    original.__annotations__ = function.__annotations__
    original.__doc__, original.__module__ = function.__doc__, function.__module__
    original.__qualname__ = function.__qualname__
    return original


def plain(function: FunctionType) -> FunctionType:
    """What computes when nobody takes a call of the function over."""
    return _armed.get(function, function)


def twin(function: Any, module: str) -> Any:
    """A function that does the same under another module's name: who takes calls over can tell them apart."""
    made = copied(plain(function))
    made.__module__ = module
    return made


def _arm_one(function: FunctionType) -> None:
    original = copied(function)

    def handle(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        overloaded = _core._overloaded(args, kwargs)
        if overloaded is None:
            return original(*args, **kwargs)
        return take_over(function, overloaded, args, kwargs)

    old, template = function.__code__, _code.__code__
    function.__code__ = template.replace(
        co_consts=tuple(handle if value == "handle" else value for value in template.co_consts),
        co_freevars=old.co_freevars,
        co_name=old.co_name,
        co_qualname=old.co_qualname,
        co_filename=old.co_filename,
        co_firstlineno=old.co_firstlineno,
    )
    function.__defaults__ = function.__kwdefaults__ = None
    function.__dict__["__wrapped__"] = original
    _armed[function] = original


def overridable(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """The functions of a namespace that arguments can take over, by name."""
    for name, value in list(vars(module).items()):
        public = not name.startswith("_") and name not in IGNORED
        if public and isinstance(value, FunctionType) and value.__module__.startswith("pyburn"):
            yield name, value


_kept = False  # whether someone counts on it for good


def arm(keep: bool = True) -> None:
    """From now on functions let their arguments take calls over; with `keep=False` until `disarm`."""
    global _kept
    with _lock:
        if not hasattr(sys.modules["pyburn"], "__version__"):
            return
        _kept = _kept or keep
        if _armed:
            return
        for namespace in NAMESPACES:
            for _, function in overridable(importlib.import_module(namespace)):
                if function not in _armed:
                    _arm_one(function)


def disarm() -> None:
    """Functions have their own code again, unless someone counts on the other."""
    with _lock:
        if _kept:
            return
        for function, original in _armed.items():
            function.__code__ = original.__code__
            function.__defaults__, function.__kwdefaults__ = original.__defaults__, original.__kwdefaults__
            function.__dict__.pop("__wrapped__", None)
            function.__dict__.update(original.__dict__)
        _armed.clear()
