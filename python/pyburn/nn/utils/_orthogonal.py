"""Matrices with orthonormal rows or columns as functions of free ones."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn._typeinfo import finfo
from pyburn.linalg import householder_product, solve
from pyburn.nn.module import Module
from pyburn.ops import cat, eye, geqrf, matrix_exp, randn, zeros_like


def make_orthogonal(A: Tensor) -> Tensor:
    """The nearest thing that QR gives to a tall or square matrix with orthonormal columns."""
    X, tau = geqrf(A)
    Q = householder_product(X, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def is_orthogonal(Q: Tensor) -> bool:
    """Whether the columns are orthonormal, up to rounding."""
    size = Q.shape[-1]
    if Q.shape[-2] < size:
        return False
    error = (Q.mT @ Q - eye(size, dtype=Q.dtype, device=Q.device)).abs()
    return bool((error <= 10.0 * size * finfo(Q.dtype).eps).all())


class _Orthogonal(Module):
    """The parametrization: the exponential or Cayley map of a skew-symmetric matrix, or reflections.

    Args:
        weight: The matrix, or several, at the beginning.
        orthogonal_map: "matrix_exp", "cayley" or "householder".
        use_trivialization: Whether the map is taken around the present matrix, so that any can be set.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        self.trivialized = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix."""
        turned = X.shape[-2] < X.shape[-1]
        X = X.mT if turned else X
        rows, columns = X.shape[-2:]
        if self.orthogonal_map == "householder":
            lower = X.tril(-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(-2))
            Q = householder_product(lower, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            Q = self._from_skew(X.tril(), rows, columns)
        if self.trivialized and self.base is not None:
            Q = self.base @ Q
        return Q.mT if turned else Q

    def _from_skew(self, X: Tensor, rows: int, columns: int) -> Tensor:
        if rows != columns:
            X = cat([X, X.new_zeros((*X.shape[:-2], rows, rows - columns))], -1)
        A = X - X.mT
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            identity = eye(rows, dtype=A.dtype, device=A.device)
            Q = solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :columns]

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The free matrix for which this gives `Q`, or the orthogonal matrix that QR makes of it."""
        if tuple(Q.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {tuple(Q.shape)}."
            )
        given, turned = Q, Q.shape[-2] < Q.shape[-1]
        Q = Q.mT if turned else Q
        rows, columns = Q.shape[-2:]
        if not self.trivialized:
            return self._reflections(Q, turned)
        if rows == columns:
            Q = Q.clone() if is_orthogonal(Q) else make_orthogonal(Q)
        else:
            more = randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
            Q = make_orthogonal(cat([Q, more], -1))
        self.base = Q
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    def _reflections(self, Q: Tensor, turned: bool) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = geqrf(Q)
        A = A.clone()
        signs = A.diagonal(dim1=-2, dim2=-1).sign()
        A.diagonal(dim1=-2, dim2=-1).copy_(signs.where(tau != 0.0, -signs))
        return A.mT if turned else A
