"""What functions say about an argument that is not the tensor it has to be: torch's TypeError, with torch's words.

Functions ask their arguments for what tensors have, and do not look at them first. Only when one does not have it, the
AttributeError is turned into what torch would have said: what a `try` guards costs nothing.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Container, Iterable
from types import FunctionType
from typing import Any, cast

from pyburn import _core
from pyburn._core import Tensor

__all__ = ["guards", "publish", "refusal", "written"]

_VARIADIC = 0x04 | 0x08  # the flags of code that takes `*args` or `**kwargs`
_HEAP = 1 << 9  # the flag of types that are written in Python

# Functions that name such an argument already.
guards: set[FunctionType] = set()

# What torch's errors put before the name of a function, and what stands for the function.
_spaces: dict[FunctionType, str] = {}
_published: dict[FunctionType, FunctionType] = {}
_written: dict[FunctionType, FunctionType] = {}


def publish(namespace: dict[str, Any], names: Iterable[str], but: Container[str] = (), space: str = "") -> None:
    """Nothing; the functions of a namespace name the argument that is not a tensor from now on.

    The module that a function is written in gets what stands for it too: pickle looks for functions there.

    Args:
        namespace: Where the functions stand.
        names: Those that are meant.
        but: Those among them that are left alone.
        space: What torch's errors put before the names of these functions, as in ``linalg_inv()``.
    """
    for name in names:
        function = namespace[name]
        if isinstance(function, FunctionType) and name not in but and _takes_tensor(function):
            if function not in _published:
                _publish(function, space)
            namespace[name] = _published[function]


def _publish(function: FunctionType, space: str) -> None:
    made = function if function in guards else _guarded(function)
    _published[function] = _published[made] = made
    _written[made] = function
    _spaces[getattr(made, "__wrapped__", function)] = space
    home = vars(sys.modules[function.__module__])
    if home.get(function.__name__) in (function, getattr(function, "__wrapped__", function)):
        home[function.__name__] = made


def written(function: FunctionType) -> FunctionType:
    """The function as it is written, which a published one calls."""
    return _written.get(function, function)


def _takes_tensor(function: FunctionType) -> bool:
    """Whether the first argument is a tensor, or a list of them."""
    inner = getattr(function, "__wrapped__", function)
    first = next(iter(inner.__code__.co_varnames), "")
    return first == "tensors" or "Tensor" in str(inner.__annotations__.get(first, ""))


def _guarded(function: FunctionType) -> FunctionType:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shape = None if code.co_flags & _VARIADIC else _SHAPES.get((names, function.__defaults__))
    return cast(FunctionType, functools.wraps(function)((shape or _any)(function)))


def _any(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            raise refusal(error, function, args, kwargs) from None

    return guarded


# Passing on arguments of any kind costs as much as a small op; these are the shapes of the functions that are small.
def _one(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(input: Any) -> Any:
        try:
            return function(input)
        except AttributeError as error:
            raise refusal(error, function, (input,), {}) from None

    return guarded


def _one_out(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__

    def guarded(input: Any, *, out: Any = None) -> Any:
        # In one pass over plain floats.
        if out is not None and _core._unary_out(name, input, out):
            return out
        try:
            return function(input, out=out)
        except AttributeError as error:
            raise refusal(error, function, (input,), {}) from None

    return guarded


def _two_out(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(input: Any, other: Any, *, out: Any = None) -> Any:
        try:
            return function(input, other, out=out)
        except AttributeError as error:
            raise refusal(error, function, (input, other), {}) from None

    return guarded


def _one_inplace(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(input: Any, inplace: bool = False) -> Any:
        try:
            return function(input, inplace)
        except AttributeError as error:
            raise refusal(error, function, (input, inplace), {}) from None

    return guarded


_SHAPES: dict[tuple[tuple[str, ...], tuple[Any, ...] | None], Callable[..., Any]] = {
    (("input",), None): _one,
    (("input", "out"), None): _one_out,
    (("input", "other", "out"), None): _two_out,
    (("input", "inplace"), (False,)): _one_inplace,
}


def refusal(error: AttributeError, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """What torch says of the argument that was asked for what it does not have; else the error itself."""
    import inspect  # six milliseconds that hardly any program needs

    given = error.obj
    if isinstance(given, Tensor) or error.name is None:
        return error
    name = _spaces.get(function, "") + function.__name__
    places = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    for position, (argument, value) in enumerate(places.items(), 1):
        if value is given:
            argument = "input" if argument == "self" else argument
            return TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {_kind(given)}"
            )
        if isinstance(value, (list, tuple)):
            for place, item in enumerate(value):
                if item is given:
                    where = f"element {place} in argument {position - 1}"
                    return TypeError(f"{name}(): expected Tensor as {where}, but got {_kind(given)}")
    return error


def _kind(value: object) -> str:
    """The name of a value's type as torch prints it: with its module where it is written in C."""
    kind = type(value)
    plain = kind.__flags__ & _HEAP or kind.__module__ == "builtins"
    return kind.__name__ if plain else f"{kind.__module__}.{kind.__name__}"
