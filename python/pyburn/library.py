"""torch.library: new operators for torch's dispatcher, which pyburn has not; a Python function is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyburn._absent import absent_class

__all__ = ["Library", "custom_op", "impl", "register_fake", "register_kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_WHY = ("pyburn has no dispatcher", "write a plain function, or an autograd.Function for its gradient")

Library: Any = absent_class("library.Library", *_WHY)


class _CustomOp:
    """A function that is called as it is; `register_autograd` gives it a gradient of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._call = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def register_fake(self, fn: F, /) -> F:
        """The function itself: shapes are those that the operation really gives."""
        return fn

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """A decorator that leaves a function as it is: every device runs the first one."""
        return (lambda function: function) if fn is None else fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Nothing; the gradient is computed by `backward(ctx, *grads)` from now on."""
        from pyburn.autograd import Function

        function = self._function

        class _Recorded(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                output = function(*args)
                if setup_context is not None:
                    setup_context(ctx, args, output)
                return output

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return backward(ctx, *grads)

        self._call = _Recorded.apply


def custom_op(
    name: str, fn: Any = None, /, *, mutates_args: Any = (), device_types: Any = None, schema: Any = None
) -> Any:
    """The function as an operator, or a decorator that makes one.

    Example:
        >>> import pyburn
        >>> @custom_op("my::double", mutates_args=())
        ... def double(x):
        ...     return x * 2
        >>> double(pyburn.ones(1))
        tensor([2.])
    """
    return _CustomOp if fn is None else _CustomOp(fn)


def register_fake(op: Any, func: Any = None, /, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is: shapes are those that the operation really gives."""
    return (lambda function: function) if func is None else func


def register_kernel(op: Any, device_types: Any, func: Any = None, /, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return (lambda function: function) if func is None else func


def impl(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return lambda function: function
