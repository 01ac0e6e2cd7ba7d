"""Copies of tensors: pickle, `copy.copy` and `copy.deepcopy`."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from pyburn import _core
from pyburn._core import Tensor


def _from_bytes(data: bytes, shape: Sequence[int], dtype: _core.dtype) -> Tensor:
    """A CPU tensor over a copy of bytes in row-major order; the inverse of `Tensor._bytes`."""
    wanted = dtype.itemsize * math.prod(shape)
    if len(data) != wanted or any(size < 0 for size in shape):
        raise ValueError(f"{len(data)} bytes do not fill a tensor of shape {list(shape)} and {dtype}: {wanted} do.")
    if not data:
        return _core._full("from_bytes", (shape,), 0, dtype, "cpu")
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    return _core._frombuffer(bytearray(data), dtype)._over(shape, strides, 0)


def _rebuild_tensor(
    kind: type[Tensor] | None, data: bytes, shape: tuple[int, ...], dtype: _core.dtype, device: str, requires_grad: bool
) -> Tensor:
    """A tensor from what `__reduce_ex__` wrote; one whose GPU is absent comes back on the CPU."""
    made = _from_bytes(data, shape, dtype)
    if device != "cpu":
        with contextlib.suppress(_core.DeviceError):
            made = made.to(device=device)
    return _as(kind, made, requires_grad)


def _rebuild_kind(kind: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    """A tensor of a subclass over the memory of a plain one."""
    return _as(kind, data, requires_grad)


def _rebuild_meta(
    kind: type[Tensor] | None, shape: tuple[int, ...], stride: tuple[int, ...], dtype: _core.dtype, requires_grad: bool
) -> Tensor:
    """A tensor without values, of which only the form was written."""
    return _as(kind, _core._empty_strided(list(shape), list(stride), dtype, _core.device("meta")), requires_grad)


def _as(kind: type[Tensor] | None, data: Tensor, requires_grad: bool) -> Tensor:
    if kind is None or kind is Tensor:
        return data.requires_grad_() if requires_grad else data
    made: Tensor = Tensor._make_subclass(kind, data, requires_grad)
    return made


def __reduce_ex__(
    self: Tensor, protocol: SupportsIndex
) -> tuple[Callable[..., Tensor], tuple[Any, ...], dict[str, Any] | None]:
    shape = tuple(self.shape)
    # A plain tensor's class is not written: under the alias it has torch's name, which others may not have.
    kind = None if type(self) is Tensor else type(self)
    if self.is_meta:
        return _rebuild_meta, (kind, shape, self.stride(), self.dtype, self.requires_grad), self.__dict__ or None
    if kind is not None:
        # The plain tensor inside is written as any: to another process by its shared memory.
        plain = Tensor.__new__(Tensor, self.detach())
        return _rebuild_kind, (kind, plain, self.requires_grad), self.__dict__ or None
    arguments = (None, self._bytes(), shape, self.dtype, str(self.device), self.requires_grad)
    return _rebuild_tensor, arguments, self.__dict__ or None


def __copy__(self: Tensor) -> Tensor:
    made = _as(type(self), self.detach(), self.requires_grad)
    made.__dict__.update(self.__dict__)
    return made


def __deepcopy__(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "Copy tensor.detach() instead, or take the tensor out of the object that is copied."
        )
    # Views of one storage stay views of one storage.
    key = ("pyburn storage", self._storage_ptr(), self.dtype)
    if key not in memo:
        memo[key] = self._whole_storage().clone()
        # The address stays taken, so that the key stays true, until the copy is done.
        memo.setdefault(id(memo), []).append(self)
    data = memo[key]._over(self.shape, self.stride(), self.storage_offset())
    made = _as(type(self), data, self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


METHODS = (__reduce_ex__, __copy__, __deepcopy__)

for _method in METHODS:
    setattr(Tensor, _method.__name__, _method)
