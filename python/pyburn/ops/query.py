"""Questions about tensors and dtypes."""

from __future__ import annotations

from typing import TypeGuard

from pyburn._core import Tensor, result_type

__all__ = [
    "get_device",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_storage",
    "is_tensor",
    "numel",
    "result_type",
]

METHODS = ("get_device",)


def is_tensor(obj: object) -> TypeGuard[Tensor]:
    """Whether `obj` is a tensor.

    Example:
        >>> import pyburn
        >>> pyburn.is_tensor([1, 2])
        False
    """
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether `obj` is what :meth:`Tensor.untyped_storage` gives.

    Example:
        >>> import pyburn
        >>> pyburn.is_storage(pyburn.zeros(2).untyped_storage())
        True
    """
    from pyburn._storage import UntypedStorage

    return isinstance(obj, UntypedStorage)


def numel(input: Tensor) -> int:
    """The number of elements.

    Example:
        >>> import pyburn
        >>> pyburn.numel(pyburn.zeros(2, 3))
        6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers.

    Example:
        >>> import pyburn
        >>> pyburn.is_floating_point(pyburn.tensor(1))
        False
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    Example:
        >>> import pyburn
        >>> pyburn.is_complex(pyburn.tensor(1.0))
        False
    """
    return input.is_complex()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor with a single element holds something other than zero.

    Example:
        >>> import pyburn
        >>> pyburn.is_nonzero(pyburn.tensor([0.5]))
        True
    """
    return input.is_nonzero()


def get_device(input: Tensor) -> int:
    """The number of the GPU that a tensor is on, -1 for the CPU.

    Example:
        >>> import pyburn
        >>> pyburn.get_device(pyburn.zeros(1, device="cpu"))
        -1
    """
    return -1 if input.device.index is None else input.device.index
