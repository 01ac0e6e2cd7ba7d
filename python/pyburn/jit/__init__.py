"""torch.jit: `script` and its marks leave code as it is, since Python runs it; tracing and script files raise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from pyburn.nn import Module

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")


class _Scripted(type(Module)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        marked = cls is ScriptModule and getattr(instance, "__dict__", {}).get("_is_scripted", False)
        return bool(marked) or super().__instancecheck__(instance)


class ScriptModule(Module, metaclass=_Scripted):
    """A Module under the name that compiled ones have in torch: modules that `script` gave are instances of it."""


class TracerWarning(Warning):
    """What torch warns with where a trace misses what a program does; filters may name it."""


class Error(RuntimeError):
    """What torch's interpreter raises; there is none here."""


class ScriptFunction:
    """The type that compiled functions have in torch; there are none."""


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The module or function itself: it runs as the Python that it is.

    Example:
        >>> import pyburn
        >>> @script
        ... def double(x):
        ...     return x * 2
        >>> double(pyburn.ones(1))
        tensor([2.])
    """
    if Module in type(obj).__mro__:
        vars(obj)["_is_scripted"] = True
    return obj


def script_method(fn: T) -> T:
    """The method itself."""
    return fn


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


def export(fn: T) -> T:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, or a decorator that leaves it as it is."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """The function itself."""
    return fn


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def _overload(func: T) -> T:
    return func


def _overload_method(func: T) -> T:
    return func


def _script_if_tracing(fn: T) -> T:
    return fn


def is_scripting() -> bool:
    """False: nothing is compiled.

    Example:
        >>> is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value.

    Example:
        >>> annotate(list[int], [])
        []
    """
    return the_value


def Attribute(value: T, type: Any) -> T:
    """The value."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, or one of several; types of containers' elements are not looked at."""
    import builtins
    import typing

    kinds: Any = target_type if builtins.isinstance(target_type, tuple | list) else (target_type,)
    plain: Any = tuple(kind if typing.get_origin(kind) is None else typing.get_origin(kind) for kind in kinds)
    return builtins.isinstance(obj, plain)


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself; call `eval()` for what freezing means in inference."""
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def set_fusion_strategy(strategy: Any) -> list[tuple[str, int]]:
    """An empty list: there was no strategy before."""
    return []


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block that runs as everywhere else."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block that runs as everywhere else."""
    yield


class _Done:
    """The result of a call that has already been made."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> _Done:
    """The result of the call, which is made at once; `wait` gives it."""
    return _Done(func(*args, **kwargs))


def wait(future: _Done) -> Any:
    """The result of a `fork`.

    Example:
        >>> wait(fork(max, 1, 2))
        2
    """
    return future.wait()


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"jit.{name}: pyburn does not compile programs to TorchScript; {instead}")


def trace(func: Any = None, example_inputs: Any = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Nothing: raises, since a traced program would need a compiler that pyburn has not.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("trace", "call the module itself, which gives the same values.")


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Nothing: raises, as `trace`.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("trace_module", "call the module itself, which gives the same values.")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Nothing: raises.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("save", "save module.state_dict() with pyburn.save.")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Nothing: raises, since a TorchScript file is a program.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("load", "in torch, save the state_dict() of the loaded module, and pyburn.load that.")


def _get_trace_graph(f: Any, args: Any = (), kwargs: Any = None, **options: Any) -> NoReturn:
    """Nothing: tracing is not there.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("_get_trace_graph", "use hooks to see what a module computes")
