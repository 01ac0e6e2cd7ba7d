"""How sparse tensors are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.ops import as_tensor, zeros
from pyburn.sparse.tensor import SparseCooTensor, SparseCsrTensor, size_of

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor"]


def _values(values: Any, dtype: Any, device: Any) -> Tensor:
    return as_tensor(values, dtype=dtype, device=device)


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinates.

    Args:
        indices: A column for each value: its place in the first dimensions. The size alone makes an empty tensor.
        values: The values; values at one place are added up.
        size: The shape; the least that holds all places when left out.
        dtype: The dtype of the values.
        device: Where it is kept.
        pin_memory: Accepted; host memory needs no pinning.
        requires_grad: Whether the values have gradients.
        check_invariants: Places are always checked.
        is_coalesced: Whether the places are known to be in order without repeats.

    Raises:
        RuntimeError: A place lies outside of the size, or the parts do not fit together.

    Example:
        >>> import pyburn
        >>> pyburn.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        given = indices if size is None else size
        empty = zeros([0], dtype=dtype, device=device)
        return SparseCooTensor.make(zeros([len(given), 0], dtype=int64, device=device), empty, list(given), True)
    held = _values(values, dtype, device)
    places = as_tensor(indices, device=held.device).to(int64)
    if places.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if held.dim() < 1 or places.shape[1] != held.shape[0]:
        raise RuntimeError(
            f"number of values must match number of indices: indices have {places.shape[1]} columns, values have "
            f"shape {list(held.shape)}"
        )
    whole = size_of(places, held) if size is None else list(size)
    _check_places(places, held, whole)
    made = SparseCooTensor.make(places, held, whole, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _check_places(places: Tensor, held: Tensor, size: Sequence[int]) -> None:
    if len(size) != places.shape[0] + held.dim() - 1 or list(size[places.shape[0] :]) != list(held.shape[1:]):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({places.shape[0]}) + dense_dim ({held.dim() - 1}), with the "
            f"values' shape {list(held.shape[1:])} at the end, but got size {list(size)}"
        )
    if places.shape[1] == 0:
        return
    if places.amin().item() < 0:
        raise RuntimeError(f"found negative index {places.amin().item()} in the indices of a sparse tensor")
    for row, length in zip(places.amax(1).tolist(), size, strict=False):
        if row >= length:
            raise RuntimeError(f"size is inconsistent with indices: for a dimension of size {length} found index {row}")


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix in compressed rows.

    Args:
        crow_indices: Where each row begins among the values, and how many there are.
        col_indices: The column of each value.
        values: The values.
        size: The shape; the least that holds all places when left out.
        dtype: The dtype of the values.
        device: Where it is kept.
        pin_memory: Accepted; host memory needs no pinning.
        requires_grad: Whether the values have gradients.
        check_invariants: Places are always checked.

    Raises:
        RuntimeError: The parts do not fit together.

    Example:
        >>> import pyburn
        >>> pyburn.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    held = _values(values, dtype, device)
    crow, column = as_tensor(crow_indices, device=held.device), as_tensor(col_indices, device=held.device)
    if crow.dim() != 1 or column.dim() != 1 or held.shape[:1] != column.shape:
        raise RuntimeError("sparse_csr_tensor: crow_indices and col_indices must be vectors, the latter one per value.")
    rows = int(crow.shape[0]) - 1
    if size is None:
        size = (rows, int(column.amax().item()) + 1 if column.numel() else 0)
    steps = crow[1:] - crow[:-1]
    if rows != size[0] or crow[0].item() != 0 or crow[-1].item() != column.shape[0] or bool((steps < 0).any()):
        raise RuntimeError(
            f"sparse_csr_tensor: crow_indices must rise from 0 to the number of values {column.shape[0]} in "
            f"{size[0]} steps."
        )
    if column.numel() and not 0 <= column.amin().item() <= column.amax().item() < size[1]:
        raise RuntimeError(f"sparse_csr_tensor: a column lies outside of the size {list(size)}.")
    made = SparseCsrTensor.make(crow, column, held, size)
    return made.requires_grad_() if requires_grad else made
