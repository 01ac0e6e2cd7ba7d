"""A reader of pickle's opcodes that builds containers, numbers and text, and calls nothing that a file names.

`pickle.load` imports and calls whatever a file asks for. Here a name is only a key into an allow-list
(`_allowed.py`); every length is checked against what the file still has before memory is taken for it.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any, NoReturn

from pyburn._core import DTypeError

# Text lines of protocol 0: names, numbers and short strings.
_MAX_LINE = 1 << 20
_MAX_KEY_DEPTH = 8


class Source:
    """A binary file that refuses to give more than it has."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file = file
        self.size = size

    def take(self, count: int) -> bytes:
        """Exactly `count` bytes."""
        if count < 0 or count > self.size - self.file.tell():
            raise UnpicklingError(f"load: the file ends where {count} more bytes are needed; it is truncated.")
        data = self.file.read(count)
        if len(data) != count:
            raise UnpicklingError("load: the file ended early; it is truncated or changed while being read.")
        return data

    def line(self) -> bytes:
        """The bytes up to the next newline, without it."""
        data = self.file.readline(_MAX_LINE)
        if not data.endswith(b"\n"):
            raise UnpicklingError("load: a line of text does not end; the file is truncated or damaged.")
        return data[:-1]


class Unpickler:
    """Reads one pickle.

    Args:
        source: The bytes.
        find: What a global name stands for; raises for one that is not allowed.
        persistent: What a persistent id (torch: a storage) stands for.
        build: Sets the state of an object that is no plain dict.
    """

    def __init__(
        self,
        source: Source,
        find: Callable[[str, str], Any],
        persistent: Callable[[Any], Any],
        build: Callable[[Any, Any], None],
    ) -> None:
        self.source = source
        self.find = find
        self.persistent = persistent
        self.build = build
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The object.

        Raises:
            UnpicklingError: The bytes are damaged, or name something that is not allowed.
        """
        take, operations = self.source.take, _OPERATIONS
        try:
            while True:
                code = take(1)[0]
                if code == 0x2E:  # STOP
                    return self.stack.pop()
                operation = operations.get(code)
                if operation is None:
                    raise UnpicklingError(f"load: opcode {code:#04x} is not one that a checkpoint needs.")
                operation(self)
        except DTypeError:  # the file is well, but the device that was asked for cannot hold it
            raise
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
            raise UnpicklingError(f"load: the pickle is damaged: {type(error).__name__}: {error}") from error

    def number(self, form: str) -> Any:
        """One number in struct's notation."""
        return struct.unpack(form, self.source.take(struct.calcsize(form)))[0]

    def push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        """The values above the last mark, which is removed."""
        values = self.stack
        self.stack = self.marks.pop()
        return values


def _check_key(key: Any, depth: int = 0) -> None:
    """Only short, flat keys: Python hashes a deeply nested tuple by recursion, which ends the process."""
    if isinstance(key, tuple):
        if depth >= _MAX_KEY_DEPTH:
            raise UnpicklingError("load: a dict's key is a deeply nested tuple.")
        for part in key:
            _check_key(part, depth + 1)
    elif isinstance(key, list | dict | set | bytearray):
        raise UnpicklingError(f"load: a {type(key).__name__} cannot be a key.")


def _set_items(target: Any, items: list[Any]) -> None:
    if not isinstance(target, dict):
        raise UnpicklingError(f"load: items are set in a {type(target).__name__}, which is no dict.")
    if len(items) % 2:
        raise UnpicklingError("load: a dict has a key without a value.")
    for position in range(0, len(items), 2):
        _check_key(items[position])
        # OrderedDict and Counter of this process may not run code of theirs here.
        target[items[position]] = items[position + 1]


def _append(target: Any, items: list[Any]) -> None:
    if type(target) is not list:
        raise UnpicklingError(f"load: items are appended to a {type(target).__name__}, which is no list.")
    target.extend(items)


def _add_items(self: Unpickler) -> None:
    items = self.since_mark()
    target = self.stack[-1]
    if type(target) is not set:
        raise UnpicklingError(f"load: items are added to a {type(target).__name__}, which is no set.")
    for item in items:
        _check_key(item)
        target.add(item)


def _appends(self: Unpickler) -> None:
    items = self.since_mark()
    _append(self.stack[-1], items)


def _append_one(self: Unpickler) -> None:
    item = self.stack.pop()
    _append(self.stack[-1], [item])


def _set_item(self: Unpickler) -> None:
    value, key = self.stack.pop(), self.stack.pop()
    _set_items(self.stack[-1], [key, value])


def _set_many(self: Unpickler) -> None:
    items = self.since_mark()
    _set_items(self.stack[-1], items)


def _mark(self: Unpickler) -> None:
    self.marks.append(self.stack)
    self.stack = []


def _pop(self: Unpickler) -> None:
    if self.stack:
        self.stack.pop()
    else:
        self.since_mark()


def _pop_mark(self: Unpickler) -> None:
    self.since_mark()


def _skip(form: str) -> Callable[[Unpickler], None]:
    def skip(self: Unpickler) -> None:
        self.number(form)

    return skip


def _tuple_of(count: int) -> Callable[[Unpickler], None]:
    def make(self: Unpickler) -> None:
        if len(self.stack) < count:
            raise UnpicklingError("load: a tuple has fewer values than it says.")
        values = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        self.push(values)

    return make


def _dict_since_mark(self: Unpickler) -> None:
    made: dict[Any, Any] = {}
    _set_items(made, self.since_mark())
    self.push(made)


def _frozen_set(self: Unpickler) -> None:
    items = self.since_mark()
    for item in items:
        _check_key(item)
    self.push(frozenset(items))


def _long(self: Unpickler, form: str) -> None:
    self.push(int.from_bytes(self.source.take(self.number(form)), "little", signed=True))


def _text(self: Unpickler, form: str) -> None:
    self.push(self.source.take(self.number(form)).decode("utf-8", "surrogatepass"))


def _old_string(self: Unpickler, form: str) -> None:
    # Strings of Python 2: text in every checkpoint that is known, bytes in numpy's arrays.
    data = self.source.take(self.number(form))
    try:
        self.push(data.decode("utf-8"))
    except UnicodeDecodeError:
        self.push(data)


def _line_int(self: Unpickler) -> None:
    line = self.source.line()
    self.push({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line))


def _line_string(self: Unpickler) -> None:
    line = self.source.line()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"') or b"\\" in line:
        raise UnpicklingError("load: a string of protocol 0 is not plainly quoted.")
    self.push(line[1:-1].decode("ascii"))


def _global(self: Unpickler) -> None:
    module, name = self.source.line(), self.source.line()
    self.push(self.find(module.decode("utf-8"), name.decode("utf-8")))


def _stack_global(self: Unpickler) -> None:
    name, module = self.stack.pop(), self.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise UnpicklingError("load: a global's name is no text.")
    self.push(self.find(module, name))


def _refuse_call(function: Any) -> NoReturn:
    raise UnpicklingError(f"load: the file wants to call {type(function).__name__}, which is nothing to be called.")


def _reduce(self: Unpickler) -> None:
    arguments, function = self.stack.pop(), self.stack.pop()
    if not isinstance(arguments, tuple) or not hasattr(function, "call"):
        _refuse_call(function)
    self.push(function.call(arguments))


def _new_object(self: Unpickler) -> None:
    arguments, kind = self.stack.pop(), self.stack.pop()
    if not isinstance(arguments, tuple) or not hasattr(kind, "new"):
        _refuse_call(kind)
    self.push(kind.new(arguments))


def _new_object_with_keywords(self: Unpickler) -> None:
    if self.stack.pop() != {}:
        raise UnpicklingError("load: an object is made with keywords, which no allowed class has.")
    _new_object(self)


def _build(self: Unpickler) -> None:
    state = self.stack.pop()
    target = self.stack[-1]
    if type(target) is OrderedDict:
        # torch hangs `_metadata` on a state dict.
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise UnpicklingError("load: the attributes of an OrderedDict are no dict of names.")
        vars(target).update(state)
    else:
        self.build(target, state)


def _persistent_line(self: Unpickler) -> None:
    self.push(self.persistent(self.source.line().decode("ascii")))


def _put(self: Unpickler, index: int) -> None:
    if index < 0:
        raise UnpicklingError("load: a memo index is negative.")
    self.memo[index] = self.stack[-1]


_OPERATIONS: dict[int, Callable[[Unpickler], None]] = {
    ord("("): _mark,
    ord("0"): _pop,
    ord("1"): _pop_mark,
    ord("2"): lambda self: self.push(self.stack[-1]),
    ord("N"): lambda self: self.push(None),
    0x88: lambda self: self.push(True),
    0x89: lambda self: self.push(False),
    ord("I"): _line_int,
    ord("J"): lambda self: self.push(self.number("<i")),
    ord("K"): lambda self: self.push(self.number("<B")),
    ord("M"): lambda self: self.push(self.number("<H")),
    ord("L"): lambda self: self.push(int(self.source.line().rstrip(b"L"))),
    0x8A: lambda self: _long(self, "<B"),
    0x8B: lambda self: _long(self, "<i"),
    ord("F"): lambda self: self.push(float(self.source.line())),
    ord("G"): lambda self: self.push(self.number(">d")),
    ord("S"): _line_string,
    ord("T"): lambda self: _old_string(self, "<i"),
    ord("U"): lambda self: _old_string(self, "<B"),
    ord("V"): lambda self: self.push(self.source.line().decode("raw-unicode-escape")),
    ord("X"): lambda self: _text(self, "<I"),
    0x8C: lambda self: _text(self, "<B"),
    0x8D: lambda self: _text(self, "<Q"),
    ord("B"): lambda self: self.push(self.source.take(self.number("<I"))),
    ord("C"): lambda self: self.push(self.source.take(self.number("<B"))),
    0x8E: lambda self: self.push(self.source.take(self.number("<Q"))),
    0x96: lambda self: self.push(bytearray(self.source.take(self.number("<Q")))),
    ord("]"): lambda self: self.push([]),
    ord("}"): lambda self: self.push({}),
    ord(")"): lambda self: self.push(()),
    0x8F: lambda self: self.push(set()),
    ord("l"): lambda self: self.push(self.since_mark()),
    ord("d"): _dict_since_mark,
    ord("t"): lambda self: self.push(tuple(self.since_mark())),
    0x85: _tuple_of(1),
    0x86: _tuple_of(2),
    0x87: _tuple_of(3),
    0x91: _frozen_set,
    ord("a"): _append_one,
    ord("e"): _appends,
    ord("s"): _set_item,
    ord("u"): _set_many,
    0x90: _add_items,
    ord("c"): _global,
    0x93: _stack_global,
    ord("R"): _reduce,
    0x81: _new_object,
    0x92: _new_object_with_keywords,
    ord("b"): _build,
    ord("P"): _persistent_line,
    ord("Q"): lambda self: self.push(self.persistent(self.stack.pop())),
    ord("p"): lambda self: _put(self, int(self.source.line())),
    ord("q"): lambda self: _put(self, self.number("<B")),
    ord("r"): lambda self: _put(self, self.number("<I")),
    0x94: lambda self: _put(self, len(self.memo)),
    ord("g"): lambda self: self.push(self.memo[int(self.source.line())]),
    ord("h"): lambda self: self.push(self.memo[self.number("<B")]),
    ord("j"): lambda self: self.push(self.memo[self.number("<I")]),
    0x80: _skip("<B"),
    0x95: _skip("<Q"),
}
