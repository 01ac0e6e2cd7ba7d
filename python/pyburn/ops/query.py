"""Questions about tensors and dtypes."""

from __future__ import annotations

from typing import TypeGuard

from pyburn._core import Tensor, result_type

__all__ = [
    "detach",
    "get_device",
    "is_complex",
    "is_floating_point",
    "is_inference",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "result_type",
]

METHODS = ("get_device", "is_same_size")


def detach(input: Tensor) -> Tensor:
    """The same memory outside the graph.

    Example:
        >>> import pyburn
        >>> pyburn.detach(pyburn.ones(1, requires_grad=True)).requires_grad
        False
    """
    return input.detach()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    Example:
        >>> import pyburn
        >>> pyburn.is_inference(pyburn.ones(1))
        False
    """
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape.

    Example:
        >>> import pyburn
        >>> pyburn.is_same_size(pyburn.ones(2), pyburn.ones(3))
        False
    """
    return input.shape == other.shape


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    Example:
        >>> import pyburn
        >>> pyburn.is_signed(pyburn.ones(1, dtype=pyburn.uint8))
        False
    """
    return input.is_signed()


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
