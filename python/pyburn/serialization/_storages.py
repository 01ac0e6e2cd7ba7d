"""torch's names of storages and dtypes, and the tensors that are made over a storage."""

from __future__ import annotations

import math
from pickle import UnpicklingError
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._size import Size

# The storage class that torch writes for each dtype; newer dtypes are written as untyped bytes.
STORAGES: dict[_core.dtype, str] = {
    _core.float64: "DoubleStorage",
    _core.float32: "FloatStorage",
    _core.float16: "HalfStorage",
    _core.bfloat16: "BFloat16Storage",
    _core.int64: "LongStorage",
    _core.int32: "IntStorage",
    _core.int16: "ShortStorage",
    _core.int8: "CharStorage",
    _core.uint8: "ByteStorage",
    _core.bool: "BoolStorage",
    _core.complex64: "ComplexFloatStorage",
    _core.complex128: "ComplexDoubleStorage",
}
DTYPES = {name: dtype for dtype, name in STORAGES.items()}
NAMED_DTYPES: dict[str, _core.dtype] = {
    name: getattr(_core, name)
    for name in (
        *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8"),
        *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
    )
}


class StorageType:
    """The class that a persistent id names; `dtype` is None for untyped bytes."""

    def __init__(self, dtype: _core.dtype | None) -> None:
        self.dtype = dtype


class Memory:
    """The bytes of one storage, read once, with one flat tensor per dtype over them."""

    def __init__(self, data: bytearray, device: Any) -> None:
        self.data = data
        self.device = device
        self.flat: dict[_core.dtype, Tensor] = {}

    def elements(self, dtype: _core.dtype) -> Tensor:
        """All elements as a vector; every call gives the same memory."""
        if dtype not in self.flat:
            count = len(self.data) // dtype.itemsize
            if dtype == _core.bool and self.data.translate(None, b"\x00\x01"):
                raise UnpicklingError("load: a bool storage has bytes other than 0 and 1.")
            if count:
                made = _core._frombuffer(memoryview(self.data)[: count * dtype.itemsize], dtype)
            else:
                made = _core._full("load", (0,), 0, dtype, "cpu")
            self.flat[dtype] = made.to(self.device)
        return self.flat[dtype]


class Storage:
    """A part of a storage's memory under one dtype; None stands for bytes."""

    def __init__(self, memory: Memory, dtype: _core.dtype | None, offset: int = 0) -> None:
        self.memory = memory
        self.dtype = dtype
        self.offset = offset


class Unread:
    """A storage whose place in the file is not known yet; tensors over it are left out of the first pass."""


def _whole_numbers(what: str, values: Any) -> tuple[int, ...]:
    numbers = tuple(values) if isinstance(values, tuple | list) else ()
    bad = any(type(number) is not int or not 0 <= number < 2**62 for number in numbers)
    if bad or not isinstance(values, tuple | list) or len(numbers) > 64:
        raise UnpicklingError(f"load: a tensor's {what} is {str(values)[:80]}; needed are whole numbers from 0 on.")
    return numbers


def rebuild_tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    dtype: Any = None,
    metadata: Any = None,
) -> Tensor | None:
    """The tensor of this geometry over the storage, whose memory it shares with its other tensors.

    Raises:
        UnpicklingError: The geometry reaches outside the storage, or is none.
    """
    if isinstance(storage, Unread):
        return None
    if not isinstance(storage, Storage):
        raise UnpicklingError(f"load: a tensor lies over a {type(storage).__name__}, which is no storage.")
    kind = storage.dtype if dtype is None else dtype
    if not isinstance(kind, _core.dtype):
        raise UnpicklingError("load: a tensor over untyped bytes has no dtype.")
    if isinstance(metadata, dict) and any(metadata.values()):
        raise UnpicklingError(
            f"load: a tensor is lazily {' and '.join(map(str, metadata))}; save its .clone() instead."
        )
    sizes, strides = _whole_numbers("size", size), _whole_numbers("stride", stride)
    (start,) = _whole_numbers("storage_offset", (offset,))
    elements = storage.memory.elements(kind)
    start += storage.offset
    last = start + sum((n - 1) * step for n, step in zip(sizes, strides)) if 0 not in sizes else start - 1
    if len(sizes) != len(strides) or last >= elements.numel() or math.prod(sizes) >= 2**62:
        raise UnpicklingError(
            f"load: a tensor of size {list(sizes)}, stride {list(strides)} and offset {start} reaches outside its "
            f"storage of {elements.numel()} elements; the file is damaged."
        )
    made = (
        _core._full("load", (sizes,), 0, kind, elements.device) if 0 in sizes else elements._over(sizes, strides, start)
    )
    return made.requires_grad_() if requires_grad is True else made


def size_of(values: Any) -> Size:
    """A Size of whole numbers."""
    return Size(_whole_numbers("size", values))
