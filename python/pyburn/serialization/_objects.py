"""Objects of any class in files, by the name of the class and what the object says of itself, as pickle writes them.

Only writing: `load` refuses such a file with the name of the class, since rebuilding the object would call code.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["write_name", "write_object"]


class Writer(Protocol):
    """What a pickler offers."""

    parts: list[bytes]

    def _write(self, value: Any, path: str) -> None: ...
    def _global(self, module: str, name: str) -> None: ...
    def _tuple(self, values: tuple[Any, ...], path: str) -> None: ...
    def _remember(self, key: Any, value: Any = None) -> None: ...


def write_name(self: Writer, value: Any, name: str) -> bool:
    """Whether the value, a class or a function, is found by its name; then the name is written."""
    module = getattr(value, "__module__", None) or "builtins"
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        return False
    # torch reads protocol 2 with the names of Python 2.
    self._global("__builtin__" if module == "builtins" else module, name)
    return True


def write_object(self: Writer, value: Any, path: str) -> bool:
    """Whether the object can be written; then it is.

    Raises:
        TypeError: A part of it cannot be written.
    """
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__") and not _is_bound(value)):
        return write_name(self, value, value.__qualname__)
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        form = reduce(value) if reduce is not None else value.__reduce_ex__(2)
    except (TypeError, AttributeError, RuntimeError, NotImplementedError):
        return False
    if isinstance(form, str):
        return write_name(self, value, form)
    # The sixth part of a form, a setter of the state, is of no use to protocol 2.
    function, arguments, state, items, pairs = (*form, None, None, None)[:5]
    _write_making(self, function, arguments, path)
    self._remember(("id", id(value)), value)
    where = f"{path}.{type(value).__name__}"
    _write_many(self, list(items or ()), b"e", where)
    _write_many(self, [part for pair in pairs or () for part in pair], b"u", where)
    if state is not None:
        self._write(state, where)
        self.parts.append(b"b")
    return True


def _is_bound(value: Callable[..., Any]) -> bool:
    owner = getattr(value, "__self__", None)
    return owner is not None and type(owner).__name__ != "module"


def _write_making(self: Writer, function: Any, arguments: tuple[Any, ...], path: str) -> None:
    if getattr(function, "__name__", "") == "__newobj__":
        self._write(arguments[0], path)
        self._tuple(arguments[1:], path)
        self.parts.append(b"\x81")
    else:
        self._write(function, path)
        self._tuple(arguments, path)
        self.parts.append(b"R")


def _write_many(self: Writer, values: list[Any], opcode: bytes, path: str) -> None:
    if values:
        self.parts.append(b"(")
        for value in values:
            self._write(value, path)
        self.parts.append(opcode)
