"""The typed constructors of early torch: ``LongTensor([1, 2])``, ``FloatTensor(2, 3)``."""

from __future__ import annotations

from typing import Any

from pyburn import _core
from pyburn._core import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class _TensorType(type):
    """The type of these names: calling one gives a plain Tensor, and `isinstance` asks for the dtype."""

    dtype: _core.dtype

    def __call__(cls, *args: Any, device: Any = "cpu") -> Tensor:
        if len(args) == 1 and not isinstance(args[0], int) and type(args[0]).__name__ != "Size":
            return _core._tensor(args[0], cls.dtype, device)
        return _core._full(cls.__name__, args or (0,), 0, cls.dtype, device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype and instance.is_cpu


_native_type = Tensor.type


def _place(self: Tensor, name: str) -> Tensor:
    """This tensor on the device that the full name of a type stands for."""
    if ".cuda." in name:
        return self.cuda()
    if ".wgpu." in name:
        return self.to("wgpu") if self.is_cpu else self
    return self.cpu()


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """This tensor in another dtype, which may be named by one of the types below; without one, the type's name.

    A type, unlike a dtype, stands for a device too: the plain ones for the CPU.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).type(pyburn.LongTensor)
        tensor([1])
    """
    if dtype is None:
        return _native_type(self)
    if isinstance(dtype, str):
        return _native_type(_place(self, dtype), dtype)
    if isinstance(dtype, _TensorType):
        return _native_type(self.cpu(), dtype.dtype)
    if isinstance(dtype, type) and dtype.__module__.startswith("pyburn.cuda"):
        return _native_type(self.cuda(), getattr(dtype, "dtype", None))
    return _native_type(self, dtype)


setattr(Tensor, "type", _type)  # noqa: B010


class FloatTensor(metaclass=_TensorType):
    """CPU tensors of float32; a call makes one from sizes or from data.

    Example:
        >>> import pyburn
        >>> pyburn.FloatTensor([1, 2])
        tensor([1., 2.])
    """

    dtype = _core.float32


class DoubleTensor(metaclass=_TensorType):
    """CPU tensors of float64."""

    dtype = _core.float64


class HalfTensor(metaclass=_TensorType):
    """CPU tensors of float16."""

    dtype = _core.float16


class BFloat16Tensor(metaclass=_TensorType):
    """CPU tensors of bfloat16."""

    dtype = _core.bfloat16


class LongTensor(metaclass=_TensorType):
    """CPU tensors of int64."""

    dtype = _core.int64


class IntTensor(metaclass=_TensorType):
    """CPU tensors of int32."""

    dtype = _core.int32


class ShortTensor(metaclass=_TensorType):
    """CPU tensors of int16."""

    dtype = _core.int16


class CharTensor(metaclass=_TensorType):
    """CPU tensors of int8."""

    dtype = _core.int8


class ByteTensor(metaclass=_TensorType):
    """CPU tensors of uint8."""

    dtype = _core.uint8


class BoolTensor(metaclass=_TensorType):
    """CPU tensors of bool."""

    dtype = _core.bool
