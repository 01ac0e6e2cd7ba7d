"""torch.fx.operator_schemas: the arguments of calls, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None, only: bool
) -> ArgsKwargsPair | None:
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **(kwargs or {}))
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
        return None
    count = 0 if only else len(args)
    names = list(signature.parameters)
    first = tuple(bound.arguments[name] for name in names[:count])
    return ArgsKwargsPair(first, {name: bound.arguments[name] for name in names[count:]})


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: Any = None,
    kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call with all defaults; None where the function has no such signature.

    Example:
        >>> def power(x, exponent=2):
        ...     return x**exponent
        >>> normalize_function(power, (3,), normalize_to_only_use_kwargs=True).kwargs
        {'x': 3, 'exponent': 2}
    """
    return _bound(target, args, kwargs, normalize_to_only_use_kwargs)


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a submodule with all defaults of its `forward`."""
    return _bound(root.get_submodule(target).forward, args, kwargs, normalize_to_only_use_kwargs)
