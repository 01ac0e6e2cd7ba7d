"""torch.overrides: which arguments take over a call through `__torch_function__`, and which calls can be.

A subclass of Tensor is asked from its definition on. A class of another kind is asked once this module is imported, or
under ``pyburn.compat.alias_torch()`` from its own definition on.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

from pyburn import _core
from pyburn._core import Tensor
from pyburn._overriding import IGNORED, NAMESPACES, arm, modes, overridable, take_over
from pyburn._subclass import methods, watch_methods

__all__ = [
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments takes over a call, or a mode wants to see it.

    Example:
        >>> has_torch_function((1, 2))
        False
    """
    return _core._overloaded(tuple(relevant_args), None) is not None


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Whether this argument takes over a call."""
    return _core._overloaded((relevant_arg,), None) is not None


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether one of the arguments takes over a call."""
    return _core._overloaded(args, None) is not None


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first of the relevant arguments that does not decline makes of the call.

    Raises:
        TypeError: If all of them decline.
    """
    return take_over(public_api, _core._overloaded(tuple(relevant_args), None) or [], args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Function], Function]:
    """A decorator for functions whose calls may be taken over.

    Args:
        dispatcher: Takes the function's arguments and returns those that are asked.

    Example:
        >>> @wrap_torch_function(lambda x: (x,))
        ... def twice(x):
        ...     return x * 2
        >>> twice(4)
        8
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            overloaded = _core._overloaded(tuple(dispatcher(*args, **kwargs)), None)
            return function(*args, **kwargs) if overloaded is None else take_over(wrapped, overloaded, args, kwargs)

        made: Any = wrapped
        return made  # type: ignore[no-any-return]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor or says that it takes over torch's calls.

    Example:
        >>> is_tensor_like(3)
        False
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is one of Tensor's.

    Example:
        >>> is_tensor_method_or_property(Tensor.add)
        True
    """
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(Tensor, name, None) is func


@functools.cache
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {getattr(Tensor, name): f"Tensor.{name}" for name in methods()}
    for namespace in reversed(NAMESPACES):
        for name, function in overridable(importlib.import_module(namespace)):
            names[function] = f"{namespace}.{name}".removeprefix("pyburn.")
    return names


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which a function that can be taken over is called; None for others.

    Example:
        >>> import pyburn
        >>> resolve_name(pyburn.nn.functional.linear)
        'pyburn.nn.functional.linear'
    """
    found = _names().get(f)
    return None if found is None else f"{_core._library()}.{found}"


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that arguments can take over, by the namespace they stand in."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        # Under the alias the root is known as torch.
        known = sys.modules[_core._library()] if namespace == "pyburn" else module
        found[known] = [function for _, function in overridable(module)]
    found[Tensor] = [getattr(Tensor, name) for name in methods()]
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that no argument can take over."""
    pyburn = importlib.import_module("pyburn")
    found = (getattr(pyburn, name, None) for name in IGNORED)
    return {function for function in found if callable(function)}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results `Tensor.__torch_function__` leaves as they are: none, since attributes pass it by."""
    return set()


class TorchFunctionMode:
    """A context in which every call of a function or a method passes through `__torch_function__` of this object.

    Example:
        >>> import pyburn
        >>> class Log(TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Log():
        ...     x = pyburn.abs(pyburn.tensor(-1.0))
        abs

    Differs from torch:
        Functions that make tensors of something else (``zeros``, ``tensor``) and attributes are not seen.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """What the mode makes of a call."""
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        arm()
        _names()
        watch_methods()
        active = modes()
        active.append(self)
        _core._set_function_modes(len(active))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        active = modes()
        active.pop()
        _core._set_function_modes(len(active))


arm()
