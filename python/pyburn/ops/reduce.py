"""Sums, means, products, extremes and truth over dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from pyburn import _core, return_types
from pyburn._core import Tensor, uint8
from pyburn._integers import is_integer
from pyburn.ops._methods import check_out, truth_out, write_out, write_outs

__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "nanmean",
    "nansum",
    "prod",
    "sum",
    "sum_to_size",
    "trace",
]

METHODS = ("aminmax", "max", "min", "nanmean", "nansum", "sum_to_size", "trace")

Dims = int | Sequence[int] | None


def sum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum over `dim`; integers and booleans are summed as int64.

    Args:
        input: The tensor.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.sum(pyburn.tensor([[1, 2], [3, 4]]), 0)
        tensor([4, 6])
    """
    return write_out(out, input.sum(dim, keepdim, dtype=dtype))


def sum_to_size(self: Tensor, *size: int | Sequence[int]) -> Tensor:
    """The sum over the dimensions that broadcasting from `size` would add or repeat.

    Example:
        >>> import pyburn
        >>> pyburn.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
    """
    first = size[0] if size else ()
    shape = [int(one) for one in (size if is_integer(first) else first)]  # type: ignore[arg-type]
    extra = self.dim() - len(shape)
    own = list(self.shape)
    if extra < 0 or [one for one, have in zip(shape, own[extra:], strict=True) if one not in (1, have)]:
        raise RuntimeError(f"sum_to_size: size {shape} is not expandable to size {own}.")
    repeated = [extra + at for at, one in enumerate(shape) if one == 1 and own[extra + at] != 1]
    dims = list(range(extra)) + repeated
    return self.sum(dims, True).reshape(shape) if dims or not shape else self


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Example:
        >>> import pyburn
        >>> pyburn.trace(pyburn.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    return input.diagonal().sum()


def nansum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum over `dim` of what is not NaN.

    Args:
        input: The tensor.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.nansum(pyburn.tensor([1.0, float("nan"), 3.0]))
        tensor(4.)
    """
    return write_out(out, input._nansum(dim, keepdim, dtype=dtype))


def mean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over `dim`.

    Args:
        input: A float tensor, or any with `dtype`.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Raises:
        DTypeError: If the input holds integers and no `dtype` is given.

    Example:
        >>> import pyburn
        >>> pyburn.mean(pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
        tensor([1.5000, 3.5000])
    """
    return write_out(out, input.mean(dim, keepdim, dtype=dtype))


def nanmean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over `dim` of what is not NaN.

    Args:
        input: A float tensor.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.nanmean(pyburn.tensor([1.0, float("nan"), 3.0]))
        tensor(2.)
    """
    if not input.is_floating_point():
        raise _core.DTypeError(f"nanmean: expected input to have floating point dtype, got {input.dtype}")
    count = input.detach().isnan().logical_not().sum(dim, keepdim)
    return write_out(out, input._nansum(dim, keepdim, dtype=dtype) / count)


def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: _core.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product over `dim`; integers and booleans are multiplied as int64.

    Args:
        input: The tensor.
        dim: The dimension; None means all.
        keepdim: Whether the reduced dimension stays, with size 1.
        dtype: What to convert the input to first.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.prod(pyburn.tensor([2.0, 3.0, 4.0]))
        tensor(24.)
    """
    return write_out(out, input.prod(dim, keepdim, dtype=dtype))


def any(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any value along `dim` is not zero.

    Args:
        input: The tensor.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.any(pyburn.tensor([[0, 0], [0, 2]]), 1)
        tensor([False,  True])
    """
    truth_out("any", out, uint8)
    return write_out(out, input.any(dim, keepdim))


def all(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether every value along `dim` is not zero.

    Args:
        input: The tensor.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.all(pyburn.tensor([[1, 0], [1, 2]]), 1)
        tensor([False,  True])
    """
    truth_out("all", out, uint8)
    return write_out(out, input.all(dim, keepdim))


def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many values along `dim` are not zero.

    Args:
        input: The tensor.
        dim: One dimension or several; None means all.

    Example:
        >>> import pyburn
        >>> pyburn.count_nonzero(pyburn.tensor([[0, 3], [1, 2]]), 0)
        tensor([1, 2])
    """
    return input.count_nonzero(dim)


def amax(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The greatest value over `dim`; equal winners share the gradient.

    Args:
        input: The tensor.
        dim: One dimension or several; an empty tuple means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.amax(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1)
        tensor([5., 7.])
    """
    check_out("amax", out, input.dtype)
    return write_out(out, input.amax(dim, keepdim))


def amin(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The least value over `dim`; equal winners share the gradient.

    Args:
        input: The tensor.
        dim: One dimension or several; an empty tuple means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.amin(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1)
        tensor([1., 3.])
    """
    check_out("amin", out, input.dtype)
    return write_out(out, input.amin(dim, keepdim))


def aminmax(
    input: Tensor,
    *,
    dim: int | None = None,
    keepdim: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> return_types.aminmax:
    """The least and the greatest value along `dim`, as a named tuple.

    Args:
        input: The tensor.
        dim: The dimension; None means all.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.aminmax(pyburn.tensor([3.0, 1.0, 2.0])).max
        tensor(3.)
    """
    pair = (input.amin(dim, keepdim), input.amax(dim, keepdim))
    if out is not None:
        check_out("aminmax", out[0], input.dtype, out[1])
        check_out("aminmax", out[1], input.dtype)
    return return_types.aminmax(write_outs(out, pair, input))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the greatest value first stands along `dim`, or in the flattened tensor.

    Args:
        input: The tensor.
        dim: The dimension; None means the flattened tensor.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.argmax(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1)
        tensor([1, 0])
    """
    return write_out(out, input.argmax(dim, keepdim))


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the least value first stands along `dim`, or in the flattened tensor.

    Args:
        input: The tensor.
        dim: The dimension; None means the flattened tensor.
        keepdim: Whether the reduced dimension stays, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.argmin(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1)
        tensor([0, 1])
    """
    return write_out(out, input.argmin(dim, keepdim))


@overload
def max(
    input: Tensor,
    dim: Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None
) -> return_types.max: ...
def max(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
) -> Tensor | return_types.max:
    """The greatest value; along `dim` with its positions; or, of two tensors, the greater of each pair.

    Args:
        input: The tensor.
        dim: The dimension, or a second tensor to compare with.
        keepdim: Whether the reduced dimension stays, with size 1.
        other: The second tensor, when given by name.
        out: Where to write the result, or both results.

    Returns:
        A tensor, or with a dimension a named tuple of values and indices.

    Example:
        >>> import pyburn
        >>> pyburn.max(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1).indices
        tensor([1, 0])
    """
    if isinstance(dim, Tensor):
        return write_out(_single(out), input.maximum(dim))
    if other is not None:
        return write_out(_single(out), input.maximum(other))
    if dim is None:
        return write_out(_single(out), input._extreme(True))
    return return_types.max(write_outs(_pair(out), input._extreme_dim(True, dim, keepdim), input))


@overload
def min(
    input: Tensor,
    dim: Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None
) -> return_types.min: ...
def min(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
) -> Tensor | return_types.min:
    """The least value; along `dim` with its positions; or, of two tensors, the lesser of each pair.

    Args:
        input: The tensor.
        dim: The dimension, or a second tensor to compare with.
        keepdim: Whether the reduced dimension stays, with size 1.
        other: The second tensor, when given by name.
        out: Where to write the result, or both results.

    Returns:
        A tensor, or with a dimension a named tuple of values and indices.

    Example:
        >>> import pyburn
        >>> pyburn.min(pyburn.tensor([[1.0, 5.0], [7.0, 3.0]]), 1).values
        tensor([1., 3.])
    """
    if isinstance(dim, Tensor):
        return write_out(_single(out), input.minimum(dim))
    if other is not None:
        return write_out(_single(out), input.minimum(other))
    if dim is None:
        return write_out(_single(out), input._extreme(False))
    return return_types.min(write_outs(_pair(out), input._extreme_dim(False, dim, keepdim), input))


def _single(out: Tensor | tuple[Tensor, Tensor] | None) -> Tensor | None:
    if out is None or isinstance(out, Tensor):
        return out
    raise TypeError(f"out must be one tensor here, got a tuple of {len(out)}")


def _pair(out: Tensor | tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor] | None:
    if isinstance(out, Tensor):
        raise TypeError("out must be a tuple of two tensors here, got one tensor")
    return out
