"""torch._utils: helpers that training code borrows."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from pyburn import ops
from pyburn._checks import get_device_module as _get_device_module
from pyburn._core import Tensor, dtype

__all__ = [
    "_assert",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_available_device_type",
    "_get_device_module",
    "_rebuild_parameter",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_unflatten_dense_tensors",
]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of the tensors in one vector.

    Example:
        >>> import pyburn
        >>> _flatten_dense_tensors([pyburn.ones(1, 2), pyburn.zeros(1)])
        tensor([1., 1., 0.])
    """
    return ops.cat([tensor.reshape(-1) for tensor in tensors])


def _assert(condition: Any, message: str) -> None:
    """Nothing.

    Raises:
        AssertionError: The condition does not hold.
    """
    if not condition:
        raise AssertionError(message)


def _element_size(dtype: dtype) -> int:
    """The number of bytes of one element.

    Example:
        >>> import pyburn
        >>> _element_size(pyburn.float64)
        8
    """
    return dtype.itemsize


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector with the shapes of the tensors.

    Example:
        >>> import pyburn
        >>> _unflatten_dense_tensors(pyburn.arange(3), [pyburn.ones(1, 2), pyburn.zeros(1)])
        (tensor([[0, 1]]), tensor([2]))
    """
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors))


def _get_available_device_type() -> str | None:
    """The kind of an accelerator of torch's that is here: none of them is."""
    return None


def _rebuild_tensor(storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """A tensor over a storage: what Python's pickle calls for a tensor that torch wrote."""
    return ops.empty(0, dtype=storage.dtype).set_(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage, with whether it wants gradients."""
    return _rebuild_tensor(storage, storage_offset, size, stride).requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter over a tensor."""
    return importlib.import_module("pyburn.nn").Parameter(data, requires_grad)
