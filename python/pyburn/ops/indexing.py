"""Reading and writing by index: gather, scatter, masks and what is built of them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal, overload

from pyburn._core import Tensor, int64, is_grad_enabled
from pyburn.ops._methods import check_out, inplace, write_apart, write_out

__all__ = [
    "argwhere",
    "as_strided_scatter",
    "diagonal_scatter",
    "embedding",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "nonzero",
    "nonzero_static",
    "one_hot",
    "put",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "select_scatter",
    "slice_scatter",
    "take",
    "take_along_dim",
]

METHODS = (
    "argwhere",
    "as_strided_scatter",
    "diagonal_scatter",
    "nonzero",
    "nonzero_static",
    "scatter",
    "scatter_",
    "select_scatter",
    "slice_scatter",
    "take_along_dim",
    "__contains__",
)
INPLACE = (
    "index_fill",
    "index_put",
    "index_reduce",
    "masked_scatter",
    "put",
    "scatter_reduce",
)

Number = bool | int | float


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """The values that `index` names along `dim`: for `dim=0`, `out[i][j] = input[index[i][j]][j]`.

    Args:
        input: The tensor to read.
        dim: The dimension along which to index.
        index: int64 or int32 positions, of the same rank as `input` and no larger outside `dim`.
        sparse_grad: Accepted; gradients are dense.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.gather(pyburn.tensor([[1, 2], [3, 4]]), 1, pyburn.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    check_out("gather", out, input.dtype, input, index)
    return write_out(out, input.gather(dim, index, sparse_grad=sparse_grad))


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input` with `src` (or one `value`) written to the positions that `index` names along `dim`.

    Args:
        input: The tensor to copy.
        dim: The dimension along which to index.
        index: int64 or int32 positions.
        src: The values, at least as large as `index`, or one number.
        value: The number, by its keyword.
        reduce: "add" or "multiply" combines with what is there instead of replacing it.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.scatter(pyburn.zeros(2, 3), 1, pyburn.tensor([[2], [0]]), 5.0)
        tensor([[0., 0., 5.],
                [5., 0., 0.]])
    """
    given = src if src is not None else value
    if given is None:
        raise TypeError("scatter: give src= (a tensor) or value= (a number)")
    if reduce is None:
        return write_apart(out, input._scatter(dim, index, given), index, given)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"scatter: reduce argument must be either add or multiply, got {reduce!r}")
    values = given if isinstance(given, Tensor) else input.new_full(tuple(index.shape), given)
    folded = input.scatter_reduce(dim, index, values, "sum" if reduce == "add" else "prod")
    return write_apart(out, folded, index, given)


_scatter_reduced = inplace("scatter", scatter)


def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:
    """In-place form of :func:`pyburn.scatter`: writes the result into this tensor and returns it."""
    given = src if src is not None else value
    if reduce is not None or given is None:
        return _scatter_reduced(self, dim, index, src, value=value, reduce=reduce)
    return self._scatter_(dim, index, given)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with `src` added at the positions that `index` names along `dim`, in the order of `index`.

    Example:
        >>> import pyburn
        >>> pyburn.scatter_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3))
        tensor([2., 0., 1.])
    """
    return write_apart(out, input.scatter_add(dim, index, src), index, src)


def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """`input` with `src` folded in by "sum", "prod", "mean", "amax" or "amin" at the positions of `index`.

    Example:
        >>> import pyburn
        >>> index = pyburn.tensor([0, 0, 1])
        >>> pyburn.scatter_reduce(pyburn.zeros(2), 0, index, pyburn.tensor([1.0, 5.0, -2.0]), "amax")
        tensor([5., 0.])
    """
    return write_apart(out, input.scatter_reduce(dim, index, src, reduce, include_self=include_self), index, src)


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sub-tensors of `input` at the positions in `index` along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.index_select(pyburn.tensor([[1, 2], [3, 4]]), 0, pyburn.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """
    check_out("index_select", out, input.dtype, input, index)
    return write_out(out, input.index_select(dim, index))


def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input` with `alpha * source` added to the sub-tensors at `index` along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.index_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0]), pyburn.ones(2), alpha=2)
        tensor([4., 0., 0.])
    """
    return write_apart(out, input.index_add(dim, index, source, alpha=alpha), index, source)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with the sub-tensors at `index` along `dim` replaced by those of `source`.

    Example:
        >>> import pyburn
        >>> pyburn.index_copy(pyburn.zeros(3), 0, pyburn.tensor([2]), pyburn.ones(1))
        tensor([0., 0., 1.])
    """
    return write_apart(out, input.index_copy(dim, index, source), index, source)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` with the sub-tensors at `index` along `dim` filled with `value`.

    Example:
        >>> import pyburn
        >>> pyburn.index_fill(pyburn.zeros(3), 0, pyburn.tensor([0, -1]), 7)
        tensor([7., 0., 7.])
    """
    return write_out(out, input.index_fill(dim, index, value))


def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """`input` with the sub-tensors of `source` folded by "prod", "mean", "amax" or "amin" into those at `index`.

    Example:
        >>> import pyburn
        >>> pyburn.index_reduce(pyburn.ones(2), 0, pyburn.tensor([0, 0]), pyburn.tensor([2.0, 3.0]), "prod")
        tensor([6., 1.])
    """
    folded = input.index_reduce(dim, index, source, reduce, include_self=include_self)
    return write_apart(out, folded, index, source)


def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with `values` at `input[indices]`, replacing or (`accumulate`) adding.

    Example:
        >>> import pyburn
        >>> pyburn.index_put(pyburn.zeros(3), (pyburn.tensor([0, 0]),), pyburn.ones(2), accumulate=True)
        tensor([2., 0., 0.])
    """
    return input.index_put(indices, values, accumulate)


def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """`input` itself, after `values` were written to `input[indices]`."""
    return input.index_put_(indices, values, accumulate)


def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` with `value` where the mask is true.

    Example:
        >>> import pyburn
        >>> pyburn.masked_fill(pyburn.ones(3), pyburn.tensor([True, False, True]), 0)
        tensor([0., 1., 0.])
    """
    return write_out(out, input.masked_fill(mask, value))


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where the mask is true, as a vector.

    Example:
        >>> import pyburn
        >>> pyburn.masked_select(pyburn.tensor([1, 2, 3]), pyburn.tensor([True, False, True]))
        tensor([1, 3])
    """
    check_out("masked_select", out, input.dtype, input, mask)
    return write_out(out, input.masked_select(mask))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask is true.

    Example:
        >>> import pyburn
        >>> pyburn.masked_scatter(pyburn.zeros(3), pyburn.tensor([True, False, True]), pyburn.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
    """
    return write_out(out, input.masked_scatter(mask, source))


def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at flat positions, in the shape of `index`.

    Example:
        >>> import pyburn
        >>> pyburn.take(pyburn.tensor([[1, 2], [3, 4]]), pyburn.tensor([0, -1]))
        tensor([1, 4])
    """
    check_out("take", out, input.dtype, input, index)
    return write_out(out, input.take(index))


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with `source` at flat positions, replacing or (`accumulate`) adding.

    Example:
        >>> import pyburn
        >>> pyburn.put(pyburn.zeros(2, 2), pyburn.tensor([3]), pyburn.tensor([5.0]))
        tensor([[0., 0.],
                [0., 5.]])
    """
    return input.put(index, source, accumulate)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The values that `indices` names along `dim`, both broadcast against each other elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.take_along_dim(pyburn.tensor([[3, 1], [2, 4]]), pyburn.tensor([[1], [0]]), dim=1)
        tensor([[1],
                [2]])
    """
    if indices.dtype != int64:
        raise RuntimeError(f"take_along_dim: dtype of indices should be int64 but got {indices.dtype}")
    if dim is None:
        return write_out(out, input.reshape(-1).gather(0, _from_end(indices.reshape(-1), input.numel())))
    if input.dim() != indices.dim():
        raise RuntimeError(
            f"take_along_dim: input and indices should have the same number of dimensions, but got {input.dim()} "
            f"dimensions for input, and {indices.dim()} dimensions for indices"
        )
    axis = dim + input.dim() if dim < 0 else dim
    if not 0 <= axis < max(input.dim(), 1):
        raise IndexError(f"take_along_dim: Dimension out of range, got {dim} for {input.dim()} dimensions")
    from pyburn.ops.movement import broadcast_shapes

    own, other = list(input.shape), list(indices.shape)
    common = list(
        broadcast_shapes(
            [1 if at == axis else size for at, size in enumerate(own)],
            [1 if at == axis else size for at, size in enumerate(other)],
        )
    )
    source = input.expand([own[at] if at == axis else size for at, size in enumerate(common)])
    wanted = indices.expand([other[at] if at == axis else size for at, size in enumerate(common)])
    return write_apart(out, source.gather(axis, _from_end(wanted, own[axis] if own else 1)), input, indices)


def _from_end(indices: Tensor, size: int) -> Tensor:
    """Negative indices counted from the end."""
    return indices + (indices < 0) * size


@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """The coordinates of the elements that are not zero: one row each, or (`as_tuple`) one vector per dimension.

    Example:
        >>> import pyburn
        >>> pyburn.nonzero(pyburn.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
    """
    if out is not None and (as_tuple or not isinstance(out, Tensor)):
        raise TypeError("nonzero(): argument 'out' must be a Tensor, and goes without as_tuple")
    if as_tuple:
        return tuple((input.unsqueeze(0) if input.dim() == 0 else input)._nonzero_tuple())
    return write_out(out, input._nonzero())


def argwhere(input: Tensor) -> Tensor:
    """The coordinates of the elements that are not zero, one row each.

    Example:
        >>> import pyburn
        >>> pyburn.argwhere(pyburn.tensor([0, 3]))
        tensor([[1]])
    """
    return input._nonzero()


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` coordinates of elements that are not zero, filled up with `fill_value`.

    Example:
        >>> import pyburn
        >>> pyburn.nonzero_static(pyburn.tensor([0, 3]), size=2)
        tensor([[ 1],
                [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = input._nonzero()[:size]
    result = found.new_full((size, input.dim()), fill_value)
    result[: found.shape[0]] = found
    return result


def _written(op: str, input: Tensor, place: Tensor, result: Tensor, src: Tensor) -> Tensor:
    if tuple(src.shape) != tuple(place.shape):
        raise RuntimeError(
            f"{op}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(place.shape)}"
        )
    place.copy_(src)
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` at position `index` of `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.select_scatter(pyburn.zeros(2, 2), pyburn.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    copy = input.clone()
    return _written("select_scatter", input, copy.select(dim, index), copy, src)


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of `input` with `src` in the slice `start:end:step` of `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.slice_scatter(pyburn.zeros(4), pyburn.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
    """
    copy = input.clone()
    axis = dim + input.dim() if dim < 0 else dim
    if not 0 <= axis < input.dim():
        raise IndexError(f"slice_scatter: Dimension out of range, got {dim} for {input.dim()} dimensions")
    place = copy[(slice(None),) * axis + (slice(start, end, step),)]
    return _written("slice_scatter", input, place, copy, src)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` on a diagonal.

    Example:
        >>> import pyburn
        >>> pyburn.diagonal_scatter(pyburn.zeros(2, 2), pyburn.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    copy = input.clone()
    return _written("diagonal_scatter", input, copy.diagonal(offset, dim1, dim2), copy, src)


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of `input` with `src` written through a view of these sizes and strides.

    Example:
        >>> import pyburn
        >>> pyburn.as_strided_scatter(pyburn.zeros(4), pyburn.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
    """
    copy = input.clone()
    return _written("as_strided_scatter", input, copy.as_strided(size, stride, storage_offset), copy, src)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Zeros with a one at each index, along a new last dimension.

    Example:
        >>> import pyburn
        >>> pyburn.ops.one_hot(pyburn.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return tensor._one_hot(num_classes)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

    Args:
        input: int64 or int32 row numbers of any shape.
        weight: The matrix of rows.
        padding_idx: A row whose gradient stays zero.
        max_norm: Rows in use whose norm is larger are scaled down to it, in place.
        norm_type: The norm that `max_norm` means.
        scale_grad_by_freq: Whether gradients are divided by how often a row is used.
        sparse: Whether `backward()` gives `weight`, if it is a leaf, a sparse gradient.

    Example:
        >>> import pyburn
        >>> pyburn.ops.embedding(pyburn.tensor([1, 1]), pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [3., 4.]])
    """
    if padding_idx is not None:
        rows = weight.shape[0] if weight.dim() else 0
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
        padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad and weight.is_leaf and not scale_grad_by_freq and is_grad_enabled():
        found: Tensor = importlib.import_module("pyburn.sparse.embedding").lookup(input, weight, padding_idx)
        return found
    return weight._embedding(input, padding_idx, scale_grad_by_freq)


def _renorm(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows in use down to `max_norm`, outside the graph."""
    used = sorted(set(input._integers()))
    if not used:
        return
    if used[0] < 0 or used[-1] >= weight.shape[0]:
        raise IndexError(f"embedding: index out of range in self: rows {used[0]}..{used[-1]} of {weight.shape[0]}")
    held = weight.detach()
    rows: Any = held._take_dim(0, used)
    norms = rows.abs().pow(norm_type).sum(1, keepdim=True).pow(1.0 / norm_type)
    scale = (max_norm / (norms + 1e-7)).clamp(max=1.0)
    held[(rows.new_tensor(used, dtype=input.dtype),)] = rows * scale


def __contains__(self: Tensor, element: Any) -> bool:
    """Whether some element equals `element`."""
    if isinstance(element, (Tensor, bool, int, float)):
        same: Any = self == element
        return bool(same.any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element).__name__}."
    )
