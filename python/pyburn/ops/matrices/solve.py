"""Systems of equations, inverses and determinants, by LU."""

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
    eye_like,
)
from pyburn.ops.matrices.factor import unpack_lu
from pyburn.ops.matrices.recorded import Backward, link
from pyburn.ops.matrices.spectrum import raw_svd
from pyburn.ops.matrices.triangular import solve_triangular

__all__ = ["det", "inv", "inv_ex", "lu_solve", "slogdet", "solve", "solve_ex"]

_SINGULAR = "The solver failed because the input matrix is singular."
_NO_INVERSE = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
)


class _Factored:
    """LU factors, outside the graph: packed factors, pivots and error codes."""

    __slots__ = ("info", "packed", "pivots")

    def __init__(self, packed: Tensor, pivots: Tensor, info: Tensor) -> None:
        self.packed, self.pivots, self.info = packed, pivots, info

    def solved(self, B: Tensor, adjoint: bool) -> Tensor:
        """`A^-1 B`, or `A^-H B`, on the values alone."""
        packed = self.packed
        order = _core._permutation(self.pivots, packed.shape[-2]).unsqueeze(-1)
        if B.dim() > 2:
            packed = packed.expand(*B.shape[:-2], *packed.shape[-2:])
            order = order.expand(*B.shape[:-2], *order.shape[-2:])
        if adjoint:
            half = _core._solve_triangular(packed.mH, B, False, False)
            half = _core._solve_triangular(packed.mH, half, True, True)
            return half.gather(-2, order.argsort(-2).expand(B.shape))
        half = _core._solve_triangular(packed, B.detach().gather(-2, order.expand(B.shape)), False, True)
        return _core._solve_triangular(packed, half, True, False)


def _apply_inverse(A: Tensor, factored: _Factored, B: Tensor, adjoint: bool = False) -> Tensor:
    """`A^-1 B`, or `A^-H B`, recorded; A and B have the same leading dimensions."""
    return _recorded(A, factored, B, factored.solved(B.detach(), adjoint), adjoint)


def _recorded(A: Tensor, factored: _Factored, B: Tensor, X: Tensor, adjoint: bool = False) -> Tensor:
    """`X`, which is `A^-1 B` or `A^-H B`."""

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (A, X), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        of_b = _apply_inverse(A, factored, grad, not adjoint)
        if not context.needs[0]:
            return None, of_b
        return -(X @ of_b.mH) if adjoint else -(of_b @ X.mH), of_b

    link("LinalgSolveExBackward0", [A, B], [X], [A, X], rule)
    return X


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether torch takes B for a batch of vectors instead of matrices."""
    return B.dim() == 1 or (B.dim() == A.dim() - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


def _solved(op: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solution, the packed factors, the pivots and the error codes."""
    check_square(op, A)
    check_float(op, A)
    check_same(op, A, B)
    vector = _is_vector(A, B)
    if vector and not left:
        raise _core.ShapeError(
            f"{op}: Vector broadcasting of the left hand side is not supported for left=False. In "
            "this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    right = B.unsqueeze(-1) if vector else B
    check_matrix(op, right, "B")
    if right.shape[-2 if left else -1] != A.shape[-1]:
        raise _core.ShapeError(
            f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})"
        )
    matrix = A if left else A.mT
    whole, right = broadcast_batch(op, matrix, right if left else right.mT)
    if whole is matrix:
        result, *factors = _core._solve(matrix, right)
        factored = _Factored(*factors)
        solution = _recorded(matrix, factored, right, result)
    else:
        # A matrix of several right sides is factored once.
        factored = _Factored(*_core._lu(matrix))
        solution = _apply_inverse(whole, factored, right)
    solution = solution if left else solution.mT
    return solution.squeeze(-1) if vector else solution, factored.packed, factored.pivots, factored.info


def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_solve_ex:
    """As `solve`, with an error code for each matrix instead of an exception.

    Args:
        A: (..., n, n).
        B: (..., n, k), (..., n) or, when not `left`, (..., k, n).
        left: Whether A stands on the left.
        check_errors: Whether to raise as `solve` does.
        out: Where to write the results.

    Returns:
        `result`, and `info`: 0, or where the first zero pivot stands, from 1.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.solve_ex(pyburn.tensor([[2.0]]), pyburn.tensor([4.0])).result
        tensor([2.])
    """
    solution, _, _, info = _solved("linalg.solve_ex", A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, _SINGULAR)
    return return_types.linalg_solve_ex(write_outs(out, (solution, info)))


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X with `A @ X = B`, or with `X @ A = B`.

    Args:
        A: (..., n, n).
        B: (..., n, k), (..., n) or, when not `left`, (..., k, n); leading dimensions broadcast.
        left: Whether A stands on the left.
        out: Where to write the result.

    Raises:
        LinAlgError: A matrix is singular.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.solve(pyburn.tensor([[2.0, 0.0], [0.0, 4.0]]), pyburn.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    solution, _, _, info = _solved("linalg.solve", A, B, left)
    check_info("torch.linalg.solve", info, _SINGULAR)
    return write_out(out, solution)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Sequence[Tensor] | None = None) -> return_types.linalg_inv_ex:
    """As `inv`, with an error code for each matrix instead of an exception.

    Args:
        A: (..., n, n).
        check_errors: Whether to raise as `inv` does.
        out: Where to write the results.

    Returns:
        `inverse`, and `info`: 0, or where the first zero pivot stands, from 1.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.inv_ex(pyburn.tensor([[2.0]])).inverse
        tensor([[0.5000]])
    """
    return _inverted("linalg.inv_ex", A, check_errors, out)


def _inverted(op: str, A: Tensor, check_errors: bool, out: Sequence[Tensor] | None) -> return_types.linalg_inv_ex:
    check_square(op, A)
    check_float(op, A)
    inverse, _, _, info = _core._solve(A)
    if check_errors:
        check_info(op, info, _NO_INVERSE)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (X,), (grad,) = context.saved, context.grads
        return (None,) if grad is None else (-(X.mH @ (grad @ X.mH)),)

    link("LinalgInvExBackward0", [A], [inverse], [inverse], rule)
    return return_types.linalg_inv_ex(write_outs(out, (inverse, info)))


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices.

    Args:
        A: (..., n, n).
        out: Where to write the result.

    Raises:
        LinAlgError: A matrix is singular.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.inv(pyburn.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return write_out(out, _inverted("linalg.inv", A, True, None)[0])


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), given the factors of A as `lu_factor` returns them.

    Args:
        LU: (..., n, n), packed factors.
        pivots: (..., n), row exchanges.
        B: (..., n, k), or (..., k, n) when not `left`; leading dimensions broadcast.
        left: Whether A stands on the left.
        adjoint: Whether to solve with A's conjugate transpose.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> LU, pivots = pyburn.linalg.lu_factor(pyburn.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> pyburn.linalg.lu_solve(LU, pivots, pyburn.tensor([[2.0], [2.0]]))
        tensor([[1.0000],
                [0.5000]])
    """
    op = "torch.linalg.lu_solve"
    check_float(op, LU)
    check_square(op, LU, "LU")
    check_matrix(op, B, "B")
    check_same(op, LU, B)
    if pivots.dtype != _core.int32:
        raise _core.DTypeError(f"{op}: pivots should be a Tensor of scalar type torch.int32. Got {pivots.dtype}")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise _core.ShapeError(f"{op}: Incompatible shapes of LU {list(LU.shape)} and B {list(B.shape)}")
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise _core.ShapeError(
            f"{op}: Number of pivots per batch should be same as the dimension of the matrix, but pivots have shape "
            f"{list(pivots.shape)} for LU of shape {list(LU.shape)}"
        )
    if not left:
        return write_out(out, lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH)
    order = _core._permutation(pivots, LU.shape[-1]).unsqueeze(-1)
    whole, right = broadcast_batch(op, LU, B)
    order = order.expand(*right.shape[:-2], order.shape[-2], 1)
    lower, upper = unpack_lu(whole)
    if adjoint:
        half = solve_triangular(upper.mH, right, upper=False)
        half = solve_triangular(lower.mH, half, upper=True, unitriangular=True)
        return write_out(out, half.gather(-2, order.argsort(-2).expand(right.shape)))
    half = solve_triangular(lower, right.gather(-2, order.expand(right.shape)), upper=False, unitriangular=True)
    return write_out(out, solve_triangular(upper, half, upper=True))


def _sign_of_exchanges(pivots: Tensor, like: Tensor) -> Tensor:
    places = _core._arange(1, pivots.shape[-1] + 1, 1, _core.int64, pivots.device, False)
    odd = (pivots != places).sum(-1) % 2
    return (1 - 2 * odd).to(like.dtype)


def _others(s: Tensor) -> Tensor:
    """At each place the product of all the other singular values."""
    size = s.shape[-1]
    rows = s.unsqueeze(-2).expand(*s.shape, size)
    return rows.masked_fill(eye_like(s, size).to(_core.bool), 1.0).prod(-1)


def _det_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (A, determinant), (grad,) = context.saved, context.grads
    if grad is None:
        return (None,)
    if (determinant == 0).any():
        # The cofactors of a singular matrix, from its singular vectors.
        u, s, v = raw_svd("linalg.det", A, 1)
        turn = det(u).conj() * det(v)
        scale = _others(s) * (grad * turn).unsqueeze(-1)
        return ((u * scale.unsqueeze(-2)) @ v.mH,)
    unit = eye_like(A.detach(), A.shape[-1], batch=A.shape[:-2])
    # By the factors that gave the determinant, which `_det` chooses so: what they make of a tiny pivot cancels.
    turned = A.is_contiguous() and not A.is_complex()
    matrix = A.mT if turned else A
    cofactors = _apply_inverse(matrix, _Factored(*_core._lu(matrix)), unit, adjoint=not turned)
    return (cofactors * (grad * determinant.conj()).unsqueeze(-1).unsqueeze(-1),)


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices.

    Args:
        A: (..., n, n).
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.det(pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(-2.)
    """
    check_square("linalg.det", A)
    check_float("linalg.det", A)
    result = _core._det(A)
    link("LinalgDetBackward0", [A], [result], [A, result], _det_rule)
    return write_out(out, result)


def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_slogdet:
    """The sign of the determinant and the logarithm of its absolute value.

    Args:
        A: (..., n, n).
        out: Where to write the results.

    Returns:
        `sign`: 1, -1 or, for a singular matrix, 0; `logabsdet`, for that -inf.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.slogdet(pyburn.tensor([[1.0, 0.0], [0.0, -1.0]])).sign
        tensor(-1.)
    """
    return return_types.linalg_slogdet(write_outs(out, raw_slogdet(A)))


def raw_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign and the logarithm, recorded."""
    check_square("linalg.slogdet", A)
    check_float("linalg.slogdet", A)
    factored = _Factored(*_core._lu(A))
    diagonal = factored.packed.diagonal(0, -2, -1)
    signs = diagonal._sgn() if A.is_complex() else diagonal.sign()
    sign = signs.prod(-1) * _sign_of_exchanges(factored.pivots, diagonal)
    logarithm = diagonal.abs().log().sum(-1)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (A, sign), (grad_sign, grad) = context.saved, context.grads
        if A.is_complex() and grad_sign is not None:
            turn = (grad_sign * sign.conj()).imag * 1j
            grad = turn if grad is None else grad + turn
        if grad is None:
            # A real sign does not change.
            return (A.new_zeros(A.shape),)
        unit = eye_like(A.detach(), A.shape[-1], batch=A.shape[:-2])
        return (_apply_inverse(A, factored, unit, adjoint=True) * grad.unsqueeze(-1).unsqueeze(-1),)

    link("LinalgSlogdetBackward0", [A], [sign, logarithm], [A, sign], rule)
    return sign, logarithm
