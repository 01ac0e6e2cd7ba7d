"""Running sums, products and extremes along a dimension, differences and the trapezoid rule."""

from __future__ import annotations

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.joining import cat

__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "diff",
    "logcumsumexp",
    "trapezoid",
    "trapz",
]

METHODS = ("cummax", "cummin", "diff")
INPLACE = ("cumprod", "cumsum")

Number = bool | int | float


def cumsum(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The running sum along `dim`; integers and booleans are summed as int64.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.cumsum(pyburn.tensor([1.0, 2.0, 3.0]), 0)
        tensor([1., 3., 6.])
    """
    return write_out(out, input.cumsum(dim, dtype=dtype), input)


def cumprod(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The running product along `dim`; integers and booleans are multiplied as int64.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.cumprod(pyburn.tensor([1.0, 2.0, 3.0]), 0)
        tensor([1., 2., 6.])
    """
    return write_out(out, input.cumprod(dim, dtype=dtype), input)


def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along `dim`, without overflow.

    Args:
        input: A float tensor.
        dim: The dimension.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.logcumsumexp(pyburn.tensor([0.0, 0.0]), 0)
        tensor([0.0000, 0.6931])
    """
    return write_out(out, input.logcumsumexp(dim), input)


def cummax(input: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | None = None) -> return_types.cummax:
    """The running greatest value along `dim` and where it stands, as a named tuple.

    Args:
        input: The tensor.
        dim: The dimension.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.cummax(pyburn.tensor([1.0, 3.0, 2.0]), 0).values
        tensor([1., 3., 3.])
    """
    return return_types.cummax(write_outs(out, input._cumulative_extreme(True, dim)))


def cummin(input: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | None = None) -> return_types.cummin:
    """The running least value along `dim` and where it stands, as a named tuple.

    Args:
        input: The tensor.
        dim: The dimension.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.cummin(pyburn.tensor([3.0, 1.0, 2.0]), 0).indices
        tensor([0, 1, 1])
    """
    return return_types.cummin(write_outs(out, input._cumulative_extreme(False, dim)))


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The n-th difference between neighbours along `dim`.

    Args:
        input: The tensor.
        n: How often to take differences.
        dim: The dimension.
        prepend: Values to put before the input first.
        append: Values to put behind the input first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.diff(pyburn.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    if input.dim() == 0:
        raise RuntimeError("diff: expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    if n == 0:
        return write_out(out, input.clone())
    parts = [part for part in (prepend, input, append) if part is not None]
    result = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        if result.shape[dim] == 0:
            break  # further differences of nothing are nothing
        length = result.shape[dim] - 1
        later = result.narrow(dim, 1, length)
        earlier = result.narrow(dim, 0, length)
        result = later.logical_xor(earlier) if result.dtype == _core.bool else later - earlier
    return write_out(out, result)


def _steps(y: Tensor, x: Tensor | None, dx: Number, dim: int) -> Tensor:
    """The areas of the trapezoids between neighbours along `dim`."""
    if y.shape[dim] == 0:
        return y.detach().narrow(dim, 0, 0)
    length = y.shape[dim] - 1
    pairs = y.narrow(dim, 0, length) + y.narrow(dim, 1, length)
    if x is None:
        return pairs * dx / 2.0
    if x.dim() == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(
                "trapezoid(): There must be one `x` value for each sample point, "
                f"got {x.shape[0]} for {y.shape[dim]} along dimension {dim}"
            )
        shape = [1] * y.dim()
        shape[dim] = x.shape[0]
        x = x.reshape(shape)
    span = x.shape[dim] - 1
    return pairs * (x.narrow(dim, 1, span) - x.narrow(dim, 0, span)) / 2.0


def _check_trapezoid(name: str, y: Tensor, x: Tensor | None, dx: Number | None) -> None:
    if y.dim() == 0:
        raise IndexError(f"{name}: expects y to have at least one dimension")
    if x is not None and dx is not None:
        raise TypeError(f"{name}: pass x or dx, not both")


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezoid rule.

    Args:
        y: Values of the function.
        x: Where they were taken; by default `dx` apart.
        dx: The distance between neighbours when `x` is not given; 1 by default.
        dim: The dimension.

    Example:
        >>> import pyburn
        >>> pyburn.trapezoid(pyburn.tensor([1.0, 5.0, 10.0]))
        tensor(10.5000)
    """
    _check_trapezoid("trapezoid", y, x, dx)
    if x is None and y.shape[dim]:
        # One factor for all: what is left of the sum is smaller.
        length = y.shape[dim] - 1
        pairs = y.narrow(dim, 0, length) + y.narrow(dim, 1, length)
        return pairs.sum(dim) * ((1.0 if dx is None else dx) / 2.0)
    return _steps(y, x, 1.0 if dx is None else dx, dim).sum(dim)


def trapz(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The same as :func:`trapezoid`.

    Args:
        y: Values of the function.
        x: Where they were taken; by default `dx` apart.
        dx: The distance between neighbours when `x` is not given; 1 by default.
        dim: The dimension.

    Example:
        >>> import pyburn
        >>> pyburn.trapz(pyburn.tensor([1.0, 5.0, 10.0]), dx=2.0)
        tensor(21.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The running integral along `dim` by the trapezoid rule.

    Args:
        y: Values of the function.
        x: Where they were taken; by default `dx` apart.
        dx: The distance between neighbours when `x` is not given; 1 by default.
        dim: The dimension.

    Example:
        >>> import pyburn
        >>> pyburn.cumulative_trapezoid(pyburn.tensor([1.0, 5.0, 10.0]))
        tensor([ 3.0000, 10.5000])
    """
    _check_trapezoid("cumulative_trapezoid", y, x, dx)
    return _steps(y, x, 1.0 if dx is None else dx, dim).cumsum(dim)
