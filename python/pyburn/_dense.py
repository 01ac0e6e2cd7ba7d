"""What a dense tensor answers when it is asked as a sparse, quantized or foreign one: torch's answers and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyburn import _core
from pyburn._core import Tensor

_COMPRESSED = "sparse {} compressed"
# The method: what it expects, in torch's words.
_SPARSE = {
    "values": "sparse",
    "indices": "sparse coordinate",
    "coalesce": "sparse coordinate",
    "is_coalesced": "sparse coordinate",
    "crow_indices": _COMPRESSED.format("row"),
    "col_indices": _COMPRESSED.format("row"),
    "ccol_indices": _COMPRESSED.format("column"),
    "row_indices": _COMPRESSED.format("column"),
}
_NOT_DENSE = {
    "_indices": "sparse tensors have it; call to_sparse() first",
    "_nnz": "sparse tensors have it; call to_sparse() first",
    "_values": "sparse tensors have it; call to_sparse() first",
    "int_repr": "pyburn has no quantized tensors",
    "q_per_channel_axis": "pyburn has no quantized tensors",
    "q_per_channel_scales": "pyburn has no quantized tensors",
    "q_per_channel_zero_points": "pyburn has no quantized tensors",
    "q_scale": "pyburn has no quantized tensors",
    "q_zero_point": "pyburn has no quantized tensors",
    "qscheme": "pyburn has no quantized tensors",
    "to_mkldnn": "pyburn has one memory layout for dense tensors; use the tensor itself",
    "to_padded_tensor": "only nested tensors are padded by it; pad with nn.utils.rnn.pad_sequence",
}
_DEVICES = ("ipu", "mtia", "xpu")


def _expecting(name: str, kind: str) -> Callable[..., NoReturn]:
    def method(self: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected {kind} tensor layout but got Strided; call to_sparse() first")

    method.__doc__ = (
        f"Nothing: raises for a dense tensor, since a {kind} one is expected.\n\nRaises:\n    RuntimeError."
    )
    return method


def _missing(name: str, reason: str) -> Callable[..., NoReturn]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name}: not there for a dense tensor: {reason}")

    method.__doc__ = f"Nothing: raises for a dense tensor: {reason}.\n\nRaises:\n    NotImplementedError: Always."
    return method


def _elsewhere(name: str) -> Callable[..., NoReturn]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise _core.DeviceError(f"{name}: there is no such device here; pyburn.devices() lists those there are.")

    method.__doc__ = "Nothing: raises, since there is no such device here.\n\nRaises:\n    DeviceError: Always."
    return method


def sparse_dim(self: Tensor) -> int:
    """0: none of a dense tensor's dimensions is sparse.

    Example:
        >>> import pyburn
        >>> pyburn.ones(2, 3).sparse_dim()
        0
    """
    return 0


def dense_dim(self: Tensor) -> int:
    """The number of dimensions, all of which are dense.

    Example:
        >>> import pyburn
        >>> pyburn.ones(2, 3).dense_dim()
        2
    """
    return self.dim()


def dequantize(self: Tensor) -> Tensor:
    """This tensor in float32, as torch gives it for one that is not quantized.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1, dtype=pyburn.float64).dequantize()
        tensor([1.])
    """
    return self.to(_core.float32)


def is_distributed(self: Tensor) -> bool:
    """False: a tensor is in one process.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).is_distributed()
        False
    """
    return False


def _attach(name: str, method: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    setattr(Tensor, name, method)


for _name, _kind in _SPARSE.items():
    _attach(_name, _expecting(_name, _kind))
for _name, _reason in _NOT_DENSE.items():
    _attach(_name, _missing(_name, _reason))
for _name in _DEVICES:
    _attach(_name, _elsewhere(_name))
for _method in (dense_dim, dequantize, is_distributed, sparse_dim):
    _attach(_method.__name__, _method)
