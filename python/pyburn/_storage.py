"""Storages: small objects that say what memory is under a tensor."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import strided

# Bytes: what any dtype can begin at.
_ALIGNED = 16


class UntypedStorage:
    """The bytes under a tensor, shared by all its views."""

    __slots__ = ("_tensor",)

    def __init__(self, source: Any = 0) -> None:
        """Memory of a number of bytes, of a list of bytes, or under a tensor."""
        if isinstance(source, int):
            source = _core._full("UntypedStorage", (source,), 0, _core.uint8, "cpu")
        if not isinstance(source, Tensor):
            source = _core._tensor(list(source), _core.uint8, "cpu")
        self._tensor: Tensor = source.detach()

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory.

        Args:
            filename: The file; if `shared`, it is made or made longer where it has fewer than `nbytes` bytes.
            shared: Whether writes go to the file; else they stay in memory.
            nbytes: How many bytes to map, from the first.

        Raises:
            RuntimeError: The file has fewer bytes.
        """
        import mmap  # only here: `import pyburn` does not need it

        if shared:
            with open(filename, "ab") as file:
                file.truncate(max(nbytes, file.tell()))
        with open(filename, "r+b" if shared else "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < nbytes:
                raise RuntimeError(f"from_file: {os.fspath(filename)} has {size} bytes but nbytes is {nbytes}.")
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            data = mmap.mmap(file.fileno(), nbytes, access=access) if nbytes else b""
        return cls(_core._frombuffer(data, _core.uint8, -1, 0) if nbytes else 0)

    @property
    def device(self) -> _core.device:
        """Where the memory is."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """The address of the first byte."""
        # Who asks for an element's address may write there: nothing is kept beside such memory.
        self._tensor.data_ptr()
        return self._tensor._storage_ptr()

    def _place(self) -> int:
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
        """Whether other processes can see the memory."""
        return is_shared(self._tensor)

    def share_memory_(self) -> Any:
        """This memory, moved to where other processes can see it; so are all tensors over it."""
        share_memory_(self._tensor)
        return self

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> Any:
        """Shared memory for so many bytes."""
        return cls(size).share_memory_()

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    def clone(self) -> Any:
        """A copy of the memory."""
        return type(self)(self._tensor._whole_storage().clone())

    def cpu(self) -> Any:
        """The memory itself, or a copy in the CPU's."""
        return type(self)(self._tensor._whole_storage().cpu())

    def fill_(self, value: Any) -> Any:
        """This memory, all of whose elements are `value` now."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> Any:
        """This memory, with the elements of `source`."""
        self._elements().copy_(source._elements())
        return self

    @property
    def is_cuda(self) -> bool:
        """False: there is no CUDA here."""
        return False

    def _elements(self) -> Tensor:
        whole = self._tensor._whole_storage()
        return whole if whole.dtype == _core.uint8 else whole.view(_core.uint8)

    def __getitem__(self, index: Any) -> Any:
        part = self._elements()[index]
        if isinstance(index, int):
            return part.item()
        # A storage begins where it begins: tensors over two pieces do not say that they share memory.
        shares = part.device.type == "cpu" and part.data_ptr() % _ALIGNED == 0 and part.is_contiguous()
        return UntypedStorage(_core._from_dlpack(part, None) if shares else part.clone())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __len__(self) -> int:
        return self.size()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and type(other) is type(self) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

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

    def _new_shared(self, size: int, *, device: Any = "cpu") -> Any:  # type: ignore[override]
        """Shared memory for so many elements of this one's type: what functions that collate batches ask for."""
        return TypedStorage(_core._full("_new_shared", (size,), 0, self.dtype, "cpu")).share_memory_()

    def _elements(self) -> Tensor:
        return self._tensor._whole_storage()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()


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
    """This tensor, whose storage now lies in memory that child processes and receivers of it see, and write to.

    The storage moves with all its views; a tensor that is in shared memory already stays where it is.

    Raises:
        NotImplementedError: The tensor is not in the CPU's memory.

    Example:
        >>> import pyburn
        >>> x = pyburn.zeros(3)
        >>> row = x[1:]
        >>> x.share_memory_(), row.is_shared()
        (tensor([0., 0., 0.]), True)
    """
    importlib.import_module("pyburn._sharing").share(self)
    return self


def is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(3).is_shared()
        False
    """
    # Loaded by whoever shares memory first; what is not loaded has shared nothing.
    sharing = sys.modules.get("pyburn._sharing")
    return sharing is not None and bool(sharing.is_shared(self))


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
