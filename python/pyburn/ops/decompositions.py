"""torch's older, top-level names of linear algebra; the newer ones are in `pyburn.linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.matrices import factor, functions, pseudo, solve, spectrum, triangular
from pyburn.ops.matrices.checks import broadcast_batch, check_float, check_matrix, check_same, check_square, eye_like
from pyburn.ops.matrices.recorded import Backward, link

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "geqrf",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "orgqr",
    "ormqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "triangular_solve",
]

METHODS = (
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "geqrf",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "matrix_exp",
    "orgqr",
    "ormqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "triangular_solve",
)


def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices: `linalg.inv`.

    Example:
        >>> import pyburn
        >>> pyburn.inverse(pyburn.tensor([[2.0]]))
        tensor([[0.5000]])
    """
    return solve.inv(input, out=out)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse: `linalg.pinv` with another default.

    Example:
        >>> import pyburn
        >>> pyburn.pinverse(pyburn.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    return pseudo.pinv(input, rcond)


def det(input: Tensor) -> Tensor:
    """The determinant of square matrices: `linalg.det`.

    Example:
        >>> import pyburn
        >>> pyburn.det(pyburn.tensor([[2.0]]))
        tensor(2.)
    """
    return solve.det(input)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative.

    Example:
        >>> import pyburn
        >>> pyburn.logdet(pyburn.tensor([[1.0]]))
        tensor(0.)
    """
    check_square("logdet", input)
    check_float("logdet", input)
    sign, logarithm = solve.raw_slogdet(input)
    if input.is_complex():
        return logarithm + sign.log()
    return logarithm.masked_fill(sign == -1, math.nan)


def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet:
    """The sign of the determinant and the logarithm of its absolute value: `linalg.slogdet`.

    Example:
        >>> import pyburn
        >>> pyburn.slogdet(pyburn.tensor([[-1.0]])).sign
        tensor(-1.)
    """
    return return_types.slogdet(write_outs(out, solve.raw_slogdet(input)))


def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: `linalg.matrix_exp`.

    Example:
        >>> import pyburn
        >>> pyburn.matrix_exp(pyburn.tensor([[0.0]]))
        tensor([[1.]])
    """
    return functions.matrix_exp(input)


def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor: `linalg.cholesky`.

    Example:
        >>> import pyburn
        >>> pyburn.cholesky(pyburn.tensor([[4.0]]))
        tensor([[2.]])
    """
    return factor.cholesky(input, upper=upper, out=out)


def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given.

    Example:
        >>> import pyburn
        >>> pyburn.cholesky_inverse(pyburn.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    check_square("cholesky_inverse", input)
    check_float("cholesky_inverse", input)
    plain = input.detach()
    unit = eye_like(plain, input.shape[-1], batch=input.shape[:-2])
    half = triangular.solve_triangular(plain.mH if upper else plain, unit, upper=False)
    result = half.mH @ half

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (L, X), (grad,) = context.saved, context.grads
        if grad is None:
            return (None,)
        inner = X @ (grad + grad.mH) @ X
        return (-(L @ inner) if upper else -(inner @ L),)

    link("CholeskyInverseBackward0", [input], [result], [input, result], rule)
    return write_out(out, result)


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """X with `A @ X = input`, given the Cholesky factor `input2` of A.

    Example:
        >>> import pyburn
        >>> pyburn.cholesky_solve(pyburn.tensor([[4.0]]), pyburn.tensor([[2.0]]))
        tensor([[1.]])
    """
    check_square("cholesky_solve", input2)
    check_float("cholesky_solve", input2)
    check_matrix("cholesky_solve", input, "B")
    check_same("cholesky_solve", input2, input)
    right, whole = broadcast_batch("cholesky_solve", input, input2)
    return write_out(out, _cholesky_solved(right, whole, upper))


def _cholesky_solved(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    lower = L.detach().mH if upper else L.detach()
    half = triangular.solve_triangular(lower, B.detach(), upper=False)
    X = triangular.solve_triangular(lower.mH, half, upper=True)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (L, X), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        of_b = _cholesky_solved(grad, L, upper)
        if not context.needs[1]:
            return of_b, None
        of_a = of_b @ X.mH
        of_a = -(of_a + of_a.mH)
        return of_b, L @ of_a if upper else of_a @ L

    link("CholeskySolveBackward0", [B, L], [X], [L, X], rule)
    return X


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """The packed LU factors, the pivots and, where `get_infos`, the error codes.

    Example:
        >>> import pyburn
        >>> pyburn.lu(pyburn.tensor([[2.0]]))
        (tensor([[2.]]), tensor([1], dtype=pyburn.int32))
    """
    results = factor.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    if get_infos:
        return return_types.linalg_lu_factor_ex(write_outs(out, results))
    return write_outs(out, (results[0], results[1]))


def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """X with `A @ X = input`, given the LU factors of A.

    Example:
        >>> import pyburn
        >>> pyburn.lu_solve(pyburn.tensor([[4.0]]), *pyburn.lu(pyburn.tensor([[2.0]])))
        tensor([[2.]])
    """
    return solve.lu_solve(LU_data, LU_pivots, input, out=out)


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.lu_unpack:
    """P, L and U from what `lu_factor` returns.

    Args:
        LU_data: (..., m, n), packed factors.
        LU_pivots: (..., min(m, n)), row exchanges.
        unpack_data: Whether to give L and U; otherwise they are empty.
        unpack_pivots: Whether to give P; otherwise it is empty.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.lu_unpack(*pyburn.lu(pyburn.tensor([[2.0]]))).U
        tensor([[2.]])
    """
    check_matrix("lu_unpack", LU_data, "LU_data")
    if unpack_pivots and LU_pivots.dtype != _core.int32:
        raise _core.DTypeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = LU_data.detach().new_empty((0,))
    matrix = factor.permutation_matrix(LU_data, LU_pivots, LU_data.shape[-2]) if unpack_pivots else empty
    lower, upper = factor.unpack_lu(LU_data) if unpack_data else (empty, empty)
    return return_types.lu_unpack(write_outs(out, (matrix, lower, upper)))


def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.triangular_solve:
    """X with `A @ X = input` for a triangular A, or with its transpose, and a copy of A.

    Example:
        >>> import pyburn
        >>> pyburn.triangular_solve(pyburn.tensor([[4.0]]), pyburn.tensor([[2.0]])).solution
        tensor([[2.]])
    """
    check_matrix("torch.triangular_solve", input, "b")
    check_square("torch.triangular_solve", A)
    matrix = A.mT if transpose else A
    solution = triangular.solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    copied, _ = broadcast_batch("triangular_solve", A, input)
    return return_types.triangular_solve(write_outs(out, (solution, copied.clone())))


def qr(input: Tensor, some: bool = True, *, out: Sequence[Tensor] | None = None) -> return_types.qr:
    """Q and R: `linalg.qr`, complete when not `some`.

    Example:
        >>> import pyburn
        >>> pyburn.qr(pyburn.tensor([[3.0], [4.0]])).R
        tensor([[-5.]])
    """
    return return_types.qr(write_outs(out, tuple(factor.qr(input, "reduced" if some else "complete"))))


def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.geqrf:
    """R with the vectors of Householder's reflectors below its diagonal, and their factors.

    Example:
        >>> import pyburn
        >>> pyburn.geqrf(pyburn.tensor([[3.0], [4.0]])).tau
        tensor([1.6000])
    """
    check_matrix("torch.geqrf", input, "input")
    check_float("torch.geqrf", input)
    packed, tau, _ = _core._qr(input, 0)

    def refuse(context: Backward) -> tuple[Tensor | None, ...]:
        raise RuntimeError("the derivative for 'geqrf' is not implemented; use linalg.qr")

    link("NotImplemented", [input], [packed, tau], [], refuse)
    return return_types.geqrf(write_outs(out, (packed, tau)))


def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of reflectors: `linalg.householder_product`.

    Example:
        >>> import pyburn
        >>> pyburn.orgqr(pyburn.zeros(2, 1), pyburn.zeros(1))
        tensor([[1.],
                [0.]])
    """
    return factor.householder_product(input, input2, out=out)


def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The whole product of reflectors, or its transpose, times a matrix, or the matrix times it.

    Args:
        input: (..., m, k); the vectors of the reflectors lie below the diagonal.
        input2: (..., k), the factors of the reflectors.
        input3: (..., m, n), or (..., n, m) when not `left`.
        left: Whether the product stands on the left.
        transpose: Whether to take its transpose.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.ormqr(pyburn.zeros(2, 1), pyburn.zeros(1), pyburn.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    op = "torch.ormqr"
    check_matrix(op, input, "input")
    check_matrix(op, input3, "other")
    check_float(op, input)
    check_same(op, input, input2)
    check_same(op, input, input3)
    if input3.shape[-2 if left else -1] != input.shape[-2]:
        raise _core.ShapeError(
            f"{op}: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got shapes "
            f"{list(input3.shape)} and {list(input.shape)}"
        )
    if input2.shape[-1] != min(input3.shape[-2 if left else -1], input.shape[-1]) or tuple(input2.shape[:-1]) != tuple(
        input.shape[:-2]
    ):
        raise _core.ShapeError(f"{op}: tau has shape {list(input2.shape)} but input {list(input.shape)}")
    if tuple(input3.shape[:-2]) != tuple(input.shape[:-2]):
        raise _core.ShapeError(f"{op}: batch dimensions of other and input must be equal")
    if left:
        return write_out(out, factor.reflect(input, input2, input3, transpose))
    return write_out(out, factor.reflect(input, input2, input3.mH, not transpose).mH)


def svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Sequence[Tensor] | None = None
) -> return_types.svd:
    """U, S and V (not transposed): `linalg.svd` in its older form.

    Args:
        input: (..., m, n).
        some: Whether U and V have only as many columns as S has values.
        compute_uv: Whether to compute U and V; otherwise they are zeros.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.svd(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])).S
        tensor([2., 1.])
    """
    check_matrix("linalg.svd", input)
    if compute_uv:
        return return_types.svd(write_outs(out, spectrum.raw_svd("linalg.svd", input, 1 if some else 2)))
    rows, columns = input.shape[-2:]
    plain = input.detach()
    u, v = plain.new_zeros((*input.shape[:-2], rows, rows)), plain.new_zeros((*input.shape[:-2], columns, columns))
    return return_types.svd(write_outs(out, (u, spectrum.svdvals(input), v)))
