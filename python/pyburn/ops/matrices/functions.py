"""Functions of matrices and tensors as matrices: powers, the exponential, products and inverses of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops import linalg as _products
from pyburn.ops._methods import write_out
from pyburn.ops.joining import cat
from pyburn.ops.matrices.checks import check_float, check_square, eye_like
from pyburn.ops.matrices.recorded import link_constant
from pyburn.ops.matrices.solve import inv, solve

__all__ = [
    "cross",
    "diagonal",
    "matrix_exp",
    "matrix_power",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "zeroth_power",
]

# Coefficients of Pade's approximation, from the constant term on, and the greatest 1-norm for which it is as exact as
# the dtype (Higham, 2005).
_PADE = {
    False: ([17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0], 3.925724783138660),
    True: (
        [
            64764752532480000.0,
            32382376266240000.0,
            7771770303897600.0,
            1187353796428800.0,
            129060195264000.0,
            10559470521600.0,
            670442572800.0,
            33522128640.0,
            1323241920.0,
            40840800.0,
            960960.0,
            16380.0,
            182.0,
            1.0,
        ],
        5.371920351148152,
    ),
}


def _pade(A: Tensor, coefficients: list[float]) -> Tensor:
    """`(V - U)^-1 (V + U)`, where U has the odd and V the even powers."""
    unit = eye_like(A, A.shape[-1], batch=A.shape[:-2])
    scaled = [value / coefficients[0] for value in coefficients]
    square = A @ A
    odd, even, power = unit * scaled[1], unit * scaled[0], unit
    for k in range(2, len(scaled), 2):
        power = square if k == 2 else power @ square
        even = even + power * scaled[k]
        odd = odd + power * scaled[k + 1]
    odd = A @ odd
    return solve(even - odd, even + odd)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices: the sum of their powers divided by factorials.

    Args:
        A: (..., n, n).

    Example:
        >>> import pyburn
        >>> pyburn.linalg.matrix_exp(pyburn.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    op = "linalg.matrix_exp"
    check_float(op, A)
    check_square(op, A)
    if A.numel() == 0:
        return A.clone()
    coefficients, limit = _PADE[A.dtype in (_core.float64, _core.complex128)]
    lengths = A.detach().abs().sum(-2).amax(-1)
    if not bool(lengths.isfinite().all().item()):
        return A * math.nan
    # Halved as often as each matrix needs, then squared as often.
    halvings = (lengths / limit).log2().ceil().clamp(min=0).unsqueeze(-1).unsqueeze(-1)
    result = _pade(A * (-halvings).exp2(), coefficients)
    for step in range(int(halvings.amax().item())):
        result = (result @ result).where(halvings > step, result)
    return result


def zeroth_power(A: Tensor) -> Tensor:
    """Unit matrices in A's shape, with a gradient of zeros."""
    result = eye_like(A.detach(), A.shape[-1], batch=A.shape[:-2]).clone()
    if A.is_floating_point():
        link_constant("LinalgMatrixPowerBackward0", [A], result)
    return result


def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The product of `n` copies of square matrices; of their inverses when `n` is negative.

    Args:
        A: (..., m, m).
        n: The exponent.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.matrix_power(pyburn.tensor([[2.0, 0.0], [0.0, 4.0]]), -2)
        tensor([[0.2500, 0.0000],
                [0.0000, 0.0625]])
    """
    check_square("linalg.matrix_power", A)
    return write_out(out, _products.matrix_power(inv(A) if n < 0 else A, abs(n)))


def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `A` as a map by `tensordot`: the first `ind` dimensions have as many elements as the others.

    Args:
        A: The tensor.
        ind: How many dimensions count as rows.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.tensorinv(pyburn.eye(4).reshape(2, 2, 4)).shape
        pyburn.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    check_float("linalg.tensorinv", A)
    front, back = list(A.shape[:ind]), list(A.shape[ind:])
    rows, columns = math.prod(front), math.prod(back)
    if rows != columns:
        raise _core.ShapeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return write_out(out, inv(A.reshape(rows, rows)).reshape(back + front))


def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """X with `tensordot(A, X, X.ndim) = B`.

    Args:
        A: The tensor, with as many elements as B's squared.
        B: The right-hand side; its dimensions are A's first ones.
        dims: Dimensions of A to move to the end first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.tensorsolve(pyburn.eye(4).reshape(2, 2, 4), pyburn.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    check_float("linalg.tensorsolve", A)
    if dims is not None:
        last = [dim % A.dim() for dim in dims]
        A = A.permute([dim for dim in range(A.dim()) if dim not in last] + last)
    shape = list(A.shape[B.dim() :])
    size = math.prod(shape)
    if size != math.prod(A.shape[: B.dim()]) or size != B.numel():
        raise _core.ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got shapes {list(A.shape)} and {list(B.shape)}"
        )
    return write_out(out, solve(A.reshape(size, size), B.reshape(size)).reshape(shape))


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Rows of the powers 0 to `N - 1` of each element.

    Args:
        x: (..., n).
        N: How many powers; by default n.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.vander(pyburn.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    if x.dtype == _core.bool:
        raise _core.DTypeError("linalg.vander: not implemented for 'bool'; convert with .long() first")
    x = x.reshape(1) if x.dim() == 0 else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, got {count}.")
    column = x.unsqueeze(-1)
    powers = column.expand(*x.shape, count - 1).cumprod(-1)
    powers = powers if powers.dtype == x.dtype or not x.is_floating_point() else powers.to(x.dtype)
    return cat([powers.new_ones(column.shape), powers], -1)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The sums of products of vectors along `dim`; other dimensions broadcast.

    Args:
        x: The left vectors.
        y: The right vectors.
        dim: Where the vectors lie.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.vecdot(pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]), pyburn.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    if x.dtype != y.dtype:
        raise _core.DTypeError(f"linalg.vecdot: expected one dtype but got {x.dtype} and {y.dtype}")
    left = x.movedim(dim, -1).unsqueeze(-1).mH
    right = y.movedim(dim, -1).unsqueeze(-1)
    return write_out(out, (left @ right).squeeze(-1).squeeze(-1))


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors of three elements along `dim`; other dimensions broadcast.

    Args:
        input: The left vectors.
        other: The right vectors.
        dim: Where the vectors lie.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.cross(pyburn.tensor([1, 0, 0]), pyburn.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    if input.dim() != other.dim():
        raise _core.ShapeError(
            "linalg.cross: inputs must have the same number of dimensions, got "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return _products.cross(input, other, dim, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices.

    Args:
        A: (..., m, n).
        offset: Which diagonal, counted upwards from the main one.
        dim1: Where rows lie.
        dim2: Where columns lie.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.diagonal(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)
