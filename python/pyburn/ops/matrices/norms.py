"""Norms of vectors and matrices, and the condition number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._methods import write_out
from pyburn.ops.matrices.checks import check_float, check_matrix, check_square
from pyburn.ops.matrices.solve import inv_ex
from pyburn.ops.matrices.spectrum import svdvals

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]

Dims = int | Sequence[int] | None
Order = int | float | str | None


def _converted(op: str, x: Tensor, dtype: _core.dtype | None) -> Tensor:
    check_float(op, x, low_precision=True)
    if dtype is None:
        return x
    if not dtype.is_floating_point and not dtype.is_complex:
        raise _core.DTypeError(f"{op}: dtype should be floating point or complex. Got {dtype}")
    if dtype.is_complex != x.dtype.is_complex:
        raise _core.DTypeError(f"{op}: dtype should be {'complex' if x.is_complex() else 'real'}. Got {dtype}")
    if _core.promote_types(x.dtype, dtype) != dtype:
        raise _core.DTypeError(
            f"{op}: the dtype of the input ({x.dtype}) should be convertible without narrowing to the specified dtype "
            f"({dtype})"
        )
    return x.to(dtype)


def vector_norm(
    x: Tensor,
    ord: int | float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of all elements, or of those along `dim`, as of one vector.

    Args:
        x: A float tensor.
        ord: The power; `inf` and `-inf` mean the greatest and least absolute value, 0 the count of what is not zero.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.vector_norm(pyburn.tensor([[3.0], [4.0]]))
        tensor(5.)
    """
    op = "linalg.vector_norm"
    if not hasattr(ord, "__float__"):
        raise TypeError(f"{op}: ord must be a number, got {ord!r}")
    x = _converted(op, x, dtype)
    dims = None if dim is None or (isinstance(dim, Sequence) and len(dim) == 0) else dim
    if x.numel() == 0 and (ord < 0 or ord == math.inf):
        _check_empty(op, x, ord, dims)
    return write_out(out, x._norm(float(ord), dims, keepdim))


def _check_empty(op: str, x: Tensor, ord: float, dim: Dims) -> None:
    """Refuses norms that are a greatest or least element of nothing."""
    dims = range(x.dim()) if dim is None else [dim] if is_integer(dim) else dim
    if dim is None or any(x.shape[at] == 0 for at in dims):
        raise RuntimeError(
            f"{op} cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"
        )


def _pair(op: str, x: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    if is_integer(dim) or len(dim) != 2:
        raise RuntimeError(f"{op}: dim must be a 2-tuple. Got {dim}")
    rank = x.dim()
    for one in dim:
        if not -rank <= one < rank:
            raise _core.DimError(
                f"{op}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {one})"
            )
    rows, columns = dim[0] % rank, dim[1] % rank
    if rows == columns:
        raise RuntimeError(f"{op}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return rows, columns


def _greatest(values: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The greatest of sizes along `dim`, zero where there are none."""
    return values.amax(dim, keepdim=keepdim) if values.shape[dim] else values.sum(dim, keepdim=keepdim)


def _spectral(x: Tensor, ord: float | str, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """Norms that are made of singular values."""
    rows, columns = dims
    values = svdvals(x.movedim((rows, columns), (-2, -1)))
    if ord == "nuc":
        result = values.sum(-1)
    else:
        result = _greatest(values, -1, False) if ord == 2 else values.amin(-1)
    if keepdim:
        for at in sorted(dims):
            result = result.unsqueeze(at)
    return result


def matrix_norm(
    A: Tensor,
    ord: int | float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of matrices.

    Args:
        A: (..., m, n).
        ord: "fro" (the root of the sum of squares), "nuc" (the sum of singular values), inf and -inf (of the sums of
            rows), 1 and -1 (of columns), 2 and -2 (the greatest and the least singular value).
        dim: The two dimensions of the matrices.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.matrix_norm(pyburn.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
        tensor(7.)
    """
    op = "linalg.matrix_norm"
    check_matrix(op, A)
    dims = _pair(op, A, dim)
    A = _converted(op, A, dtype)
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"{op}: Order {ord} not supported.")
    elif abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{op}: Order {ord} not supported.")
    if ord == "fro":
        return write_out(out, vector_norm(A, 2, list(dims), keepdim))
    if ord in ("nuc", 2, -2):
        check_float(op, A)
        return write_out(out, _spectral(A, ord, dims, keepdim))
    assert not isinstance(ord, str)
    rows, columns = dims
    over, along = (columns, rows) if abs(ord) == math.inf else (rows, columns)
    sums = A.abs().sum(over, keepdim=True)
    result = _greatest(sums, along, True) if ord > 0 else sums.amin([along], keepdim=True)
    return write_out(out, result if keepdim else result.squeeze(dims))


def norm(
    input: Tensor,
    ord: Order = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
) -> Tensor:
    """A norm of vectors or matrices, by the number of dimensions in `dim`.

    Args:
        input: A float tensor.
        ord: As for `vector_norm` or `matrix_norm`; None is the 2-norm of all elements of `dim`.
        dim: One dimension for vectors, two for matrices; None needs a tensor of one or two dimensions where `ord` is
            given.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.
        dtype: What to convert the input to first.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.norm(pyburn.tensor([[1.0, 1.0], [1.0, 1.0]]))
        tensor(2.)
    """
    if dim is not None and not is_integer(dim) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and input.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D."
        )
    pair = dim is not None and not is_integer(dim) and len(dim) == 2
    if ord is not None and (pair or (dim is None and input.dim() == 2)):
        dims = dim if pair and not is_integer(dim) and dim is not None else (0, 1)
        return write_out(out, matrix_norm(input, ord, dims, keepdim, dtype=dtype))
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: order {ord!r} needs matrices; give two dimensions in dim")
    return write_out(out, vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype))


def cond(A: Tensor, p: Order = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse.

    Args:
        A: (..., m, n); square but for p None, 2 and -2.
        p: As `ord` of `matrix_norm`; None is 2.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.cond(pyburn.tensor([[4.0, 0.0], [0.0, 1.0]]))
        tensor(4.)
    """
    op = "linalg.cond"
    check_matrix(op, A)
    check_float(op, A)
    if p is None or p in (2, -2):
        values = svdvals(A)
        if A.numel() == 0:
            return write_out(out, values.new_zeros(A.shape[:-2]))
        greatest, least = values.select(-1, 0), values.select(-1, values.shape[-1] - 1)
        return write_out(out, least / greatest if p == -2 else greatest / least)
    if isinstance(p, str) or A.numel() > 0:
        check_square(f"{op}({p})", A)
    if A.numel() == 0:
        return write_out(out, A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real()))
    inverse, info = inv_ex(A)
    whole = matrix_norm(A, p) * matrix_norm(inverse.masked_fill((info != 0).reshape(*info.shape, 1, 1), 0.0), p)
    return write_out(out, whole.masked_fill(info != 0, math.inf))
