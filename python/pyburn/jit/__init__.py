"""torch.jit: `script` and its marks leave code as it is, since Python runs it; `trace` likewise; script files raise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from pyburn.autograd import no_grad
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


def trace(
    func: Any = None,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """The module or function itself, once it has run with the examples: Python runs it, its branches included.

    Example:
        >>> import pyburn
        >>> trace(lambda x: x * 2, pyburn.ones(1))(pyburn.ones(2))
        tensor([2., 2.])
    """
    if func is None:
        return lambda given: trace(given, example_inputs, example_kwarg_inputs=example_kwarg_inputs)
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("jit.trace: example_inputs or example_kwarg_inputs must be given; give one tuple of inputs")
    positional = () if example_inputs is None else example_inputs
    if type(positional) not in (tuple, list):
        positional = (positional,)
    with no_grad():
        func(*positional, **(example_kwarg_inputs or {}))
    return script(func)


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """The module itself, once the named methods have run with their examples.

    Example:
        >>> import pyburn
        >>> trace_module(pyburn.nn.Identity(), {"forward": pyburn.ones(1)})
        Identity()
    """
    for name, given in inputs.items():
        trace(getattr(mod, name), given)
    return script(mod)


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
