"""Which callable of pyburn answers to an entry of torch's bank."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import pyburn
import torch

Function = Callable[..., Any]


class MissingError(Exception):
    """pyburn has no function of this name."""


def resolve(info: Any) -> Function:
    """pyburn's counterpart of `info.op`.

    Entries whose function is a lambda of torch's bank run that very code with `torch` replaced by pyburn.
    """
    function = info.op
    if is_bank_code(function):
        return rebind(function)
    name = info.name.removeprefix("torch.")
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)) or is_method(function):
        return lookup(pyburn.Tensor, function.__name__, f"Tensor.{function.__name__}")
    return path(name)


def method_of(info: Any) -> Function | None:
    """pyburn's method for an entry that has one in torch."""
    method = info.method_variant
    return None if method is None else lookup(pyburn.Tensor, method.__name__, f"Tensor.{method.__name__}")


def is_bank_code(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing.")


def is_method(function: Any) -> bool:
    return getattr(function, "__qualname__", "").startswith("Tensor.")


def path(name: str) -> Any:
    """The object at a dotted path under pyburn."""
    found: Any = pyburn
    for part in name.split("."):
        found = lookup(found, part, name)
    return found


def lookup(owner: Any, part: str, name: str) -> Any:
    found = getattr(owner, part, None)
    if found is None:
        raise MissingError(f"pyburn has no {name}")
    return found


def rebind(function: Any) -> Any:
    """Code written for torch, made to run on pyburn: globals and captured values that are torch's are replaced."""
    if isinstance(function, functools.partial):
        return functools.partial(rebind(function.func), *function.args, **function.keywords)
    if isinstance(function, types.FunctionType) and is_bank_code(function):
        return copy_function(function)
    return counterpart(function)


def copy_function(function: types.FunctionType) -> Function:
    names = all_names(function.__code__)
    scope = {name: counterpart(value) for name, value in function.__globals__.items() if name in names}
    cells = tuple(types.CellType(counterpart(cell.cell_contents)) for cell in function.__closure__ or ())
    return types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)


def all_names(code: types.CodeType) -> set[str]:
    """The names that a function and the functions inside it use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= all_names(constant)
    return names


def counterpart(value: Any) -> Any:
    """What stands for a value of torch in code that runs on pyburn; other values are themselves."""
    if value is torch.testing._utils.wrapper_set_seed:
        return seeded
    if value is torch.nn.functional:
        return pyburn.nn.functional
    if value is torch.Tensor:
        return pyburn.Tensor
    if isinstance(value, types.ModuleType):
        names = value.__name__.split(".")
        return path(".".join(names[1:])) if names[0] == "torch" and len(names) > 1 else MODULES.get(names[0], value)
    if is_bank_code(value):
        return copy_function(value)
    if isinstance(value, types.BuiltinFunctionType) and value is getattr(torch, value.__name__, None):
        return path(value.__name__)
    if callable(value) and value is getattr(torch.nn.functional, getattr(value, "__name__", ""), None):
        return path(f"nn.functional.{value.__name__}")
    return value


def seeded(function: Function, *args: Any, **kwargs: Any) -> Any:
    """What torch's bank does around random functions."""
    pyburn.manual_seed(42)
    return function(*args, **kwargs)


MODULES = {"torch": pyburn}
