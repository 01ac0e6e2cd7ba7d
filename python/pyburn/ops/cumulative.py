"""Running sums, products and extremes along a dimension, differences and the trapezoid rule."""

from __future__ import annotations

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs

__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "logcumsumexp",
]

METHODS = ("cummax", "cummin")
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
    return write_out(out, input.cumsum(dim, dtype=dtype))


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
    return write_out(out, input.cumprod(dim, dtype=dtype))


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
    return write_out(out, input.logcumsumexp(dim))


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
