"""Storages: small objects that say what memory is under a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import strided


class UntypedStorage:
    """The bytes under a tensor, shared by all its views."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()

    @property
    def device(self) -> _core.device:
        """Where the memory is."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._tensor._storage_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._tensor._storage_nbytes()

    def size(self) -> int:
        """The number of elements, which for untyped memory are bytes."""
        return self.nbytes()

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return 1

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return list(self._tensor._whole_storage().cpu().view(_core.uint8).tolist())

    def is_shared(self) -> bool:
        """Whether other processes see the memory; they never do."""
        return False

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and type(other) is type(self) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __repr__(self) -> str:
        return f"[{_core._library()}.{type(self).__name__}(device={self.device}) of size {self.size()}]"


class TypedStorage(UntypedStorage):
    """The elements under a tensor, shared by all its views."""

    __slots__ = ()

    @property
    def dtype(self) -> _core.dtype:
        """The type of the elements."""
        return self._tensor.dtype

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return self._tensor.element_size()

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return list(self._tensor._whole_storage().tolist())

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    def __getitem__(self, index: Any) -> Any:
        part = self._tensor._whole_storage()[index]
        return part.item() if isinstance(index, int) else TypedStorage(part)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._tensor._whole_storage()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        """This memory, all of whose elements are `value` now."""
        self._tensor._whole_storage().fill_(value)
        return self

    def clone(self) -> TypedStorage:
        """A copy of the elements."""
        return TypedStorage(self._tensor._whole_storage().clone())

    def cpu(self) -> TypedStorage:
        """The elements in the CPU's memory."""
        return TypedStorage(self._tensor._whole_storage().cpu())

    @property
    def is_cuda(self) -> bool:
        """False: there is no CUDA here."""
        return False


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes under this tensor.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(3).narrow(0, 1, 1).untyped_storage().nbytes()
        12
    """
    return UntypedStorage(self)


def storage(self: Tensor) -> TypedStorage:
    """The elements under this tensor.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(3).narrow(0, 1, 1).storage().size()
        3
    """
    return TypedStorage(self)


def share_memory_(self: Tensor) -> Tensor:
    """This tensor; memory of forked processes is theirs from the first write on."""
    return self


def is_shared(self: Tensor) -> bool:
    """Whether other processes see the memory; they never do."""
    return False


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """This tensor; host memory needs no pinning here."""
    return self


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned; it never is."""
    return False


METHODS = (untyped_storage, storage, share_memory_, is_shared, pin_memory, is_pinned)

for _method in METHODS:
    setattr(Tensor, _method.__name__, _method)

setattr(Tensor, "layout", strided)  # noqa: B010
