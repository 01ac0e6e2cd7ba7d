"""A few extreme eigenvalues of a large symmetric matrix, found by products with it alone (Knyazev, 2001)."""

from __future__ import annotations

from typing import Any

from pyburn._core import DTypeError, Tensor
from pyburn._typeinfo import finfo
from pyburn.ops.joining import cat, stack
from pyburn.ops.matrices.factor import cholesky
from pyburn.ops.matrices.spectrum import eigh
from pyburn.ops.matrices.triangular import solve_triangular
from pyburn.ops.random import randn

__all__ = ["lobpcg"]

# Steps after which there is no hope: torch takes niter <= 0 for "without end".
_MOST = 1 << 16


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest or smallest eigenvalues of a symmetric matrix, and their vectors as columns.

    Args:
        A: (..., m, m), dense or sparse.
        k: How many; by default as many as `X` has columns, or 1.
        B: Positive definite: solves ``A x = e B x``.
        X: (..., m, n), where to start; random columns when left out.
        n: How many columns are refined, `k` of which are given back.
        iK: (..., m, m), about the inverse of A, which makes it faster.
        niter: How many steps at most, 1000 when left out.
        tol: The relative residual at which a pair is found; by default the root of the dtype's `eps`.
        largest: Whether the largest are looked for, as when left out.
        method: "basic" or "ortho"; both are computed alike.
        tracker: Not taken.
        ortho_iparams: Accepted for torch's sake, as the next two.
        ortho_fparams: As above.
        ortho_bparams: As above.

    Raises:
        ValueError: `A` has fewer than ``3 * k`` rows: use `linalg.eigh`.

    Differs from torch:
        Gradients are those of `linalg.eigh`, which a matrix that requires them is given to.

    Example:
        >>> import pyburn
        >>> pyburn.lobpcg(pyburn.diag(pyburn.arange(1.0, 10.0)), k=2)[0].round(decimals=2)
        tensor([9., 8.])
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: no tracker is called; leave it out, and limit the steps with niter.")
    assert A.dim() >= 2 and A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}"
    if not A.is_floating_point():
        raise DTypeError(f"lobpcg: expected a real floating-point matrix, got {A.dtype}; convert it with .float()")
    wanted = k if k is not None else 1 if X is None else X.shape[-1]
    width = X.shape[-1] if X is not None else wanted if n is None else n
    rows = A.shape[-1]
    if wanted < 1 or width < 1:
        raise ValueError(f"lobpcg: expected at least one eigenpair, got k={wanted} and n={width}")
    if rows < 3 * width:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={width})"
        )
    up = largest is None or bool(largest)
    if A.requires_grad or (B is not None and B.requires_grad):
        return _exact(A, B, min(wanted, width), up)
    limit = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    steps = 1000 if niter is None else niter if niter > 0 else _MOST
    start = randn(*A.shape[:-2], rows, width, dtype=A.dtype, device=A.device) if X is None else X.detach()
    near = None if iK is None else iK.detach()
    return _batches(A, B, start, near, (min(wanted, width), steps, limit, up))


def _exact(A: Tensor, B: Tensor | None, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """All pairs, with their graph, and of them the first."""
    if B is None:
        values, vectors = eigh(A)
    else:
        factor = cholesky(B)
        half = solve_triangular(factor, A, upper=False)
        values, vectors = eigh(solve_triangular(factor, half.mT, upper=False))
        vectors = solve_triangular(factor.mT, vectors, upper=True)
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def _batches(
    A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, how: tuple[int, int, float, bool]
) -> tuple[Tensor, Tensor]:
    if A.dim() == 2:
        return _search(A, B, X, iK, *how)
    parts = [
        _batches(A[at], None if B is None else B[at], X[at], None if iK is None else iK[at], how)
        for at in range(A.shape[0])
    ]
    return stack([values for values, _ in parts]), stack([vectors for _, vectors in parts])


def _search(
    A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int, niter: int, tol: float, largest: bool
) -> tuple[Tensor, Tensor]:
    """Pairs from the best combinations of the present vectors, their residuals and the last steps."""
    width = X.shape[-1]
    before = None
    values, X, _ = _best(A, _orthonormal(X, B), width, largest)
    scale, weight = (A @ X).norm() / X.norm(), 1.0 if B is None else (B @ X).norm() / X.norm()
    for _ in range(niter):
        residual = A @ X - (X if B is None else B @ X) * values
        error = residual.norm(dim=-2) / (X.norm(dim=-2) * (scale + values.abs() * weight))
        if bool((error[:k] < tol).all()):
            break
        steps = residual if iK is None else iK @ residual
        # Apart from X first, so that X itself stays as precise as it is.
        others = cat([steps] if before is None else [steps, before], -1)
        for _ in range(2):
            others = _orthonormal(others - X @ ((X if B is None else B @ X).mT @ others), B)
        if others.shape[-1] == 0:  # nothing leads out of the space of X
            break
        values, X, mixed = _best(A, cat([X, others], -1), width, largest)
        before = others @ mixed[width:]
    return values[:k], X[:, :k]


def _best(A: Tensor, space: Tensor, width: int, largest: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The extreme pairs of A within a space of orthonormal columns, and what they are combined of."""
    product = space.mT @ (A @ space)
    values, mixed = eigh((product + product.mT) / 2)
    if largest:
        values, mixed = values.flip(-1), mixed.flip(-1)
    values, mixed = values[:width], mixed[:, :width]
    return values, space @ mixed, mixed


def _orthonormal(space: Tensor, B: Tensor | None) -> Tensor:
    """Columns that span what those of `space` do, orthonormal (with respect to B); without nearly dependent ones."""
    if space.shape[-1] == 0:
        return space
    lengths = space.norm(dim=-2, keepdim=True)
    space = space / lengths.clamp(min=finfo(space.dtype).tiny)
    gram = space.mT @ (space if B is None else B @ space)
    values, turned = eigh((gram + gram.mT) / 2)
    kept = values > values.abs().max() * finfo(space.dtype).eps * 10
    return (space @ turned[:, kept]) / values[kept].sqrt()
