"""The typed storages of early torch: ``FloatStorage(3)``, ``isinstance(x.storage(), LongStorage)``."""

from __future__ import annotations

from typing import Any

from pyburn import _core
from pyburn._storage import TypedStorage

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
]


class _StorageType(type):
    """The type of these names: calling one gives a TypedStorage, and `isinstance` asks for the dtype."""

    dtype: _core.dtype

    def __call__(cls, *args: Any) -> TypedStorage:
        given = args[0] if args else 0
        if isinstance(given, int):
            return TypedStorage(_core._full(cls.__name__, (given,), 0, cls.dtype, "cpu"))
        return TypedStorage(_core._tensor(list(given), cls.dtype, "cpu"))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype == cls.dtype


def _storage(name: str, dtype: _core.dtype) -> Any:
    text = f"Storages of {str(dtype).rpartition('.')[2]}; a call makes one of a size or from a list."
    return _StorageType(name, (), {"dtype": dtype, "__doc__": text, "__module__": __name__})


BFloat16Storage = _storage("BFloat16Storage", _core.bfloat16)
BoolStorage = _storage("BoolStorage", _core.bool)
ByteStorage = _storage("ByteStorage", _core.uint8)
CharStorage = _storage("CharStorage", _core.int8)
ComplexDoubleStorage = _storage("ComplexDoubleStorage", _core.complex128)
ComplexFloatStorage = _storage("ComplexFloatStorage", _core.complex64)
DoubleStorage = _storage("DoubleStorage", _core.float64)
FloatStorage = _storage("FloatStorage", _core.float32)
HalfStorage = _storage("HalfStorage", _core.float16)
IntStorage = _storage("IntStorage", _core.int32)
LongStorage = _storage("LongStorage", _core.int64)
ShortStorage = _storage("ShortStorage", _core.int16)
