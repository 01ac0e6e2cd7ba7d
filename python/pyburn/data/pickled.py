"""Pickle files of plain data and numpy arrays, read without unpickling: nothing in them is ever called or imported.

A pickle is a program for a small stack machine. Here its steps are carried out on lists, dicts, texts and numbers
only; the three functions that arrays are made with are recognized by name, and all others refused.
"""

from __future__ import annotations

import math
import os
import pickletools
from collections.abc import Callable
from typing import Any

__all__ = ["Array", "parse_pickle", "read_pickle"]


class Array:
    """An array of bytes, or of lists and numbers, as a pickle describes it."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.data: bytes | list[Any] = b""

    def fill(self, state: Any) -> None:
        """Nothing; the array gets its shape and bytes."""
        if not (isinstance(state, tuple) and len(state) == 5):
            raise ValueError("an array has an unknown form")
        _, shape, kind, by_column, data = state
        data = data.encode("latin-1") if isinstance(data, str) else data
        name = kind.name.lstrip("|<>=") if isinstance(kind, _Dtype) else ""
        if name not in ("u1", "O8", "O") or by_column:
            raise ValueError("an array holds neither bytes nor lists, row by row")
        fits = isinstance(data, bytes if name == "u1" else list) and isinstance(shape, tuple)
        if not fits or math.prod(shape) != len(data):
            raise ValueError("an array's shape does not fit what it holds")
        self.shape, self.data = shape, data


class _Dtype:
    def __init__(self, name: str) -> None:
        self.name = name


class _Name:
    """A function or class that the file names; it is compared, never looked up."""

    def __init__(self, module: str, name: str) -> None:
        self.path = f"{module}.{name}"


def _made(function: Any, arguments: Any) -> Any:
    path = function.path if isinstance(function, _Name) else repr(function)
    if path in ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"):
        return Array()
    if path == "numpy.dtype" and isinstance(arguments, tuple) and arguments and isinstance(arguments[0], str):
        return _Dtype(arguments[0])
    if path == "_codecs.encode" and isinstance(arguments, tuple) and isinstance(arguments[0], str):
        return arguments[0].encode("latin-1")
    raise ValueError(f"it wants to call {path}, which plain data needs not")


_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING"),
    *("SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES"),
    "BINBYTES8",
}
_NOTHING = {"PROTO", "FRAME", "STOP"}


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.steps: dict[str, Callable[[Any], None]] = {
            "MARK": lambda _: self.stack.append(_MARK),
            "EMPTY_DICT": lambda _: self.stack.append({}),
            "EMPTY_LIST": lambda _: self.stack.append([]),
            "EMPTY_TUPLE": lambda _: self.stack.append(()),
            "POP": lambda _: self._drop(),
            "TUPLE1": lambda _: self.stack.append(tuple(self._last(1))),
            "TUPLE2": lambda _: self.stack.append(tuple(self._last(2))),
            "TUPLE3": lambda _: self.stack.append(tuple(self._last(3))),
            "TUPLE": lambda _: self.stack.append(tuple(self._since_mark())),
            "LIST": lambda _: self.stack.append(self._since_mark()),
            "DICT": lambda _: self.stack.append(self._pairs(self._since_mark())),
            "APPEND": lambda _: self._extend(self._last(1)),
            "APPENDS": lambda _: self._extend(self._since_mark()),
            "SETITEM": lambda _: self._update(self._last(2)),
            "SETITEMS": lambda _: self._update(self._since_mark()),
            "PUT": self._put,
            "BINPUT": self._put,
            "LONG_BINPUT": self._put,
            "MEMOIZE": lambda _: self._put(len(self.memory)),
            "GET": self._get,
            "BINGET": self._get,
            "LONG_BINGET": self._get,
            "GLOBAL": lambda text: self.stack.append(_Name(*text.split(" ", 1))),
            "STACK_GLOBAL": lambda _: self.stack.append(_Name(*map(str, self._last(2)))),
            "REDUCE": lambda _: self.stack.append(_made(*self._last(2))),
            "BUILD": lambda _: self._build(*self._last(1)),
        }

    def _drop(self) -> None:
        self._last(1)

    def _last(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("it takes more than there is")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def _since_mark(self) -> list[Any]:
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is _MARK:
                values = self.stack[place + 1 :]
                del self.stack[place:]
                return values
        raise ValueError("it takes more than there is")

    def _top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise ValueError(f"a {kind.__name__} is missing")
        return self.stack[-1]

    def _pairs(self, values: list[Any]) -> dict[Any, Any]:
        if len(values) % 2:
            raise ValueError("a key has no value")
        return dict(zip(values[::2], values[1::2], strict=True))

    def _extend(self, values: list[Any]) -> None:
        self._top(list).extend(values)

    def _update(self, values: list[Any]) -> None:
        self._top(dict).update(self._pairs(values))

    def _put(self, place: Any) -> None:
        self.memory[int(place)] = self._top(object)

    def _get(self, place: Any) -> None:
        if int(place) not in self.memory:
            raise ValueError("it takes what was not kept")
        self.stack.append(self.memory[int(place)])

    def _build(self, state: Any) -> None:
        target = self._top(object)
        if isinstance(target, Array):
            target.fill(state)
        elif not isinstance(target, _Dtype):
            raise ValueError("it wants to set an object's attributes, which plain data needs not")

    def run(self, data: bytes) -> Any:
        """What the file describes."""
        for code, argument, _ in pickletools.genops(data):
            if code.name in _LITERALS:
                self.stack.append(argument)
            elif code.name in _CONSTANTS:
                self.stack.append(_CONSTANTS[code.name])
            elif code.name in self.steps:
                self.steps[code.name](argument)
            elif code.name not in _NOTHING:
                raise ValueError(f"the step {code.name} is for more than plain data")
        if len(self.stack) != 1:
            raise ValueError("it ends in the middle")
        return self.stack[0]


def parse_pickle(data: bytes, name: str) -> Any:
    """The dicts, lists, texts, numbers and arrays of a pickle, which an error calls `name`.

    Raises:
        RuntimeError: It is cut off or damaged, or asks for more than plain data.

    Example:
        >>> import pickle
        >>> parse_pickle(pickle.dumps({"labels": [3, 5]}), "two labels")
        {'labels': [3, 5]}
    """
    try:
        return _Machine().run(data)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise RuntimeError(f"{name} is no pickle of plain data: {error}") from error


def read_pickle(path: str | os.PathLike[str]) -> Any:
    """What `parse_pickle` finds in a file."""
    with open(path, "rb") as file:
        return parse_pickle(file.read(), os.fspath(path))
