"""torch.overrides: pyburn calls no `__torch_function__`, so nothing is overridden."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyburn._core import Tensor

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: no argument takes over a call.

    Example:
        >>> has_torch_function((1, 2))
        False
    """
    return False


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """False: no argument takes over a call."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False: no argument takes over a call."""
    return False


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the function gives."""
    return public_api(*args, **kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor or says that it takes over torch's calls."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is one of Tensor's."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func
