"""torch.sparse: tensors whose zeros are not stored, at the level graph networks use them."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.ops import zeros
from pyburn.sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from pyburn.sparse.creation import sparse_csr_tensor as sparse_csr_tensor

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a matrix; of two sparse ones it is sparse.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> pyburn.sparse.mm(graph, pyburn.eye(2))
        tensor([[0., 2.],
                [3., 0.]])
    """
    return mat1 @ mat2


spmm = mm


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, where `mat1` is sparse.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
        >>> pyburn.sparse.addmm(pyburn.ones(2, 2), graph, pyburn.eye(2))
        tensor([[1., 3.],
                [1., 1.]])
    """
    return beta * mat + alpha * (mat1 @ mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor, of all or along dimensions; it is sparse while a dimension with places is left.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0, 1], [1, 1]], [2.0, 3.0], (2, 2))
        >>> pyburn.sparse.sum(graph, 0).to_dense()
        tensor([0., 5.])
    """
    result: Tensor = input.sum(dim)
    return result if dtype is None else result.to(dtype)


def _by_group(input: Any, dim: int) -> tuple[Any, Tensor, int]:
    """The coalesced tensor, which values are compared with each other, and how many groups there are."""
    whole = input._coo().coalesce()
    if whole.dense_dim() or not -whole.dim() <= dim < whole.dim():
        raise RuntimeError("sparse softmax: the dimension must have places, and the values none of their own.")
    flat, count = whole._places[0] * 0, 1
    for d, row in enumerate(whole._places):
        if d != dim % whole.dim():
            flat, count = flat * whole.shape[d] + row, count * whole.shape[d]
    return whole, flat, count


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0, 0], [0, 1]], [1.0, 1.0], (1, 2))
        >>> pyburn.sparse.log_softmax(graph, 1).values()
        tensor([-0.6931, -0.6931])
    """
    whole, group, count = _by_group(input if dtype is None else input.to(dtype), dim)
    values = whole._stored
    highest = zeros([count], dtype=values.dtype, device=values.device).scatter_reduce(
        0, group, values.detach(), "amax", include_self=False
    )
    moved = values - highest[group]
    total = zeros([count], dtype=values.dtype, device=values.device).index_add(0, group, moved.exp())
    result: Tensor = whole._with(moved - total[group].log())
    return result


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """The softmax of the stored values along a dimension; what is not stored counts as minus infinity.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0, 0], [0, 1]], [1.0, 1.0], (1, 2))
        >>> pyburn.sparse.softmax(graph, 1).values()
        tensor([0.5000, 0.5000])
    """
    logs: Any = log_softmax(input, dim, dtype=dtype)
    result: Tensor = logs._with(logs._stored.exp())
    return result
