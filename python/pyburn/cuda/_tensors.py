"""The typed constructors of CUDA tensors: there is no CUDA, so that calling one raises, and nothing is an instance."""

from __future__ import annotations

from typing import Any, NoReturn

from pyburn import _core

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


class _CudaType(type):
    """The type of these names."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise _core.DeviceError(
            f"cuda.{cls.__name__}: there is no CUDA here; use pyburn.{cls.__name__}, or device='wgpu' for a GPU."
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return False


class FloatTensor(metaclass=_CudaType):
    """CUDA tensors of float32: there are none."""

    dtype = _core.float32


class DoubleTensor(metaclass=_CudaType):
    """CUDA tensors of float64: there are none."""

    dtype = _core.float64


class HalfTensor(metaclass=_CudaType):
    """CUDA tensors of float16: there are none."""

    dtype = _core.float16


class BFloat16Tensor(metaclass=_CudaType):
    """CUDA tensors of bfloat16: there are none."""

    dtype = _core.bfloat16


class LongTensor(metaclass=_CudaType):
    """CUDA tensors of int64: there are none."""

    dtype = _core.int64


class IntTensor(metaclass=_CudaType):
    """CUDA tensors of int32: there are none."""

    dtype = _core.int32


class ShortTensor(metaclass=_CudaType):
    """CUDA tensors of int16: there are none."""

    dtype = _core.int16


class CharTensor(metaclass=_CudaType):
    """CUDA tensors of int8: there are none."""

    dtype = _core.int8


class ByteTensor(metaclass=_CudaType):
    """CUDA tensors of uint8: there are none."""

    dtype = _core.uint8


class BoolTensor(metaclass=_CudaType):
    """CUDA tensors of bool: there are none."""

    dtype = _core.bool
