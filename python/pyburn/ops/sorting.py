"""Sorting, the k greatest, order statistics and distinct values."""

from __future__ import annotations

from pyburn import return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs

__all__ = [
    "argsort",
    "kthvalue",
    "median",
    "mode",
    "msort",
    "nanmedian",
    "sort",
    "topk",
]

METHODS = tuple(__all__)

Pair = tuple[Tensor, Tensor]


def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    out: Pair | None = None,
) -> return_types.sort:
    """The elements along `dim` in order and where each came from, as a named tuple. NaN counts as the greatest.

    Args:
        input: The tensor.
        dim: The dimension.
        descending: Whether the greatest come first.
        stable: Whether equal elements keep their order; here they always do.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.sort(pyburn.tensor([3, 1, 2])).indices
        tensor([1, 2, 0])
    """
    return return_types.sort(write_outs(out, input._sort(dim, descending)))


def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the elements along `dim` come from when sorted.

    Args:
        input: The tensor.
        dim: The dimension.
        descending: Whether the greatest come first.
        stable: Whether equal elements keep their order; here they always do.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.argsort(pyburn.tensor([3, 1, 2]), descending=True)
        tensor([0, 2, 1])
    """
    return write_out(out, input.detach()._sort(dim, descending)[1])


def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements along the first dimension in order.

    Args:
        input: The tensor.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.msort(pyburn.tensor([3, 1, 2]))
        tensor([1, 2, 3])
    """
    return write_out(out, input._sort(0, False)[0])


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Pair | None = None,
) -> return_types.topk:
    """The `k` greatest (or least) elements along `dim` and where they stand, as a named tuple.

    Args:
        input: The tensor.
        k: How many.
        dim: The dimension.
        largest: Whether the greatest are wanted, or the least.
        sorted: Whether they must be in order; here they always are.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.topk(pyburn.tensor([1.0, 4.0, 2.0, 3.0]), 2).values
        tensor([4., 3.])
    """
    return return_types.topk(write_outs(out, input._topk(k, dim, largest)))


def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Pair | None = None
) -> return_types.kthvalue:
    """The `k`-th least element along `dim` and where it stands, as a named tuple.

    Args:
        input: The tensor.
        k: Which one, counted from 1.
        dim: The dimension.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.kthvalue(pyburn.tensor([5.0, 1.0, 3.0]), 2).values
        tensor(3.)
    """
    return return_types.kthvalue(write_outs(out, input._kthvalue(k, dim, keepdim)))


def median(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Pair | None = None
) -> Tensor | return_types.median:
    """The median, the lower one of two; along `dim` also where it stands, as a named tuple. NaN where there is one.

    Args:
        input: The tensor.
        dim: The dimension; None means all elements.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.median(pyburn.tensor([4.0, 1.0, 3.0, 2.0]))
        tensor(2.)
    """
    if dim is None:
        return input._median(False)
    return return_types.median(write_outs(out, input._median_dim(dim, keepdim, False)))


def nanmedian(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Pair | None = None
) -> Tensor | return_types.nanmedian:
    """The median of what is not NaN; along `dim` also where it stands, as a named tuple.

    Args:
        input: The tensor.
        dim: The dimension; None means all elements.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.nanmedian(pyburn.tensor([4.0, float("nan"), 3.0]))
        tensor(3.)
    """
    if dim is None:
        return input._median(True)
    return return_types.nanmedian(write_outs(out, input._median_dim(dim, keepdim, True)))


def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Pair | None = None) -> return_types.mode:
    """The most frequent element along `dim`, the least of several, and where it last stands, as a named tuple.

    Args:
        input: The tensor.
        dim: The dimension.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.mode(pyburn.tensor([1, 2, 2, 3])).values
        tensor(2)
    """
    return return_types.mode(write_outs(out, input._mode(dim, keepdim)))
