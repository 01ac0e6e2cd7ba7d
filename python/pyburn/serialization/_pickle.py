"""A writer of pickle's opcodes: of plain values in the part that `torch.load(weights_only=True)` reads."""

from __future__ import annotations

import argparse
import enum
import pathlib
import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.serialization import _modules
from pyburn.serialization._objects import write_object
from pyburn.serialization._storages import STORAGES


class Pickler:
    """The pickle of an object, and the storages that its tensors lie over."""

    def __init__(self) -> None:
        self.parts: list[bytes] = [b"\x80\x02"]
        self.storages: list[Tensor] = []
        self._memo: dict[Any, int] = {}
        self._kept: list[Any] = []
        self._keys: dict[tuple[str, int], tuple[int, _core.dtype]] = {}

    def dump(self, value: Any) -> bytes:
        """The whole pickle.

        Raises:
            TypeError: A value has no form for files, such as a lambda.
        """
        self._write(value, "")
        self.parts.append(b".")
        return b"".join(self.parts)

    def _write(self, value: Any, path: str) -> None:
        writer = _ATOMS.get(type(value))  # which are never remembered by their ids
        if writer is not None:
            writer(self, value, path)
            return
        if self._remembered(("id", id(value))):
            return
        writer = _WRITERS.get(type(value))
        if writer is not None:
            writer(self, value, path)
        elif isinstance(value, Tensor):
            _write_tensor(self, value, path)
        elif isinstance(value, str) and not isinstance(value, enum.Enum):
            _write_text(self, str.__str__(value), path)
        elif isinstance(value, pathlib.PurePath):
            self._call("pathlib", type(value).__name__, tuple(value.parts), path)
            self._remember(("id", id(value)), value)
        elif isinstance(value, Module):
            _write_module(self, value, path)
        elif callable(value) and _modules.is_function_of_pyburn(value):
            self._global(value.__module__, value.__qualname__)
        elif type(value).__module__ == "numpy" and _is_plain_numpy(value):
            _write_numpy(self, value, path)
        elif not write_object(self, value, path):
            raise TypeError(_cannot_save(value, path))

    def _remembered(self, key: Any) -> bool:
        index = self._memo.get(key)
        if index is None:
            return False
        self.parts.append(b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index))
        return True

    def _remember(self, key: Any, value: Any = None) -> None:
        index = self._memo[key] = len(self._memo)
        # An id is true only as long as its object lives.
        self._kept.append(value)
        self.parts.append(b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index))

    def _global(self, module: str, name: str) -> None:
        if not self._remembered(("global", module, name)):
            self.parts.append(f"c{module}\n{name}\n".encode())
            self._remember(("global", module, name))

    def _tuple(self, values: tuple[Any, ...], path: str) -> None:
        if len(values) > 3:
            self.parts.append(b"(")
        for number, item in enumerate(values):
            if type(item) is int:
                _write_int(self, item, path)
            else:
                self._write(item, f"{path}[{number}]")
        self.parts.append((b")", b"\x85", b"\x86", b"\x87")[len(values)] if len(values) <= 3 else b"t")

    def _call(self, module: str, name: str, arguments: tuple[Any, ...], path: str) -> None:
        self._global(module, name)
        self._tuple(arguments, path)
        self.parts.append(b"R")

    def storage_id(self, tensor: Tensor) -> tuple[int, int]:
        """The number of the storage under a tensor, and its length in elements of the tensor's dtype."""
        size = tensor._storage_nbytes() // tensor.element_size()
        if size == 0:
            self.storages.append(tensor)
            return len(self.storages) - 1, 0
        place = (str(tensor.device), tensor._storage_ptr())
        if place not in self._keys:
            self._keys[place] = (len(self.storages), tensor.dtype)
            self.storages.append(tensor)
        number, dtype = self._keys[place]
        if dtype != tensor.dtype and dtype in STORAGES and tensor.dtype in STORAGES:
            raise RuntimeError(
                "save: Cannot save multiple tensors or storages that view the same data as different types: "
                f"{dtype} and {tensor.dtype}; save a .clone() of one of them."
            )
        return number, size


def _cannot_save(value: Any, path: str) -> str:
    where = f" at {path}" if path else ""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "state_dict"):
        return f"save: the object{where} is a whole {kind}; a file holds values, not code: save its .state_dict()."
    name = getattr(value, "__qualname__", "")
    return (
        f"save: the object{where} is a {kind}{' ' + name if name else ''}, which cannot be found by its name or has "
        "no form for files: save its values in a list or dict."
    )


def _write_int(self: Pickler, value: int, path: str) -> None:
    if 0 <= value < 256:
        self.parts.append(b"K" + bytes([value]))
    elif -(2**31) <= value < 2**31:
        self.parts.append(b"J" + struct.pack("<i", value))
    else:
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        if len(data) > 255:
            raise TypeError(f"save: the number{' at ' + path if path else ''} has more than 2000 bits.")
        self.parts.append(b"\x8a" + bytes([len(data)]) + data)


def _write_text(self: Pickler, value: str, path: str) -> None:
    if not self._remembered(("text", value)):
        data = value.encode("utf-8", "surrogatepass")
        self.parts.append(b"X" + struct.pack("<I", len(data)) + data)
        self._remember(("text", value))


def _write_tuple(self: Pickler, value: tuple[Any, ...], path: str) -> None:
    self._tuple(value, path)
    # A tuple that holds itself, through a list, was remembered while it was written; torch writes it twice as well.
    if value:
        self._remember(("id", id(value)), value)


def _write_items(self: Pickler, value: dict[Any, Any], path: str) -> None:
    if value:
        self.parts.append(b"(")
        for key, item in value.items():
            self._write(key, f"{path} key")
            writer = _ATOMS.get(type(item))
            if writer is not None and type(item) is not int:  # which can be written wherever they stand
                writer(self, item, "")
            else:
                self._write(item, f"{path}[{key!r}]" if isinstance(key, str | int) else f"{path}[...]")
        self.parts.append(b"u")


def _write_dict(self: Pickler, value: dict[Any, Any], path: str) -> None:
    self.parts.append(b"}")
    self._remember(("id", id(value)), value)
    _write_items(self, value, path)


def _write_ordered(self: Pickler, value: OrderedDict[Any, Any], path: str) -> None:
    self._call("collections", "OrderedDict", (), path)
    self._remember(("id", id(value)), value)
    _write_items(self, value, path)
    if vars(value):
        self._write(dict(vars(value)), f"{path}.__dict__")
        self.parts.append(b"b")


def _write_default(self: Pickler, value: defaultdict[Any, Any], path: str) -> None:
    self._global("collections", "defaultdict")
    self._tuple(() if value.default_factory is None else (value.default_factory,), f"{path}.default_factory")
    self.parts.append(b"R")
    self._remember(("id", id(value)), value)
    _write_items(self, value, path)


def _write_list(self: Pickler, value: list[Any], path: str) -> None:
    self.parts.append(b"]")
    self._remember(("id", id(value)), value)
    if value:
        self.parts.append(b"(")
        for number, item in enumerate(value):
            self._write(item, f"{path}[{number}]")
        self.parts.append(b"e")


def _write_tensor(self: Pickler, value: Tensor, path: str) -> None:
    if isinstance(value, Parameter):
        self._global("torch._utils", "_rebuild_parameter")
        _write_values(self, value.detach(), path)
        self.parts.append(b"\x88" if value.requires_grad else b"\x89")
        self._call("collections", "OrderedDict", (), path)
        self.parts.append(b"\x87R")
    else:
        _write_values(self, value, path)
    self._remember(("id", id(value)), value)


def _write_values(self: Pickler, value: Tensor, path: str) -> None:
    if value.is_sparse:
        raise TypeError(f"save: the tensor{' at ' + path if path else ''} is sparse; save its .to_dense().")
    if value.is_meta:
        _write_meta(self, value, path)
        return
    number, size = self.storage_id(value)
    typed = value.dtype in STORAGES
    self._global("torch._utils", "_rebuild_tensor_v2" if typed else "_rebuild_tensor_v3")
    self.parts.append(b"((")
    _write_text(self, "storage", path)
    self._global("torch" if typed else "torch.storage", STORAGES.get(value.dtype, "UntypedStorage"))
    # The place is always the CPU, which torch knows too; `map_location` puts the tensors elsewhere.
    _write_text(self, str(number), path)
    _write_text(self, "cpu", path)
    _write_int(self, size if typed else size * value.element_size(), path)
    self.parts.append(b"tQ")
    _write_int(self, value.storage_offset(), path)
    self._tuple(tuple(value.shape), path)
    self._tuple(tuple(value.stride()), path)
    self.parts.append(b"\x88" if value.requires_grad and value.is_leaf else b"\x89")
    self._call("collections", "OrderedDict", (), path)
    if not typed:
        _write_dtype(self, value.dtype, path)
    self.parts.append(b"tR")


def _write_meta(self: Pickler, value: Tensor, path: str) -> None:
    """What there is of a tensor without values."""
    self._global("torch._utils", "_rebuild_meta_tensor_no_storage")
    self.parts.append(b"(")
    _write_dtype(self, value.dtype, path)
    self._tuple(tuple(value.shape), path)
    self._tuple(tuple(value.stride()), path)
    self.parts.append(b"\x88" if value.requires_grad and value.is_leaf else b"\x89")
    self.parts.append(b"tR")


def _write_dtype(self: Pickler, value: _core.dtype, path: str) -> None:
    self._global("torch", str(value).rpartition(".")[2])


def _write_device(self: Pickler, value: _core.device, path: str) -> None:
    arguments = (value.type,) if value.index is None else (value.type, value.index)
    self._call("torch", "device", arguments, path)


def _write_namespace(self: Pickler, value: argparse.Namespace, path: str) -> None:
    self._global("argparse", "Namespace")
    self.parts.append(b")\x81")
    self._remember(("id", id(value)), value)
    self._write(dict(vars(value)), path)
    self.parts.append(b"b")


def _write_module(self: Pickler, value: Module, path: str) -> None:
    """The name of the class and the attributes; the class itself must be there when the file is read."""
    kind = type(value)
    if _modules.loaded(kind.__module__, kind.__qualname__) is not kind:
        raise TypeError(
            f"save: the {kind.__qualname__}{' at ' + path if path else ''} is of a class that cannot be found by its "
            "name; save its .state_dict()."
        )
    self._global(kind.__module__, kind.__qualname__)
    self.parts.append(b")\x81")
    self._remember(("id", id(value)), value)
    self._write(dict(vars(value)), f"{path}.{kind.__name__}")
    self.parts.append(b"b")


def _is_plain_numpy(value: Any) -> bool:
    numpy = sys.modules["numpy"]
    return isinstance(value, numpy.ndarray | numpy.generic) and value.dtype.kind in "biufcSU"


def _write_numpy(self: Pickler, value: Any, path: str) -> None:
    numpy = sys.modules["numpy"]
    order = "|" if value.dtype.itemsize == 1 or value.dtype.kind == "S" else "<"
    code = value.dtype.str[1:]
    plain = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    self._global("numpy._core.multiarray", "_reconstruct" if isinstance(value, numpy.ndarray) else "scalar")
    if isinstance(value, numpy.ndarray):
        self._global("numpy", "ndarray")
        self.parts.append(b"K\x00\x85")
        _write_bytes(self, b"b", path)
        self.parts.append(b"\x87R")
        self._remember(("id", id(value)), value)
        self.parts.append(b"(K\x01")
        self._tuple(tuple(value.shape), path)
    self._call("numpy", "dtype", (code, False, True), path)
    sizes = (value.dtype.itemsize, value.dtype.alignment) if value.dtype.kind in "SU" else (-1, -1)
    self._tuple((3, order, None, None, None, *sizes, 0), path)
    self.parts.append(b"b")
    if isinstance(value, numpy.ndarray):
        self.parts.append(b"\x89")
    _write_bytes(self, plain.tobytes(), path)
    self.parts.append(b"tb" if isinstance(value, numpy.ndarray) else b"\x86R")


def _write_bytes(self: Pickler, value: bytes, path: str) -> None:
    self._call("_codecs", "encode", (value.decode("latin1"), "latin1"), path)


_ATOMS: dict[type, Callable[[Pickler, Any, str], None]] = {
    type(None): lambda self, value, path: self.parts.append(b"N"),
    bool: lambda self, value, path: self.parts.append(b"\x88" if value else b"\x89"),
    int: _write_int,
    float: lambda self, value, path: self.parts.append(b"G" + struct.pack(">d", value)),
    str: _write_text,
}
_WRITERS: dict[type, Callable[[Pickler, Any, str], None]] = {
    complex: lambda self, value, path: self._call("__builtin__", "complex", (value.real, value.imag), path),
    bytes: _write_bytes,
    bytearray: lambda self, value, path: self._call("__builtin__", "bytearray", (bytes(value),), path),
    tuple: _write_tuple,
    Size: lambda self, value, path: self._call("torch", "Size", (tuple(value),), path),
    list: _write_list,
    set: lambda self, value, path: self._call("__builtin__", "set", (list(value),), path),
    frozenset: lambda self, value, path: self._call("__builtin__", "frozenset", (list(value),), path),
    dict: _write_dict,
    OrderedDict: _write_ordered,
    Counter: lambda self, value, path: self._call("collections", "Counter", (dict(value),), path),
    defaultdict: _write_default,
    argparse.Namespace: _write_namespace,
    _core.dtype: _write_dtype,
    _core.device: _write_device,
}
