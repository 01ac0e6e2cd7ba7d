"""Subclasses of Tensor: what their methods compute is of the subclass again, through `__torch_function__`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyburn._core import Tensor

_state = threading.local()

_BOTH_WAYS = "add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift"
_ALONE = "neg|pos|abs|invert|eq|ne|lt|le|gt|ge|getitem|setitem|reversed"
_OPERATORS = {f"__{way}{name}__" for name in _BOTH_WAYS.split("|") for way in ("", "r", "i")}
_OPERATORS |= {f"__{name}__" for name in _ALONE.split("|")}
# Calls about the object itself.
_PLAIN = {"as_subclass", "backward", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_"}


@contextmanager
def disabled() -> Iterator[None]:
    """A context in which subclasses compute as plain tensors."""
    before = getattr(_state, "disabled", False)
    _state.disabled = True
    try:
        yield
    finally:
        _state.disabled = before


def _converted(value: Any, cls: type[Tensor]) -> Any:
    if type(value) is Tensor:
        return value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [_converted(item, cls) for item in value]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def __torch_function__(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Sequence[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """What `func` gives, with tensors of class `cls`; subclasses override this to see each call of a method."""
    with disabled():
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls)


def _dispatching(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def dispatch(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if getattr(_state, "disabled", False):
            return method(self, *args, **kwargs)
        cls: Any = type(self)
        return cls.__torch_function__(method, (cls,), (self, *args), kwargs)

    return dispatch


def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
    """Lets the methods of a new subclass pass through its `__torch_function__`, unless it has that switched off."""
    if cls.__torch_function__ is None:
        return
    inherited: Any = next(parent for parent in cls.__mro__[1:] if issubclass(parent, Tensor))
    if inherited is not Tensor and inherited.__torch_function__ is not None:
        return
    for name in dir(Tensor):
        if name in vars(cls) or name in _PLAIN or (name.startswith("_") and name not in _OPERATORS):
            continue
        method = getattr(Tensor, name)
        if callable(method) and not isinstance(method, type):
            setattr(cls, name, _dispatching(method))


setattr(Tensor, "__torch_function__", classmethod(__torch_function__))  # noqa: B010
setattr(Tensor, "__init_subclass__", classmethod(__init_subclass__))  # noqa: B010
