"""torch.sparse: tensors whose zeros are not stored, at the level graph networks use them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.ops import tensor as _tensor_of
from pyburn.ops import zeros
from pyburn.sparse import operands as _operands
from pyburn.sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from pyburn.sparse.creation import sparse_csr_tensor as sparse_csr_tensor
from pyburn.sparse.legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]

_operands.install()


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and a matrix; of two sparse ones it is sparse.

    Args:
        mat1: The sparse matrix.
        mat2: The other matrix.
        reduce: "sum", or how the products of a row become one number: "mean", "amax" or "amin"; `mat1` is in
            compressed rows then.

    Example:
        >>> import pyburn
        >>> graph = pyburn.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> pyburn.sparse.mm(graph, pyburn.eye(2))
        tensor([[0., 2.],
                [3., 0.]])
    """
    return mat1 @ mat2 if reduce is None else _reduced(mat1, mat2, reduce)


def _reduced(mat1: Any, mat2: Tensor, reduce: str) -> Tensor:
    if not getattr(mat1, "is_sparse_csr", False) or getattr(mat2, "layout", None) is mat1.layout:
        raise RuntimeError("sparse.mm: with reduce the first matrix must be in compressed rows and the other dense.")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"sparse.mm: reduce must be sum, mean, amax or amin, got {reduce}.")
    row, column = mat1._coo()._places
    weighted = mat2.index_select(0, column) * mat1.values().unsqueeze(-1)
    empty = weighted.new_zeros([mat1.shape[0], mat2.shape[1]])
    places = row.unsqueeze(-1).expand(list(weighted.shape))
    result: Tensor = empty.scatter_reduce(0, places, weighted, reduce, include_self=False)
    return result


spmm = mm


def sampled_addmm(
    input: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0, out: Any = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` at the places that `input`, in compressed rows, has.

    Example:
        >>> import pyburn
        >>> places = pyburn.eye(2).to_sparse_csr()
        >>> pyburn.sparse.sampled_addmm(places, pyburn.ones(2, 3), pyburn.ones(3, 2)).values()
        tensor([4., 4.])
    """
    if not getattr(input, "is_sparse_csr", False):
        raise RuntimeError(f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}")
    if mat1.is_sparse or mat2.is_sparse:
        raise RuntimeError("sampled_addmm: Expected mat1 and mat2 to have strided layout, but one is sparse.")
    if mat1.dim() != 2 or mat2.dim() != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"sampled_addmm: {list(mat1.shape)} and {list(mat2.shape)} cannot be multiplied.")
    if list(input.shape) != [mat1.shape[0], mat2.shape[1]]:
        raise RuntimeError(
            f"sampled_addmm: the product has shape {[mat1.shape[0], mat2.shape[1]]}, the sparse matrix "
            f"{list(input.shape)}; they must agree."
        )
    row, column = input._coo()._places
    products = (mat1.index_select(0, row) * mat2.t().index_select(0, column)).sum(-1)
    values = beta * input.values() + alpha * products
    if out is None:
        result: Tensor = input._with(values)
        return result
    if not getattr(out, "is_sparse_csr", False) or out.shape != input.shape or out.dtype != input.dtype:
        raise RuntimeError(f"sampled_addmm: out must be a matrix in compressed rows like input, but it is {out}")
    out._crow, out._column, out._stored = input._crow.clone(), input._column.clone(), values
    written: Tensor = out
    return written


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


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of `diagonals` on its diagonals.

    Args:
        diagonals: A row, or a matrix with one row for each diagonal; a row's element stands in its own column.
        offsets: How far above the main diagonal each stands, int64; below it where negative.
        shape: The two sizes of the result.
        layout: `pyburn.sparse_csr` for compressed rows; coordinates if not given.

    Raises:
        RuntimeError: The sizes do not fit together, or a diagonal is named twice.

    Example:
        >>> import pyburn
        >>> pyburn.sparse.spdiags(pyburn.tensor([[1, 2], [3, 4]]), pyburn.tensor([0, 1]), (2, 2)).to_dense()
        tensor([[1, 4],
                [0, 2]])
    """
    rows, places = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1).tolist()
    if len(shape) != 2:
        raise RuntimeError("spdiags: Output shape must be 2d")
    if offsets.dtype != int64:
        raise RuntimeError(f"spdiags: Offset Tensor must have dtype int64 but got {offsets.dtype}")
    if len(places) != rows.shape[0]:
        raise RuntimeError(
            f"spdiags: Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({len(places)})"
        )
    if len(set(places)) != len(places):
        raise RuntimeError("spdiags: Offset tensor contains duplicate values")
    if any(not -shape[0] < k < shape[1] for k in places):
        raise RuntimeError(f"spdiags: offsets are {places}, but a matrix of shape {list(shape)} has no such diagonal")
    columns = [range(max(0, k), min(shape[1], shape[0] + k, rows.shape[1])) for k in places]
    found = [(number, column - k, column) for number, k in enumerate(places) for column in columns[number]]
    index = _tensor_of(found, dtype=int64).reshape(-1, 3).t()
    made = sparse_coo_tensor(index[1:], rows[index[0], index[2]], tuple(shape))
    return made.to_sparse_csr() if getattr(layout, "name", "") == "sparse_csr" else made


class check_sparse_tensor_invariants:
    """Whether sparse tensors are checked when they are made; here they always are, and this only keeps the answer.

    As a context or decorator it holds for a block or a function.

    Example:
        >>> with check_sparse_tensor_invariants():
        ...     check_sparse_tensor_invariants.is_enabled()
        True
    """

    _state = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted, self._before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        """Whether it is on."""
        return check_sparse_tensor_invariants._state

    @staticmethod
    def enable() -> None:
        """Nothing; it is on."""
        check_sparse_tensor_invariants._state = True

    @staticmethod
    def disable() -> None:
        """Nothing; it is off."""
        check_sparse_tensor_invariants._state = False

    def __enter__(self) -> None:
        self._before = self.is_enabled()
        check_sparse_tensor_invariants._state = self._wanted

    def __exit__(self, *_error: object) -> None:
        check_sparse_tensor_invariants._state = self._before

    def __call__(self, mth: Any) -> Any:
        """The function, run in this mode."""

        @functools.wraps(mth)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._wanted):
                return mth(*args, **kwargs)

        return run


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
