"""Approximate singular values of large matrices, from random projections (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.ops.matrices.checks import check_float, check_matrix
from pyburn.ops.matrices.factor import qr
from pyburn.ops.matrices.spectrum import raw_svd
from pyburn.ops.random import randn

__all__ = ["pca_lowrank", "svd_lowrank"]

# Refinements beyond which a call is a mistake: a few are enough for any spectrum, and a billion never end.
MOST = 1 << 20


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that nearly span what A's greatest singular values do."""
    if niter > MOST:
        raise ValueError(f"niter refines the subspace so many times: expected at most {MOST}, got {niter}; 2 to 10 do.")
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = qr(A @ start)[0]
    for _ in range(niter):
        basis = qr(A.mH @ basis)[0]
        basis = qr(A @ basis)[0]
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the `q` greatest singular values.

    Args:
        A: (..., m, n).
        q: How many values; somewhat more than the rank that is looked for.
        niter: How many times to refine the subspace.
        M: What to subtract from A first; it broadcasts.

    Example:
        >>> import pyburn
        >>> pyburn.svd_lowrank(pyburn.eye(4), q=2)[1].shape
        pyburn.Size([2])
    """
    check_matrix("svd_lowrank", A)
    check_float("svd_lowrank", A)
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    tall = A.mH if wide else A
    basis = _basis(tall, q, niter)
    U, S, V = raw_svd("svd_lowrank", basis.mH @ tall, 1)
    U = basis @ U
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the `q` principal components of the rows of `A`.

    Args:
        A: (..., m, n).
        q: How many components; by default 6, or fewer where A is smaller.
        center: Whether to subtract the mean of the rows first.
        niter: How many times to refine the subspace.

    Example:
        >>> import pyburn
        >>> pyburn.pca_lowrank(pyburn.eye(4), q=2)[2].shape
        pyburn.Size([4, 2])
    """
    check_matrix("pca_lowrank", A)
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
