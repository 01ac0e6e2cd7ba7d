"""Solutions with triangular matrices, on which most gradients of linear algebra rest."""

from __future__ import annotations

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import write_out
from pyburn.ops.matrices.checks import broadcast_batch, check_float, check_matrix, check_same, check_square
from pyburn.ops.matrices.recorded import Backward, link

__all__ = ["solve_triangular"]


def _solve(a: Tensor, b: Tensor, upper: bool, unit: bool) -> Tensor:
    """`x` with `a @ x = b`, recorded; both have the same leading dimensions."""
    solution = _core._solve_triangular(a, b, upper, unit)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (a, x), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        of_b = _solve(a.mH, grad, not upper, unit)
        if not context.needs[0]:
            return None, of_b
        of_a = -(of_b @ x.mH)
        return of_a.triu(int(unit)) if upper else of_a.tril(-int(unit)), of_b

    link("LinalgSolveTriangularBackward0", [a, b], [solution], [a, solution], rule)
    return solution


def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X with `A @ X = B` for a triangular A, or with `X @ A = B`.

    Args:
        A: (..., n, n); the other triangle is not read.
        B: (..., n, k), or (..., k, n) when not `left`; leading dimensions broadcast.
        upper: Whether A is an upper triangle.
        left: Whether A stands on the left.
        unitriangular: Whether to take A's diagonal as ones.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> A = pyburn.tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> pyburn.linalg.solve_triangular(A, pyburn.tensor([[2.0], [9.0]]), upper=False)
        tensor([[1.],
                [2.]])
    """
    op = "linalg.solve_triangular"
    check_square(op, A)
    check_matrix(op, B, "B")
    check_float(op, A)
    check_same(op, A, B)
    if A.shape[-1] != B.shape[-2 if left else -1]:
        shapes = f"{A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]}"
        raise _core.ShapeError(f"{op}: Incompatible shapes of A and B for the equation {_equation(left)} ({shapes})")
    A, B = broadcast_batch(op, A, B)
    if left:
        return write_out(out, _solve(A, B, upper, unitriangular))
    return write_out(out, _solve(A.mT, B.mT, not upper, unitriangular).mT)


def _equation(left: bool) -> str:
    return "AX = B" if left else "XA = B"
