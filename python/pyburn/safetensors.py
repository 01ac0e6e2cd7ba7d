"""Tensors in files of the safetensors format: a length, a JSON header, and the plain values.

Reading never executes anything. Every number of the header is checked against the file before it
is used, so that a truncated or hostile file raises ValueError and nothing else.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from io import BufferedReader
from typing import Any, NamedTuple

from pyburn import _core
from pyburn._core import Tensor
from pyburn._files import replacing
from pyburn.ops import empty, frombuffer

__all__ = ["load", "load_file", "metadata", "save", "save_file"]

# The reference implementation's limit: a real header is a few kilobytes.
_MAX_HEADER = 100_000_000
_NAMES = {
    "complex64": "C64",
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
_DTYPES: dict[str, _core.dtype] = {code: getattr(_core, name) for name, code in _NAMES.items()}


class _Entry(NamedTuple):
    """Where one tensor lies: its dtype and shape, and its first and last byte after the header."""

    name: str
    dtype: _core.dtype
    shape: list[int]
    begin: int
    end: int


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Nothing; the file has the tensors. It is complete or as it was before, never half written.

    Args:
        tensors: The tensors by name, as `Module.state_dict()` gives them.
        filename: Where to write.
        metadata: Texts to write beside them.

    Raises:
        TypeError: A value is no tensor, or a name or text no string.
        ValueError: A dtype is not part of the format.

    Example:
        >>> import os, tempfile, pyburn
        >>> from pyburn.safetensors import load_file, save_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.safetensors")
        ...     save_file({"w": pyburn.tensor([1.0, 2.0])}, path)
        ...     load_file(path)
        {'w': tensor([1., 2.])}
    """
    header, ordered = _header_of(tensors, metadata)
    with replacing(filename) as file:
        file.write(header)
        for tensor in ordered:
            file.write(_values(tensor))


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes that `save_file` would write; the arguments are the same.

    Example:
        >>> import pyburn
        >>> len(pyburn.safetensors.save({"w": pyburn.zeros(2)})) % 8
        0
    """
    header, ordered = _header_of(tensors, metadata)
    return b"".join([header, *(_values(tensor) for tensor in ordered)])


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by name.

    Args:
        filename: The file.
        device: Where the tensors are put.

    Raises:
        ValueError: The file is damaged or not of this format; the text says what is wrong.
        FileNotFoundError: There is no such file.
    """
    with open(filename, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        entries, _, start = _read_header(file, size)
        return {entry.name: _read_tensor(file, start, entry, device) for entry in entries}


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in bytes that `save` gave, or that were read from a file.

    Raises:
        ValueError: The bytes are damaged or not of this format; the text says what is wrong.

    Example:
        >>> import pyburn
        >>> pyburn.safetensors.load(pyburn.safetensors.save({"w": pyburn.ones(2)}))
        {'w': tensor([1., 1.])}
    """
    file = _Bytes(data)
    entries, _, start = _read_header(file, len(data))
    return {entry.name: _read_tensor(file, start, entry, "cpu") for entry in entries}


def metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that were saved beside the tensors; empty when there are none.

    Raises:
        ValueError: The file is damaged or not of this format; the text says what is wrong.
    """
    with open(filename, "rb") as file:
        return _read_header(file, os.fstat(file.fileno()).st_size)[1]


class _Bytes:
    """Bytes with a file's `seek` and `readinto`; unlike BytesIO it makes no copy of them."""

    def __init__(self, data: bytes) -> None:
        self.view = memoryview(data).cast("B")
        self.place = 0

    def seek(self, place: int) -> None:
        self.place = place

    def readinto(self, target: bytearray) -> int:
        part = self.view[self.place : self.place + len(target)]
        target[: len(part)] = part
        self.place += len(part)
        return len(part)


def _header_of(tensors: Mapping[str, Tensor], texts: Mapping[str, str] | None) -> tuple[bytes, list[Tensor]]:
    """The file's beginning, and the tensors in the order in which their values follow."""
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise TypeError(f"safetensors: {name!r} cannot name a tensor; give a string other than '__metadata__'.")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"safetensors: {name!r} is a {type(tensor).__name__}; only tensors can be saved.")
        if _dtype_name(tensor) not in _NAMES:
            raise ValueError(f"safetensors: {name!r} has dtype {tensor.dtype}, which the format lacks; convert it.")
    header: dict[str, Any] = {}
    if texts:
        if not all(isinstance(text, str) for pair in texts.items() for text in pair):
            raise TypeError("safetensors: metadata must be a dict of strings; use json.dumps for other values.")
        header["__metadata__"] = dict(texts)
    # Wide elements first, so that each tensor begins at a multiple of its element's size.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    place = 0
    for name in names:
        tensor = tensors[name]
        end = place + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[_dtype_name(tensor)],
            "shape": list(tensor.shape),
            "data_offsets": [place, end],
        }
        place = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, [tensors[name] for name in names]


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _values(tensor: Tensor) -> bytes:
    return tensor.detach()._bytes()


def _read_header(file: BufferedReader | _Bytes, size: int) -> tuple[list[_Entry], dict[str, str], int]:
    """The tensors' places, the texts, and where the values begin."""
    if size < 8:
        raise ValueError(f"safetensors: the file has {size} bytes but its header's length alone takes 8.")
    (length,) = struct.unpack("<Q", _read(file, 0, 8))
    if length > _MAX_HEADER:
        raise ValueError(f"safetensors: the header claims {length} bytes, more than the allowed {_MAX_HEADER}.")
    if length > size - 8:
        raise ValueError(f"safetensors: the header claims {length} bytes but only {size - 8} follow; it is truncated.")
    header = _parse(_read(file, 8, length))
    texts = header.pop("__metadata__", {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("safetensors: __metadata__ must be an object of strings.")
    entries = sorted((_entry(name, value) for name, value in header.items()), key=lambda e: (e.begin, e.end))
    place = 0
    for entry in entries:
        if entry.begin != place:
            what = "overlaps the one before it" if entry.begin < place else "leaves bytes unused before it"
            raise ValueError(f"safetensors: tensor {entry.name!r} at {entry.begin} {what}.")
        place = entry.end
    if place != size - 8 - length:
        raise ValueError(f"safetensors: the header describes {place} bytes of values but {size - 8 - length} follow.")
    return entries, texts, 8 + length


def _parse(text: bytearray) -> dict[str, Any]:
    if not text.startswith(b"{"):
        raise ValueError("safetensors: the header is not a JSON object.")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"safetensors: the header is not valid JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("safetensors: the header is not a JSON object.")
    return header


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name occurs twice")
    return values


def _entry(name: str, value: Any) -> _Entry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"safetensors: tensor {name!r} must have dtype, shape and data_offsets and nothing else.")
    dtype = _DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        raise ValueError(f"safetensors: tensor {name!r} has the unknown dtype {value['dtype']!r}.")
    shape, offsets = _sizes(name, "shape", value["shape"]), _sizes(name, "data_offsets", value["data_offsets"])
    if len(offsets) != 2 or offsets[1] < offsets[0]:
        raise ValueError(f"safetensors: tensor {name!r} has data_offsets {offsets}; needed are a begin and an end.")
    needed = math.prod(shape) * dtype.itemsize
    if needed != offsets[1] - offsets[0]:
        raise ValueError(
            f"safetensors: tensor {name!r} of shape {shape} needs {needed} bytes but has {offsets[1] - offsets[0]}."
        )
    return _Entry(name, dtype, shape, offsets[0], offsets[1])


def _sizes(name: str, what: str, value: Any) -> list[int]:
    if not isinstance(value, list) or len(value) > 64:
        raise ValueError(f"safetensors: tensor {name!r} has a {what} that is no short list.")
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**63 for n in value):
        raise ValueError(f"safetensors: tensor {name!r} has a {what} with other than whole numbers from 0 on.")
    return value


def _read(file: BufferedReader | _Bytes, place: int, count: int) -> bytearray:
    """`count` bytes from `place`; the caller has checked that the file is that long."""
    data = bytearray(count)
    file.seek(place)
    got = file.readinto(data)
    if got != count:
        raise ValueError(f"safetensors: the file ended after {got} of {count} bytes; it changed while being read.")
    return data


def _read_tensor(file: BufferedReader | _Bytes, start: int, entry: _Entry, device: Any) -> Tensor:
    if entry.begin == entry.end:
        return _shaped(entry, empty([0], dtype=entry.dtype)).to(device)
    data = _read(file, start + entry.begin, entry.end - entry.begin)
    if entry.dtype == _core.bool and data.translate(None, b"\x00\x01"):
        raise ValueError(f"safetensors: tensor {entry.name!r} is bool but has bytes other than 0 and 1.")
    return _shaped(entry, frombuffer(data, dtype=entry.dtype)).to(device)


def _shaped(entry: _Entry, flat: Tensor) -> Tensor:
    try:
        return flat.reshape(entry.shape)
    except RuntimeError as error:
        raise ValueError(f"safetensors: tensor {entry.name!r} of shape {entry.shape}: {error}") from None
