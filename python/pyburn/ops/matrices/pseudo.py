"""What singular values decide: rank, pseudo-inverse, least squares, polar factors."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn._typeinfo import finfo
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.matrices.checks import broadcast_batch, check_float, check_matrix, check_same, check_square, eye_like
from pyburn.ops.matrices.recorded import Backward, link, precise
from pyburn.ops.matrices.spectrum import raw_eigh, raw_svd

__all__ = ["lstsq", "matrix_rank", "matrix_sqrth", "pinv", "polar"]

Tolerance = float | Tensor | None


def _tolerances(A: Tensor, atol: Tolerance, rtol: Tolerance) -> tuple[Tensor, Tensor]:
    """Both tolerances as tensors, with torch's defaults."""
    if rtol is None:
        default = finfo(A.dtype).eps * max(A.shape[-2:])
        rtol = default
        if isinstance(atol, Tensor):
            rtol = (atol <= 0).to(A.dtype.to_real()) * default
        elif atol is not None and atol > 0:
            rtol = 0.0
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.is_complex():
            raise _core.DTypeError(f"{name} tensor of complex type is not supported.")
    real = A.dtype.to_real()
    absolute, relative = (
        value.to(real) if isinstance(value, Tensor) else A.new_tensor(0.0 if value is None else value, dtype=real)
        for value in (atol, rtol)
    )
    return absolute, relative


def _threshold(greatest: Tensor, tolerances: tuple[Tensor, Tensor]) -> Tensor:
    """Below which values of a matrix count as zero, given its greatest one."""
    absolute, relative = tolerances
    scaled = greatest * relative
    return scaled.maximum(absolute.expand_as(scaled) if absolute.dim() <= scaled.dim() else absolute)


def matrix_rank(
    A: Tensor,
    tol: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values count as more than zero.

    Args:
        A: (..., m, n).
        tol: Older name of `atol`, with `rtol` 0.
        hermitian: Whether A is symmetric, so that its eigenvalues do.
        atol: Values up to this count as zero.
        rtol: Values up to this share of the greatest count as zero; by default the precision times max(m, n).
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.matrix_rank(pyburn.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    check_matrix("linalg.matrix_rank", A)
    check_float("linalg.matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    if hermitian:
        check_square("linalg.matrix_rank", A)
    if A.numel() == 0:
        return write_out(out, A.new_zeros(A.shape[:-2], dtype=_core.int64))
    A = A.detach()
    values = raw_eigh("linalg.matrix_rank", A, "L", False)[0].abs() if hermitian else _values(A)
    limit = _threshold(values.amax(-1), _tolerances(A, atol, rtol))
    return write_out(out, (values > limit.unsqueeze(-1)).sum(-1))


def _values(A: Tensor) -> Tensor:
    return raw_svd("linalg.svdvals", A, 0)[1]


def _pinv_gradient(A: Tensor, P: Tensor, grad: Tensor) -> Tensor:
    """The gradient for A of its pseudo-inverse P (Golub and Pereyra, 1973)."""
    turned, adjoint = P.mH, grad.mH
    if A.shape[-2] <= A.shape[-1]:
        inner = adjoint @ P
        outer = inner @ turned
        return -(P @ inner).mH + outer - (A @ P) @ outer + (turned @ P) @ (adjoint - inner @ A)
    inner = P @ adjoint
    outer = turned @ inner
    return -(inner @ P).mH + ((adjoint - A @ inner) @ P) @ turned + outer - (outer @ P) @ A


@precise
def _pinv_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (A, P), (grad,) = context.saved, context.grads
    return (None if grad is None else _pinv_gradient(A, P, grad),)


def pinv(
    A: Tensor,
    rcond: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose pseudo-inverse.

    Args:
        A: (..., m, n).
        rcond: Older name of `rtol`.
        hermitian: Whether A is symmetric, so that eigenvalues serve.
        atol: Singular values up to this count as zero.
        rtol: Values up to this share of the greatest count as zero; by default the precision times max(m, n).
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.pinv(pyburn.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    op = "linalg.pinv"
    check_matrix(op, A)
    check_float(op, A)
    if hermitian:
        check_square(op, A)
    if A.numel() == 0:
        return write_out(out, A.mH.clone())
    tolerances = _tolerances(A.detach(), atol, rcond if rtol is None else rtol)
    plain = A.detach()
    if hermitian:
        values, vectors = raw_eigh(op, plain, "L", True)
        left, right, sizes = vectors, vectors, values.abs()
    else:
        left, values, right = raw_svd(op, plain, 1)
        sizes = values
    limit = _threshold(sizes.amax(-1), tolerances).unsqueeze(-1)
    inverse = (sizes > limit).to(A.dtype) / values.masked_fill(sizes <= limit, 1.0)
    result = (right * inverse.unsqueeze(-2)) @ left.mH
    link("LinalgPinvBackward0", [A], [result], [A, result], _pinv_rule)
    return write_out(out, result)


def _by_reflections(A: Tensor, B: Tensor, rcond: float) -> Tensor | None:
    """The solution by QR, outside the graph, where no singular value is small enough to count as zero; else None."""
    rows, columns = A.shape[-2:]
    if rows < columns or A.numel() == 0:
        return None
    # Squares of tiny or huge numbers would leave the range.
    scale = A.abs().amax((-2, -1), keepdim=True)
    if not bool(((scale > 0) & scale.isfinite()).all().item()):
        return None
    packed, _, q = _core._qr(A / scale, 1)
    R = packed.narrow(-2, 0, columns).triu()
    inverse = _core._solve_triangular(R, eye_like(A, columns, batch=A.shape[:-2]), True, False)
    # At least as large as the greatest singular value, and as the reciprocal of the least.
    greatest, least = (R.mH @ R)._norm(2.0, (-2, -1), False).sqrt(), inverse._norm(2.0, (-2, -1), False)
    if not bool((greatest * least * rcond < 0.5).all().item()):
        return None
    return _core._solve_triangular(R, q.mH @ B, True, False) / scale


def _least_squares(A: Tensor, B: Tensor, rcond: float, by_values: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The shortest solution, recorded, with rank and, where asked for, singular values."""
    plain = A.detach()
    solution = None if by_values else _by_reflections(plain, B.detach(), rcond)
    if solution is not None:
        s = plain.new_empty((0,), dtype=A.dtype.to_real())
        rank = s.new_full(A.shape[:-2], A.shape[-1], dtype=_core.int64)
    else:
        u, s, v = raw_svd("linalg.lstsq", plain, 1)
        kept = s > s.amax(-1, keepdim=True) * rcond if A.numel() else s > 0
        rank = kept.sum(-1)
        inverse = kept.to(A.dtype) / s.masked_fill(~kept, 1.0)
        solution = v @ (inverse.unsqueeze(-1) * (u.mH @ B.detach()))

    @precise
    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (A, B), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        P = pinv(A, rtol=rcond)
        return _pinv_gradient(A, P, grad @ B.mH), P.mH @ grad

    link("LinalgLstsqBackward0", [A, B], [solution], [A, B], rule)
    return solution, rank, s


def _residuals(A: Tensor, B: Tensor, X: Tensor) -> Tensor:
    """The squared lengths of `A @ X - B`, recorded; they are least at X, so that X's own change does not count."""
    result = (A @ X - B).detach().abs().square().sum(-2)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (A, B, X), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        rest = (A @ X - B) * (2 * grad).unsqueeze(-2)
        return rest @ X.mH, -rest

    link("LinalgLstsqBackward0", [A, B], [result], [A, B, X], rule)
    return result


def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lstsq:
    """X for which `A @ X - B` is shortest, and of these the shortest X.

    Args:
        A: (..., m, n).
        B: (..., m, k) or (..., m); leading dimensions broadcast.
        rcond: Singular values up to this share of the greatest count as zero; by default the precision times
            max(m, n).
        driver: "gels", "gelsy" (the default), "gelsd" or "gelss": which results besides the solution are given.
        out: Where to write the results.

    Returns:
        `solution`; `residuals`, the squared lengths of `A @ X - B` when m > n and all matrices have full rank, else
        empty; `rank`, empty for "gels"; `singular_values`, empty but for "gelsd" and "gelss".

    Differs from torch:
        All drivers go through singular values where a matrix may not have full rank.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.lstsq(pyburn.tensor([[2.0], [0.0]]), pyburn.tensor([[3.0], [4.0]])).solution
        tensor([[1.5000]])
    """
    op = "torch.linalg.lstsq"
    check_matrix(op, A, "input")
    check_float(op, A)
    check_same(op, A, B)
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{op}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if B.dim() < 1:
        raise RuntimeError(f"{op}: other must have at least 1 dimension.")
    vector = A.dim() - 1 == B.dim() and tuple(A.shape[:-1]) == tuple(B.shape)
    right = B.unsqueeze(-1) if vector else B
    if right.dim() < 2 or right.shape[-2] != A.shape[-2]:
        raise _core.ShapeError(
            f"{op}: input.size(-2) should match other.size(-2), but got shapes {list(A.shape)} and {list(B.shape)}"
        )
    whole, right = broadcast_batch(op, A, right)
    rows, columns = A.shape[-2:]
    limit = finfo(A.dtype).eps * max(rows, columns) if rcond is None else rcond
    solution, rank, values = _least_squares(whole, right, limit, driver in ("gelsd", "gelss"))
    empty = values.detach().new_empty((0,))
    # In the graph even when it is empty, as torch's is.
    residuals = solution.reshape(solution.numel()).narrow(0, 0, 0)
    residuals = residuals.real if residuals.is_complex() else residuals
    if rows > columns and driver != "gelsy" and bool((rank == columns).all().item()):
        residuals = _residuals(whole, right, solution)
    results = (
        solution.squeeze(-1) if vector else solution,
        residuals,
        empty.to(_core.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else empty,
    )
    return return_types.linalg_lstsq(write_outs(out, results))


def polar(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_polar:
    """U with orthonormal columns and the symmetric positive-semidefinite H with `A = U @ H`.

    Args:
        A: (..., m, n) with m >= n.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.polar(pyburn.tensor([[0.0, -2.0], [2.0, 0.0]])).H
        tensor([[2., 0.],
                [0., 2.]])
    """
    op = "linalg.polar"
    check_matrix(op, A)
    check_float(op, A)
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{op}: expected A to have at least as many rows as columns, got {list(A.shape)}")
    left, s, right = raw_svd(op, A.detach(), 1)
    U, H = left @ right.mH, (right * s.unsqueeze(-2)) @ right.mH
    H = (H + H.mH) * 0.5

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        U, H = context.saved
        grad_u, grad_h = context.grads
        return (_polar_gradient(U, H, grad_u, grad_h),)

    link("LinalgPolarBackward0", [A], [U, H], [U, H], rule)
    return return_types.linalg_polar(write_outs(out, (U, H)))


def _polar_gradient(U: Tensor, H: Tensor, grad_u: Tensor | None, grad_h: Tensor | None) -> Tensor | None:
    """With `dA = dU H + U dH`: the skew part of `U^H dU` solves a Sylvester equation in H, as does its adjoint."""
    result: Tensor | None = None
    skew: Tensor | None = None
    if grad_h is not None:
        symmetric = (grad_h + grad_h.mH) * 0.5
        result = U @ symmetric
        product = symmetric @ H
        skew = product.mH - product
    if grad_u is not None:
        inner = U.mH @ grad_u
        part = inner - inner.mH
        skew = part if skew is None else skew + part
        outside = _right_divided(grad_u - U @ inner, H)
        result = outside if result is None else result + outside
    if skew is None or result is None:
        return result
    values, vectors = raw_eigh("linalg.polar", H, "L", True)
    sums = values.unsqueeze(-1) + values.unsqueeze(-2)
    solved = vectors @ ((vectors.mH @ skew @ vectors) / sums) @ vectors.mH
    return result + U @ solved


def _right_divided(matrix: Tensor, H: Tensor) -> Tensor:
    from pyburn.ops.matrices.solve import solve

    return solve(H, matrix, left=False)


def matrix_sqrth(A: Tensor) -> Tensor:
    """The positive-definite X with `X @ X = A` for symmetric positive-definite A.

    Args:
        A: (..., n, n), of which the lower triangle is read.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.matrix_sqrth(pyburn.tensor([[4.0, 0.0], [0.0, 9.0]]))
        tensor([[2., 0.],
                [0., 3.]])
    """
    op = "linalg.matrix_sqrth"
    values, vectors = raw_eigh(op, A.detach(), "L", True)
    root = (vectors * values.sqrt().unsqueeze(-2)) @ vectors.mH

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (X,), (grad,) = context.saved, context.grads
        if grad is None:
            return (None,)
        grad = (grad + grad.mH) * 0.5
        values, vectors = raw_eigh(op, X, "L", True)
        sums = values.unsqueeze(-1) + values.unsqueeze(-2)
        return (vectors @ ((vectors.mH @ grad @ vectors) / sums) @ vectors.mH,)

    link("LinalgMatrixSqrthBackward0", [A], [root], [root], rule)
    return root
