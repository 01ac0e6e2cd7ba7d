"""Places in sorted sequences, histograms, counts and membership."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._methods import truth_out, write_out, write_outs
from pyburn.ops.creation import tensor
from pyburn.ops.ranges import linspace

__all__ = ["bincount", "bucketize", "histc", "histogram", "histogramdd", "isin", "searchsorted", "unravel_index"]

METHODS = ("histogram",)

Number = bool | int | float


def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each value would go to keep the sequence sorted.

    Args:
        sorted_sequence: A sorted vector, or one sorted line for each line of `input`.
        input: The values.
        out_int32: Whether the result is int32 instead of int64.
        right: Whether a value goes behind its equals instead of before them.
        side: "left" or "right", another name of `right`.
        sorter: The order of an unsorted sequence, from :func:`argsort`.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.searchsorted(pyburn.tensor([1, 3, 5]), pyburn.tensor([3, 4]))
        tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted: side can only be 'left' or 'right' but got {side!r}")
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted: side and right can't be set to opposites, got side of left while right was True"
        )
    wanted = _core.int32 if out_int32 else _core.int64
    if out is not None and out.dtype != wanted:
        raise _core.DTypeError(
            f"torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
            f"on whether out_int32 flag is True, but we got output tensor's dtype {out.dtype} and out_int32 flag is "
            f"{out_int32}"
        )
    found = sorted_sequence.detach()._searchsorted(_plain(input), right or side == "right", sorter)
    return write_out(out, found.to(_core.int32) if out_int32 else found)


def _plain(value: Tensor | Number) -> Tensor | Number:
    return value.detach() if isinstance(value, Tensor) else value


def bucketize(
    input: Tensor | Number,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The number of the bucket between sorted boundaries that each value falls into.

    Args:
        input: The values.
        boundaries: A sorted vector.
        out_int32: Whether the result is int32 instead of int64.
        right: Whether a value that equals a boundary goes behind it.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.bucketize(pyburn.tensor([0.5, 2.0]), pyburn.tensor([1.0, 2.0]))
        tensor([0, 1])
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize: boundaries must be 1 dimension, but got {boundaries.dim()}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many values fall into each of `bins` equal parts of a range.

    Args:
        input: A float tensor.
        bins: The number of bins.
        min: Where the range begins; with `max` equal to it, the range of the data is taken.
        max: Where the range ends.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.histc(pyburn.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    for bound in (min, max):
        _core._check_number(bound, input.dtype)
    return write_out(out, input.histc(bins, min, max))


def _histogram_range(input: Tensor) -> tuple[float, float]:
    """Least and greatest value; a single value stands in the middle of a range of width 1."""
    low, high = input._histogram_range()
    if input.numel() and bool(input.reshape(-1)[0] == (low + high) / 2):
        least, greatest = float(input.amin().item()), float(input.amax().item())
        return (least - 0.5, greatest + 0.5) if least == greatest else (low, high)
    return low, high


def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> return_types.histogram:
    """Counts of values between edges, and the edges, as a named tuple.

    Args:
        input: A float tensor.
        bins: The number of equal bins, or the edges in rising order.
        range: The range of equal bins; the data's by default.
        weight: What each value counts.
        density: Whether the result is scaled to integrate to 1.
        out: Where to write the results.

    Example:
        >>> import pyburn
        >>> pyburn.histogram(pyburn.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
        tensor([2., 1.])
    """
    if not input.is_floating_point():
        raise _core.DTypeError(f"histogram: not implemented for {input.dtype}; convert with .float() first")
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            f"histogram: if weight tensor is provided it should have the same shape as the input tensor, "
            f"got {tuple(weight.shape)} and {tuple(input.shape)}"
        )
    if isinstance(bins, Tensor):
        edges = bins
    else:
        if bins <= 0:
            raise RuntimeError(f"histogram: bins must be positive, got {bins}")
        low, high = _histogram_range(input.detach()) if range is None else range
        edges = linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)
    hist = input.detach()._histogram(edges, weight)
    if density:
        hist = hist / (hist.sum() * edges.diff())
    return return_types.histogram(write_outs(out, (hist, edges)))


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """Counts of points in the cells of a grid, and the edges along each dimension, as a named tuple.

    Args:
        input: The points: the last dimension holds their coordinates.
        bins: The number of equal bins, one for each dimension, or the edges of each.
        range: Least and greatest edge of each dimension in turn; the data's by default.
        weight: What each point counts.
        density: Whether the result is scaled to integrate to 1.

    Example:
        >>> import pyburn
        >>> pyburn.histogramdd(pyburn.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 2]).hist
        tensor([[0., 1.],
                [1., 1.]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, got {list(input.shape)}")
    count = input.shape[-1]
    given: list[int | Tensor] = [bins] * count if is_integer(bins) else list(bins)
    if len(given) != count:
        raise RuntimeError(f"histogramdd: bins has {len(given)} entries for {count} dimensions")
    points = input.detach().reshape(-1, count)
    limits = None if range is None else [(range[2 * at], range[2 * at + 1]) for at in builtins.range(count)]
    edges, cell, inside = [], points.new_zeros(points.shape[0], dtype=_core.int64), None
    for at, one in enumerate(given):
        column = points[:, at].contiguous()
        edge = one
        if not isinstance(one, Tensor):
            low, high = limits[at] if limits is not None else _histogram_range(column)
            if low == high:
                low, high = low - 0.5, high + 0.5
            edge = linspace(low, high, one + 1, dtype=input.dtype, device=input.device)
        assert isinstance(edge, Tensor)
        edges.append(edge)
        place = searchsorted(edge.contiguous(), column, right=True) - 1
        last = edge.shape[0] - 1
        place = place - (column == edge[-1]).to(place.dtype) * (place == last).to(place.dtype)
        valid = (column >= edge[0]) & (column <= edge[-1])
        inside = valid if inside is None else inside & valid
        cell = cell * last + place
    shape = [edge.shape[0] - 1 for edge in edges]
    amount = input.detach().new_ones(points.shape[0]) if weight is None else weight.detach().reshape(-1)
    hist = amount.new_zeros(math.prod(shape))
    if inside is not None:
        hist = hist.index_add(0, cell[inside], amount[inside])
    hist = hist.reshape(shape)
    if density:
        hist = hist / hist.sum()
        for at, edge in enumerate(edges):
            hist = hist / edge.diff().reshape([-1 if at == dim else 1 for dim in builtins.range(count)])
    return return_types.histogramdd((hist, tuple(edges)))


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights.

    Args:
        input: A vector of non-negative integers.
        weights: What each value counts.
        minlength: The least length of the result.

    Example:
        >>> import pyburn
        >>> pyburn.bincount(pyburn.tensor([0, 1, 1, 3]))
        tensor([1, 2, 0, 1])
    """
    return input.bincount(weights, minlength)


def isin(
    elements: Tensor | Number,
    test_elements: Tensor | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is one of the test elements.

    Args:
        elements: A tensor or a number.
        test_elements: A tensor or a number.
        assume_unique: Accepted; it makes no difference here.
        invert: Whether to ask the opposite.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.isin(pyburn.tensor([1, 2, 3]), pyburn.tensor([2, 4]))
        tensor([False,  True, False])
    """
    truth_out("isin", out)
    if not isinstance(elements, Tensor):
        device = test_elements.device if isinstance(test_elements, Tensor) else None
        elements = tensor(elements, device=device)
    if not isinstance(test_elements, Tensor):
        test_elements = tensor(test_elements, device=elements.device)
    found = elements.detach()._isin(test_elements.detach())
    return write_out(out, found.logical_not() if invert else found)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, that places in a flattened array of `shape` have.

    Args:
        indices: Integers.
        shape: The sizes of the array.

    Example:
        >>> import pyburn
        >>> pyburn.unravel_index(pyburn.tensor([4, 1]), (3, 2))
        (tensor([2, 0]), tensor([0, 1]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == _core.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = [shape] if is_integer(shape) else list(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    steps = [math.prod(sizes[place + 1 :]) for place in builtins.range(len(sizes))]
    return tuple(indices.div(step, rounding_mode="floor") % size for step, size in zip(steps, sizes, strict=True))
