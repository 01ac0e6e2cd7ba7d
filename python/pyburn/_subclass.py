"""Subclasses of Tensor: what is computed with them is of the subclass again, through `__torch_function__`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._overriding import DisableTorchFunctionSubclass, arm, ask, disarm, modes, take_over

_BOTH_WAYS = "add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift"
_ALONE = "neg|pos|abs|invert|eq|ne|lt|le|gt|ge|getitem|setitem|reversed|len|bool|int|float|contains"
OPERATORS = {f"__{way}{name}__" for name in _BOTH_WAYS.split("|") for way in ("", "r", "i")}
OPERATORS |= {f"__{name}__" for name in _ALONE.split("|")}
# The method that torch names when an operator is taken over.
_METHOD_OF = {f"__{name}__": name for name in ("add", "sub", "mul", "pow", "matmul", "neg", "abs")}
_METHOD_OF |= {f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_METHOD_OF |= {f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")}
_METHOD_OF |= {
    "__radd__": "add",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__mod__": "remainder",
}
# Calls about the object itself.
PLAIN = {"as_subclass", "backward", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_"}


def _converted(value: Any, cls: type[Tensor]) -> Any:
    if type(value) is Tensor:
        return value.as_subclass(cls)
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
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
    """What `func` gives, with tensors of class `cls`; subclasses override this to see each call."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls)


def dispatching(name: str) -> Callable[..., Any]:
    """The method of Tensor of this name, whose arguments may take its calls over."""
    method: Callable[..., Any] = getattr(Tensor, name)

    @functools.wraps(method)
    def dispatch(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = (self, *args)
        overloaded = _core._overloaded(given, kwargs)
        if overloaded is None:
            return method(self, *args, **kwargs)
        # As programs know it, which compare it with `Tensor.<name>`; an operator stays one for what is no number, since
        # it lets Python ask the other operand.
        plain = not args or isinstance(args[0], (Tensor, int, float, complex))
        if name in OPERATORS:
            return ask(getattr(Tensor, _METHOD_OF.get(name, name) if plain else name), overloaded, given, kwargs)
        return take_over(getattr(Tensor, name), overloaded, given, kwargs)

    return dispatch


def methods() -> list[str]:
    """The names of Tensor's methods and operators that can be taken over."""
    names = [name for name in dir(Tensor) if name not in PLAIN and (not name.startswith("_") or name in OPERATORS)]
    found = ((name, getattr(Tensor, name)) for name in names)
    return [name for name, method in found if callable(method) and not isinstance(method, type)]


_watched: dict[str, Any] = {}  # methods of plain tensors as they were before modes saw them


def watch_methods() -> None:
    """Lets modes see the methods of plain tensors too, from the first mode on."""
    if not _watched:
        for name in methods():
            _watched[name] = vars(Tensor).get(name)
            setattr(Tensor, name, dispatching(name))


@contextlib.contextmanager
def briefly(mode: Any) -> Iterator[None]:
    """`mode` sees all calls of a block, after which they cost what they cost before it: looking takes time."""
    first = not _watched
    arm(keep=False)
    watch_methods()
    active = modes()
    active.append(mode)
    _core._set_function_modes(len(active))
    try:
        yield
    finally:
        active.pop()
        _core._set_function_modes(len(active))
        if first:
            for name, method in _watched.items():
                delattr(Tensor, name) if method is None else setattr(Tensor, name, method)
            _watched.clear()
        disarm()


def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
    """Lets calls with a new subclass pass through its `__torch_function__`, unless it has that switched off."""
    if not _core._takes_over(cls):
        return
    arm()
    inherited: Any = next(parent for parent in cls.__mro__[1:] if issubclass(parent, Tensor))
    if inherited is not Tensor and _core._takes_over(inherited):
        return
    for name in methods():
        if name not in vars(cls):
            setattr(cls, name, dispatching(name))


def _make_wrapper_subclass(cls: type[Tensor], *args: Any, **kwargs: Any) -> Any:
    """Nothing: raises."""
    raise NotImplementedError(
        f"{cls.__name__}: a tensor without memory, whose operations come to __torch_dispatch__, is not there; keep the "
        "values in the tensor itself with Tensor._make_subclass, and use __torch_function__, which sees each call."
    )


setattr(Tensor, "_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))  # noqa: B010
setattr(Tensor, "__torch_function__", classmethod(__torch_function__))  # noqa: B010
setattr(Tensor, "__init_subclass__", classmethod(__init_subclass__))  # noqa: B010
