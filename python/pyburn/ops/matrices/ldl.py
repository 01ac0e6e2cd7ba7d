"""Symmetric indefinite matrices: the factorization of Bunch and Kaufman, and solutions with it."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.matrices.checks import (
    broadcast_batch,
    check_float,
    check_info,
    check_matrix,
    check_same,
    check_square,
)

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]

_SINGULAR = (
    "D[{info},{info}] is zero. The factorization has been completed, but the block diagonal matrix D is exactly "
    "singular, and division by zero will occur if it is used to solve a system of equations"
)


def _factored(op: str, A: Tensor, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    check_square(op, A)
    check_float(op, A)
    packed, pivots, info = _core._ldl(A.detach())
    packed = packed.tril()
    if check_errors:
        check_info(f"torch.{op}", info, _SINGULAR)
    return packed, pivots, info


def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_ldl_factor_ex:
    """As `ldl_factor`, with an error code for each matrix.

    Args:
        A: (..., n, n), symmetric; the lower triangle is read.
        hermitian: Without effect on real matrices.
        check_errors: Whether to raise where D is singular.
        out: Where to write the results.

    Returns:
        `LD`, `pivots`, and `info`: 0, or the first step, from 1, at which D is singular.

    Differs from torch:
        Complex matrices are not taken.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.ldl_factor_ex(pyburn.zeros(1, 1)).info
        tensor(1, dtype=pyburn.int32)
    """
    return return_types.linalg_ldl_factor_ex(write_outs(out, _factored("linalg.ldl_factor_ex", A, check_errors)))


def ldl_factor(
    A: Tensor, *, hermitian: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_ldl_factor:
    """L and D packed into one matrix with `A = L @ D @ L.mT` up to exchanges of rows; D has blocks of one and two.

    Args:
        A: (..., n, n), symmetric; the lower triangle is read.
        hermitian: Without effect on real matrices.
        out: Where to write the results.

    Returns:
        `LD`, and `pivots` in LAPACK's form.

    Raises:
        LinAlgError: D is singular.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.ldl_factor(pyburn.tensor([[2.0, 1.0], [1.0, 2.5]])).LD
        tensor([[2.0000, 0.0000],
                [0.5000, 2.0000]])
    """
    packed, pivots, _ = _factored("linalg.ldl_factor", A, True)
    return return_types.linalg_ldl_factor(write_outs(out, (packed, pivots)))


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """X with `A @ X = B`, given what `ldl_factor` returns for A.

    Args:
        LD: (..., n, n), packed factors.
        pivots: (..., n), row exchanges.
        B: (..., n, k); leading dimensions broadcast.
        hermitian: Without effect on real matrices.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> LD, pivots = pyburn.linalg.ldl_factor(pyburn.tensor([[2.0]]))
        >>> pyburn.linalg.ldl_solve(LD, pivots, pyburn.tensor([[4.0]]))
        tensor([[2.]])
    """
    op = "torch.linalg.ldl_solve"
    check_square(op, LD, "LD")
    check_matrix(op, B, "B")
    check_float(op, LD)
    check_same(op, LD, B)
    if pivots.is_floating_point() or pivots.dtype == _core.bool:
        raise _core.DTypeError(f"{op}: Expected pivots to be integers. Got {pivots.dtype}")
    if B.shape[-2] != LD.shape[-1]:
        raise _core.ShapeError(f"{op}: Incompatible shapes of LD {list(LD.shape)} and B {list(B.shape)}")
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise _core.ShapeError(f"{op}: Expected pivots of shape {list(LD.shape[:-1])}, got {list(pivots.shape)}")
    whole, right = broadcast_batch(op, LD.detach(), B.detach())
    rows = pivots.expand(*right.shape[:-2], pivots.shape[-1])
    return write_out(out, _core._ldl_solve(whole, rows, right))
