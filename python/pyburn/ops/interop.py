"""Tensors over memory that others own: numpy arrays, buffers, DLPack; and the functions that share when they can."""

from __future__ import annotations

from typing import Any

from pyburn import _core
from pyburn._core import Tensor, from_numpy
from pyburn._storage import UntypedStorage
from pyburn.ops.creation import Device

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "to_dlpack"]


def _shared(data: Any) -> Tensor | None:
    """A tensor over the memory of `data`, or None when it has none to share."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, UntypedStorage):
        return data._elements()
    if hasattr(data, "__array_interface__") and hasattr(data, "strides") and hasattr(data, "flags"):
        # A numpy scalar has all of an array's attributes, and no memory to share.
        return from_numpy(data) if type(data).__name__ == "ndarray" or data.ndim > 0 else None
    if hasattr(data, "__dlpack__"):
        return from_dlpack(data)
    return None


def as_tensor(data: Any, dtype: _core.dtype | None = None, device: Device = None) -> Tensor:
    """A tensor of `data` that shares its memory, and its gradient history, where dtype and device allow.

    Args:
        data: A tensor, a numpy array, or anything that :func:`tensor` takes.
        dtype: The element type; that of `data` if not given.
        device: Where it lives; where `data` is if not given.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1, 2])
        >>> pyburn.as_tensor(x) is x
        True
    """
    shared = _writable(data)
    if shared is None:
        return _core._tensor(data, dtype, device)
    if device is None and not isinstance(data, Tensor):
        device = _core.get_default_device()
    return shared.to(device=device, dtype=dtype)


def _writable(data: Any) -> Tensor | None:
    """As `_shared` for tensors and for numpy arrays that may be written to."""
    if isinstance(data, Tensor):
        return data
    flags = getattr(data, "flags", None)
    if type(data).__name__ == "ndarray" and flags is not None and flags.writeable:
        return from_numpy(data)
    return None


def asarray(
    obj: Any,
    *,
    dtype: _core.dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of `obj` that shares its memory unless `copy` or the other arguments forbid it.

    Args:
        obj: A tensor, a numpy array or scalar, an object with DLPack or the buffer protocol, or nested numbers.
        dtype: The element type; that of `obj` if not given.
        device: Where it lives; where `obj` is if not given.
        copy: True to copy always, False to fail rather than copy.
        requires_grad: Whether gradients are wanted for it; as with `obj` if not given. False takes it out of the graph.

    Raises:
        ValueError: If `copy=False` and a copy would be needed.

    Example:
        >>> import pyburn
        >>> pyburn.asarray(bytearray(b"abc"))
        tensor([97, 98, 99], dtype=pyburn.uint8)
    """
    shared = _shared(obj)
    if shared is None and isinstance(obj, bytearray | memoryview):
        shared = frombuffer(obj, dtype=dtype or _core.uint8)
    if shared is None:
        if copy is False:
            raise ValueError("asarray: can't alias arbitrary sequence into a tensor; leave copy=False out")
        return _core._tensor(obj, dtype, device, bool(requires_grad))
    result = shared.detach() if requires_grad is False and shared.requires_grad else shared
    converted = result.to(device=device, dtype=dtype, copy=copy is True)
    if copy is False and converted is not result:
        raise ValueError(
            f"asarray: can't alias a tensor of {shared.dtype} on {shared.device} as {converted.dtype} on "
            f"{converted.device}; leave copy=False out"
        )
    return converted.requires_grad_() if requires_grad and converted.is_leaf else converted


def frombuffer(
    buffer: Any, *, dtype: _core.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector over the memory of an object with Python's buffer protocol.

    Args:
        buffer: The object; it is kept alive, and cannot be resized while the tensor lives.
        dtype: How to read its bytes.
        count: How many elements to take; -1 for all.
        offset: How many bytes to skip first.
        requires_grad: Whether gradients are wanted for it.

    Raises:
        ValueError: If the bytes are too few, or not aligned for the dtype.

    Example:
        >>> import pyburn
        >>> data = bytearray([1, 0, 2, 0])
        >>> pyburn.frombuffer(data, dtype=pyburn.int16)
        tensor([1, 2], dtype=pyburn.int16)

    Differs from torch:
        An offset that leaves the elements unaligned is an error.
    """
    try:
        memoryview(buffer)
    except TypeError:
        raise ValueError("frombuffer: object does not implement Python buffer protocol.") from None
    return _core._frombuffer(buffer, dtype, count, offset).requires_grad_(requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object with `__dlpack__`, or of a DLPack capsule.

    Args:
        ext_tensor: The object or capsule; a capsule can be used once.
        device: Where the tensor lives; other devices than the CPU get a copy.
        copy: True to copy always, False to fail rather than copy.

    Example:
        >>> import pyburn
        >>> x = pyburn.zeros(2)
        >>> pyburn.from_dlpack(x).fill_(1)
        tensor([1., 1.])
        >>> x
        tensor([1., 1.])
    """
    shared = _core._from_dlpack(ext_tensor, copy)
    if device is None:
        return shared
    moved = shared.to(device=device)
    if copy is False and moved is not shared:
        raise ValueError(f"from_dlpack: moving to {moved.device} needs a copy; leave copy=False out")
    return moved


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory, for another library's `from_dlpack`.

    Example:
        >>> import pyburn
        >>> type(pyburn.to_dlpack(pyburn.ones(2))).__name__
        'PyCapsule'
    """
    return tensor.__dlpack__()
