"""The typed constructors of early torch for sparse tensors: ``sparse.FloatTensor(indices, values, size)``."""

from __future__ import annotations

from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.sparse.creation import sparse_coo_tensor
from pyburn.sparse.tensor import SparseCooTensor

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class _SparseType(type):
    """The type of these names: calling one gives a sparse tensor, and `isinstance` asks for layout and dtype."""

    dtype: _core.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if args and isinstance(args[0], Tensor):
            # The values keep their own dtype, whatever the name says; so it is in torch.
            return sparse_coo_tensor(*args, device=device)
        size = args[0] if args and not isinstance(args[0], int) else args or (0,)
        return sparse_coo_tensor(size, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, SparseCooTensor) and instance.dtype == cls.dtype and instance.is_cpu


class FloatTensor(metaclass=_SparseType):
    """Sparse CPU tensors of float32; a call makes one from indices and values, or an empty one of a size.

    Example:
        >>> import pyburn
        >>> places, values = pyburn.LongTensor([[0, 1], [2, 0]]), pyburn.FloatTensor([3.0, 4.0])
        >>> pyburn.sparse.FloatTensor(places, values, pyburn.Size([2, 3])).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """

    dtype = _core.float32


class DoubleTensor(metaclass=_SparseType):
    """Sparse CPU tensors of float64."""

    dtype = _core.float64


class HalfTensor(metaclass=_SparseType):
    """Sparse CPU tensors of float16."""

    dtype = _core.float16


class BFloat16Tensor(metaclass=_SparseType):
    """Sparse CPU tensors of bfloat16."""

    dtype = _core.bfloat16


class LongTensor(metaclass=_SparseType):
    """Sparse CPU tensors of int64."""

    dtype = _core.int64


class IntTensor(metaclass=_SparseType):
    """Sparse CPU tensors of int32."""

    dtype = _core.int32


class ShortTensor(metaclass=_SparseType):
    """Sparse CPU tensors of int16."""

    dtype = _core.int16


class CharTensor(metaclass=_SparseType):
    """Sparse CPU tensors of int8."""

    dtype = _core.int8


class ByteTensor(metaclass=_SparseType):
    """Sparse CPU tensors of uint8."""

    dtype = _core.uint8
