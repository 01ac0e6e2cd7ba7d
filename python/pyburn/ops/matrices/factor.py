"""Factors of matrices: LU, Cholesky, QR and products of reflectors."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.joining import cat, diag_embed
from pyburn.ops.matrices.checks import check_float, check_info, check_matrix, check_same, check_square, eye_like
from pyburn.ops.matrices.recorded import Backward, link, link_constant
from pyburn.ops.matrices.triangular import solve_triangular

__all__ = [
    "cholesky",
    "cholesky_ex",
    "householder_product",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "permutation_matrix",
    "qr",
    "raw_lu",
    "unpack_lu",
]

_NOT_DEFINITE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{info} is not positive-definite)."
)
_ZERO_PIVOT = (
    "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def _hermitian(lower: Tensor) -> Tensor:
    """The Hermitian matrix of which the lower triangle is given; its diagonal is real."""
    if lower.is_complex():
        lower = lower - diag_embed(lower.diagonal(0, -2, -1).imag) * 1j
    return lower + lower.tril(-1).mH


def _cholesky_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (factor,), (grad,) = context.saved, context.grads
    if grad is None:
        return (None,)
    inner = _hermitian((factor.mH @ grad).tril()) * 0.5
    left = solve_triangular(factor.mH, inner, upper=True)
    return (solve_triangular(factor, left, upper=False, left=False),)


def _lower(input: Tensor) -> tuple[Tensor, Tensor]:
    factor, info = _core._cholesky(input)
    link("LinalgCholeskyExBackward0", [input], [factor], [factor], _cholesky_rule)
    return factor, info


def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_cholesky_ex:
    """As `cholesky`, with an error code for each matrix instead of an exception.

    Args:
        A: (..., n, n), of which one triangle is read.
        upper: Whether to read the upper triangle and return an upper factor.
        check_errors: Whether to raise as `cholesky` does.
        out: Where to write the results.

    Returns:
        `L`, and `info`: 0, or the order of the first leading minor that is not positive-definite.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.cholesky_ex(pyburn.tensor([[4.0]])).info
        tensor(0, dtype=pyburn.int32)
    """
    return _cholesky_ex("linalg.cholesky_ex", A, upper, check_errors, out)


def _cholesky_ex(
    op: str, A: Tensor, upper: bool, check_errors: bool, out: Sequence[Tensor] | None
) -> return_types.linalg_cholesky_ex:
    check_square(op, A)
    check_float(op, A)
    factor, info = _lower(A.mH if upper else A)
    if check_errors:
        check_info(op, info, _NOT_DEFINITE)
    return return_types.linalg_cholesky_ex(write_outs(out, (factor.mH if upper else factor, info)))


def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with `A = L @ L.mH`, or the upper U with `A = U.mH @ U`, of positive-definite matrices.

    Args:
        A: (..., n, n), of which one triangle is read.
        upper: Whether to read the upper triangle and return an upper factor.
        out: Where to write the result.

    Raises:
        LinAlgError: A matrix is not positive-definite.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.cholesky(pyburn.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return write_out(out, _cholesky_ex("linalg.cholesky", A, upper, True, None)[0])


def _triangles(packed: Tensor) -> tuple[Tensor, Tensor]:
    """L with its unit diagonal and U, from both packed into one matrix."""
    rows, columns = packed.shape[-2:]
    size = min(rows, columns)
    lower = packed.narrow(-1, 0, size).tril(-1) + eye_like(packed, rows, size)
    return lower, packed.narrow(-2, 0, size).triu()


def _lu_rule(context: Backward) -> tuple[Tensor | None, ...]:
    """The gradient of the packed factors; rows or columns beyond the square part are solved for apart."""
    (packed, order), (grad,) = context.saved, context.grads
    if grad is None:
        return (None,)
    rows, columns = packed.shape[-2:]
    size = min(rows, columns)
    lower, upper = _triangles(packed)
    square_lower, square_upper = lower.narrow(-2, 0, size), upper.narrow(-1, 0, size)
    grad_lower, grad_upper = grad.narrow(-1, 0, size).tril(-1), grad.narrow(-2, 0, size).triu()
    of_lower, of_upper = grad_lower.narrow(-2, 0, size), grad_upper.narrow(-1, 0, size)
    rest: Tensor | None = None
    if columns > size:
        rest = solve_triangular(
            square_lower.mH, grad_upper.narrow(-1, size, columns - size), upper=True, unitriangular=True
        )
        of_lower = of_lower - rest @ upper.narrow(-1, size, columns - size).mH
    elif rows > size:
        rest = solve_triangular(square_upper.mH, grad_lower.narrow(-2, size, rows - size), upper=False, left=False)
        of_upper = of_upper - lower.narrow(-2, size, rows - size).mH @ rest
    inner = (square_lower.mH @ of_lower).tril(-1) + (of_upper @ square_upper.mH).triu()
    inner = solve_triangular(square_lower.mH, inner, upper=True, unitriangular=True)
    result = solve_triangular(square_upper.mH, inner, upper=False, left=False)
    if rest is not None:
        result = cat([result, rest], -1 if columns > size else -2)
    return (_rows(result, order.argsort(-1)),)


def _rows(matrix: Tensor, order: Tensor) -> Tensor:
    """The rows in another order."""
    return matrix.gather(-2, order.unsqueeze(-1).expand(matrix.shape))


def raw_lu(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The packed factors, the pivots and the error codes, recorded."""
    packed, pivots, info = _core._lu(A)
    if _core.is_grad_enabled() and A.requires_grad:
        order = _core._permutation(pivots, A.shape[-2])
        link("LinalgLuFactorExBackward0", [A], [packed], [packed, order], _lu_rule)
    return packed, pivots, info


def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu_factor_ex:
    """As `lu_factor`, with an error code for each matrix.

    Args:
        A: (..., m, n).
        pivot: Must be True.
        check_errors: Whether to raise where a pivot is zero.
        out: Where to write the results.

    Returns:
        `LU`, `pivots`, and `info`: 0, or the first column, from 1, whose pivot is zero.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.lu_factor_ex(pyburn.zeros(1, 1)).info
        tensor(1, dtype=pyburn.int32)
    """
    return _lu_factor("linalg.lu_factor_ex", A, pivot, check_errors, out)


def _lu_factor(
    op: str, A: Tensor, pivot: bool, check_errors: bool, out: Sequence[Tensor] | None
) -> return_types.linalg_lu_factor_ex:
    check_matrix(op, A)
    check_float(op, A)
    if not pivot:
        raise NotImplementedError(f"{op}: LU without pivoting is not implemented on the CPU; use pivot=True")
    packed, pivots, info = raw_lu(A)
    if check_errors:
        check_info(f"torch.{op}", info, _ZERO_PIVOT)
    return return_types.linalg_lu_factor_ex(write_outs(out, (packed, pivots, info)))


def lu_factor(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> return_types.linalg_lu_factor:
    """L (below the diagonal) and U packed into one matrix, and the row exchanges.

    Args:
        A: (..., m, n).
        pivot: Must be True.
        out: Where to write the results.

    Raises:
        LinAlgError: A pivot is zero.

    Returns:
        `LU` (..., m, n), and `pivots` (..., min(m, n)): the row, from 1, that each row was exchanged with in turn.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.lu_factor(pyburn.tensor([[1.0, 2.0], [2.0, 4.5]])).LU
        tensor([[ 2.0000,  4.5000],
                [ 0.5000, -0.2500]])
    """
    packed, pivots, _ = _lu_factor("linalg.lu_factor", A, pivot, True, None)
    return return_types.linalg_lu_factor(write_outs(out, (packed, pivots)))


def permutation_matrix(like: Tensor, pivots: Tensor, rows: int) -> Tensor:
    """P with `A = P @ L @ U`."""
    order = _core._permutation(pivots, rows)
    places = _core._arange(0, rows, 1, _core.int64, order.device, False)
    return (places.unsqueeze(-1) == order.unsqueeze(-2)).to(like.dtype)


def unpack_lu(packed: Tensor) -> tuple[Tensor, Tensor]:
    """L with its unit diagonal and U, recorded."""
    return _triangles(packed)


def lu(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> return_types.linalg_lu:
    """P, L and U with `A = P @ L @ U`: a permutation, a unit lower and an upper triangle.

    Args:
        A: (..., m, n).
        pivot: Must be True.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.lu(pyburn.tensor([[1.0, 2.0], [2.0, 4.5]])).U
        tensor([[ 2.0000,  4.5000],
                [ 0.0000, -0.2500]])
    """
    packed, pivots, _ = _lu_factor("linalg.lu", A, pivot, False, None)
    lower, upper = _triangles(packed)
    matrix = permutation_matrix(A, pivots, A.shape[-2])
    return return_types.linalg_lu(write_outs(out, (matrix, lower, upper)))


def _qr_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (q, r), (grad_q, grad_r) = context.saved, context.grads
    if grad_q is None and grad_r is None:
        return (None,)
    size, columns = r.shape[-2:]
    square, rest = r.narrow(-1, 0, size), None
    if columns > size and grad_r is not None:
        # The columns beyond the square part are Q times their part of R.
        beyond, grad_beyond = r.narrow(-1, size, columns - size), grad_r.narrow(-1, size, columns - size)
        rest = q @ grad_beyond
        of_q = (q @ beyond) @ grad_beyond.mH
        grad_q = of_q if grad_q is None else grad_q + of_q
        grad_r = grad_r.narrow(-1, 0, size)
    inner: Tensor | None = None
    if grad_r is not None:
        inner = square @ grad_r.mH
    if grad_q is not None:
        mixed = grad_q.mH @ q
        inner = -mixed if inner is None else inner - mixed
    if inner is None:
        return (None,)
    result = q @ _hermitian(inner.tril())
    if grad_q is not None:
        result = result + grad_q
    result = solve_triangular(square.mH, result, upper=False, left=False)
    if columns > size:
        tail = result.new_zeros((*result.shape[:-1], columns - size)) if rest is None else rest
        result = cat([result, tail], -1)
    return (result,)


def qr(A: Tensor, mode: str = "reduced", *, out: Sequence[Tensor] | None = None) -> return_types.linalg_qr:
    """Q with orthonormal columns and the upper triangle R with `A = Q @ R`.

    Args:
        A: (..., m, n).
        mode: "reduced": Q (..., m, k) with k = min(m, n); "complete": Q (..., m, m); "r": R alone, Q is empty.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.qr(pyburn.tensor([[3.0], [4.0]])).R
        tensor([[-5.]])
    """
    check_matrix("linalg.qr", A)
    check_float("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    rows, columns = A.shape[-2:]
    size = rows if mode == "complete" else min(rows, columns)
    packed, _, q = _core._qr(A, {"r": 0, "reduced": 1, "complete": 2}[mode])
    r = packed.narrow(-2, 0, size).triu()
    if mode == "r":
        q = A.detach().new_empty((0,))
    elif A.numel() == 0 and q.numel() > 0:
        q = eye_like(A.detach(), rows, size, A.shape[:-2]).clone()
    _link_qr(A, q, r, mode)
    return return_types.linalg_qr(write_outs(out, (q, r)))


def _link_qr(A: Tensor, q: Tensor, r: Tensor, mode: str) -> None:
    rows, columns = A.shape[-2:]
    if mode == "r":
        reason = (
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    elif mode == "complete" and rows > columns:
        reason = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
    else:
        link("LinalgQrBackward0", [A], [q, r], [q, r], _qr_rule)
        return

    def refuse(context: Backward) -> tuple[Tensor | None, ...]:
        raise RuntimeError(reason)

    link("LinalgQrBackward0", [A], [q, r], [], refuse)


def reflect(A: Tensor, tau: Tensor, other: Tensor, transposed: bool = False) -> Tensor:
    """`Q @ other`, or `Q.mH @ other`, for the product Q of the reflectors below the diagonal of `A`.

    Args:
        A: (..., m, n).
        tau: (..., k), the factors of the first k reflectors.
        other: (..., m, p).
        transposed: Whether to multiply by Q's conjugate transpose.
    """
    count = tau.shape[-1]
    unit = eye_like(A, A.shape[-2], A.shape[-1])
    vectors = A.tril(-1) + unit
    tau = tau.conj() if transposed else tau
    order = range(count) if transposed else range(count - 1, -1, -1)
    for k in order:
        vector = vectors.narrow(-1, k, 1)  # (..., m, 1)
        factor = tau.narrow(-1, k, 1).unsqueeze(-1)
        other = other - (vector * factor) @ (vector.mH @ other)
    return other


def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of Householder reflectors, as `geqrf` gives them.

    Args:
        A: (..., m, n) with m >= n; the vectors of the reflectors lie below the diagonal.
        tau: (..., k) with k <= n, the factors of the reflectors.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.householder_product(pyburn.zeros(2, 1), pyburn.zeros(1))
        tensor([[1.],
                [0.]])
    """
    op = "torch.linalg.householder_product"
    check_matrix(op, A, "input")
    check_float(op, A)
    check_same(op, A, tau)
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise RuntimeError(f"{op}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.dim() != A.dim() - 1 or tuple(tau.shape[:-1]) != tuple(A.shape[:-2]):
        raise RuntimeError(
            f"{op}: Expected tau to have one dimension less than input and the same batch, but got tau of shape "
            f"{list(tau.shape)} for input of shape {list(A.shape)}"
        )
    if tau.shape[-1] > columns:
        raise RuntimeError(f"{op}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    unit = eye_like(A.detach(), rows, columns, A.shape[:-2])
    if tau.shape[-1] == 0:
        result = unit.clone()
        link_constant("LinalgHouseholderProductBackward0", [A, tau], result)
        return write_out(out, result)
    return write_out(out, reflect(A, tau, unit))
