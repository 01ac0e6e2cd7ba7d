"""Sorting, the k greatest, order statistics and distinct values."""

from __future__ import annotations

from typing import Literal, overload

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import check_out, write_out, write_outs
from pyburn.ops.creation import tensor
from pyburn.ops.joining import cat

__all__ = [
    "argsort",
    "kthvalue",
    "median",
    "mode",
    "msort",
    "nanmedian",
    "nanquantile",
    "quantile",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
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
        stable: Whether equal elements keep their order; else they stand as torch's CPU sort leaves them.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.sort(pyburn.tensor([3, 1, 2])).indices
        tensor([1, 2, 0])
    """
    return return_types.sort(write_outs(out, input._sort(dim, descending, stable), input))


def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the elements along `dim` come from when sorted.

    Args:
        input: The tensor.
        dim: The dimension.
        descending: Whether the greatest come first.
        stable: Whether equal elements keep their order; else they stand as torch's CPU sort leaves them.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.argsort(pyburn.tensor([3, 1, 2]), descending=True)
        tensor([0, 2, 1])
    """
    return write_out(out, input.detach()._sort(dim, descending, stable)[1])


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
    return write_out(out, input._sort(0, False, True)[0], input)


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
        sorted: Whether they must be in order; else they stand as torch's CPU selection leaves them.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.topk(pyburn.tensor([1.0, 4.0, 2.0, 3.0]), 2).values
        tensor([4., 3.])
    """
    if input.dtype == _core.bool:
        raise _core.DTypeError("topk does not support bool dtypes on CPU; convert with .to(pyburn.uint8) first")
    return return_types.topk(write_outs(out, input._topk(k, dim, largest, sorted), input))


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
    if out is not None:
        check_out("kthvalue", out[0], input.dtype, input)
    return return_types.kthvalue(write_outs(out, input._kthvalue(k, dim, keepdim)))


@overload
def median(input: Tensor, dim: None = None, keepdim: bool = False, *, out: Pair | None = None) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = False, *, out: Pair | None = None) -> return_types.median: ...
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


@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: bool = False, *, out: Pair | None = None) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False, *, out: Pair | None = None) -> return_types.nanmedian: ...
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
    values, indices = (input.to(_core.uint8) if input.dtype == _core.bool else input)._mode(dim, keepdim)
    if out is not None and input.dim() == 0:
        # torch says nothing when it resizes these.
        out[0].resize_(()), out[1].resize_(())
    return return_types.mode(write_outs(out, (values.to(input.dtype), indices), input))


def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The `q`-th quantiles along `dim`; NaN where there is one.

    Args:
        input: A float tensor.
        q: A number between 0 and 1, or a vector of them, which becomes the first dimension.
        dim: The dimension; None means all elements.
        keepdim: Whether the reduced dimension stays, with size 1.
        interpolation: Between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.quantile(pyburn.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
        tensor(1.5000)
    """
    return write_out(out, _quantile("quantile", input, q, dim, keepdim, interpolation, False))


def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The `q`-th quantiles along `dim` of what is not NaN.

    Args:
        input: A float tensor.
        q: A number between 0 and 1, or a vector of them, which becomes the first dimension.
        dim: The dimension; None means all elements.
        keepdim: Whether the reduced dimension stays, with size 1.
        interpolation: Between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.nanquantile(pyburn.tensor([0.0, float("nan"), 2.0]), 0.5)
        tensor(1.)
    """
    return write_out(out, _quantile("nanquantile", input, q, dim, keepdim, interpolation, True))


def _quantile_points(name: str, input: Tensor, q: float | Tensor) -> Tensor:
    """`q` as a checked tensor."""
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return tensor(q, dtype=input.dtype, device=input.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got shape {tuple(q.shape)}")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor, got {q.dtype}")
    if q.numel() and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(
    name: str, input: Tensor, q: float | Tensor, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    if input.dtype not in (_core.float32, _core.float64):
        raise _core.DTypeError(f"{name}() input tensor must be either float or double dtype, got {input.dtype}")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, got {interpolation!r}"
        )
    points = _quantile_points(name, input, q)
    lines = input.reshape(-1) if dim is None or input.dim() == 0 else input.transpose(dim, -1)
    ordered = lines._sort(-1, False, True)[0]
    size = ordered.shape[-1]
    bad = ordered.detach().isnan()
    flat = points.reshape(-1)
    if ignore_nan:
        # All NaN: rank 0 shows it.
        valid = (size - bad.sum(-1, keepdim=True)).to(input.dtype)
        ranks = (flat * (valid - 1)).clamp(min=0)
    else:
        # A NaN is sorted to the end, so that the last rank shows it.
        ranks = (flat * (size - 1)).expand(*ordered.shape[:-1], flat.numel())
        ranks = ranks.masked_fill(bad.any(-1, keepdim=True), size - 1)
    result = _between(ordered, ranks, interpolation)
    # torch looks for one quantile of whole rows in the input itself.
    kept = (input,) if points.dim() == 0 and dim in (None, -1, input.dim() - 1) else ()
    if dim is None or input.dim() == 0:
        shape = [1] * input.dim() if keepdim else []
        return _core._stand_for(result.reshape([*points.shape, *shape]), "ViewBackward0", (input, points), kept)
    result = result.unsqueeze(0).transpose(0, -1).squeeze(-1)
    restored = result.unsqueeze(-1).transpose(-1, dim if dim < 0 else dim + 1)
    restored = restored if keepdim else restored.squeeze(dim if dim < 0 else dim + 1)
    restored = restored if points.dim() else restored.squeeze(0)
    return _core._stand_for(restored, "SqueezeBackward4", (input, points), kept)


def _between(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """The values at fractional positions of sorted lines."""
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.long()
    low = ordered.gather(-1, below)
    if interpolation not in ("linear", "midpoint"):
        return low
    high = ordered.gather(-1, ranks.ceil().long())
    return low.lerp(high, ranks - below if interpolation == "linear" else 0.5)


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: bool,
    return_inverse: Literal[True],
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    *,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements in order, or the distinct slices along `dim`.

    Args:
        input: The tensor.
        sorted: Whether the result must be in order; here it always is.
        return_inverse: Whether to return, for each element, which of the results it is.
        return_counts: Whether to return how often each result occurs.
        dim: The dimension; None means single elements.

    Returns:
        The distinct values, then the inverse and the counts where they were asked for.

    Example:
        >>> import pyburn
        >>> pyburn.unique(pyburn.tensor([3, 1, 3, 2]), return_counts=True)
        (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    return _distinct(input, dim, False, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The elements (or slices along `dim`) without those that equal the one before them.

    Args:
        input: The tensor.
        return_inverse: Whether to return, for each element, which of the results it is.
        return_counts: Whether to return how long each run is.
        dim: The dimension; None means single elements.

    Returns:
        The values, then the inverse and the counts where they were asked for.

    Example:
        >>> import pyburn
        >>> pyburn.unique_consecutive(pyburn.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    return _distinct(input, dim, True, return_inverse, return_counts)


def _distinct(
    input: Tensor, dim: int | None, in_order: bool, return_inverse: bool, return_counts: bool
) -> Tensor | tuple[Tensor, ...]:
    lines = input.detach().reshape(-1) if dim is None else input.detach()
    axis = 0 if dim is None else dim
    only_values = not (return_inverse or return_counts or lines.is_complex())
    if in_order and dim is None and only_values and lines.numel() > 1 and lines.is_cpu:
        values = lines.masked_select(cat([lines.new_ones(1, dtype=_core.bool), lines[1:] != lines[:-1]]))
    else:
        first, inverse, counts = lines._distinct(axis, in_order, return_inverse)
        values = lines.index_select(axis, first) if lines.dim() else lines.clone()
    if input.requires_grad:
        kind = "unique_consecutive" if in_order else "_unique2" if dim is None else "unique_dim"
        node = "".join(part.capitalize() for part in kind.split("_")) + "Backward0"
        values = _core._no_derivative(values, node, f"the derivative for '{kind}' is not implemented.", [input])
    results = [values]
    if return_inverse:
        results.append(inverse.reshape(input.shape) if dim is None else inverse)
    if return_counts:
        results.append(counts)
    return results[0] if len(results) == 1 else tuple(results)
