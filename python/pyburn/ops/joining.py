"""Tensors put together and taken apart, grids and diagonals."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, int64
from pyburn._integers import is_integer
from pyburn.ops._methods import check_out, write_out
from pyburn.ops.movement import _axis

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "cat",
    "column_stack",
    "combinations",
    "concat",
    "concatenate",
    "diag",
    "diag_embed",
    "diagflat",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "meshgrid",
    "row_stack",
    "stack",
    "tensor_split",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "vsplit",
    "vstack",
]

METHODS = ("diag", "diag_embed", "diagflat", "dsplit", "hsplit", "tensor_split", "vsplit")

Tensors = Sequence[Tensor]


def _listed(op: str, tensors: Any) -> list[Tensor]:
    # The usual kinds first: asking for a Sequence takes as long as joining small tensors.
    if type(tensors) not in (list, tuple) and (isinstance(tensors, Tensor) or not isinstance(tensors, Sequence)):
        raise TypeError(f"{op}(): argument 'tensors' must be a tuple or list of Tensors, not {type(tensors).__name__}")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            place = next(place for place, each in enumerate(tensors) if each is tensor)
            raise TypeError(f"{op}(): expected Tensor as element {place}, but got {type(tensor).__name__}")
    return list(tensors)


def cat(tensors: Tensors, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after the other along `dim`; dtypes are promoted.

    Args:
        tensors: Tensors of equal shape outside `dim`; vectors without elements are passed over.
        dim: The dimension along which they follow each other.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.cat([pyburn.tensor([1, 2]), pyburn.tensor([3])])
        tensor([1, 2, 3])
    """
    listed = _listed("cat", tensors)
    for tensor in listed:
        if tensor.is_sparse:
            return _joined_sparse(listed, dim)
    if out is None:
        return _core._cat(listed, dim)
    check_out("cat", out, out.dtype, *listed)
    return write_out(out, _core._cat(listed, dim))


def _joined_sparse(tensors: Sequence[Tensor], dim: int) -> Tensor:
    # Sparse tensors stand above the ops; there is one here, so their module is loaded.
    result: Tensor = importlib.import_module("pyburn.sparse.operands").join(tensors, dim)
    return result


def concat(tensors: Tensors, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after the other: another name of `cat`.

    Example:
        >>> import pyburn
        >>> pyburn.concat([pyburn.tensor([1]), pyburn.tensor([2])])
        tensor([1, 2])
    """
    return cat(tensors, dim, out=out)


def concatenate(tensors: Tensors, axis: int = 0, out: Tensor | None = None, *, dim: int | None = None) -> Tensor:
    """The tensors one after the other: another name of `cat`.

    Example:
        >>> import pyburn
        >>> pyburn.concatenate([pyburn.tensor([1]), pyburn.tensor([2])])
        tensor([1, 2])
    """
    return cat(tensors, axis if dim is None else dim, out=out)


def stack(tensors: Tensors, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, along a new dimension.

    Example:
        >>> import pyburn
        >>> pyburn.stack([pyburn.tensor([1, 2]), pyburn.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    listed = _listed("stack", tensors)
    return write_out(out, _core._stack(listed, dim), *listed)


def _widened(tensors: tuple[Any, ...], rank: int) -> Any:
    """Each tensor with at least `rank` dimensions, in the places where numpy adds them."""

    def widen(tensor: Tensor) -> Tensor:
        if tensor.dim() == 0:
            return tensor.reshape([1] * rank)
        if rank >= 2 and tensor.dim() == 1:
            tensor = tensor.unsqueeze(0)
        if rank == 3 and tensor.dim() == 2:
            tensor = tensor.unsqueeze(-1)
        return tensor

    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return widen(tensors[0])
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple(widen(tensor) for tensor in given)


def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or a tuple of the tensors, with at least one dimension.

    Example:
        >>> import pyburn
        >>> pyburn.atleast_1d(pyburn.tensor(1))
        tensor([1])
    """
    return _widened(tensors, 1)


def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or a tuple of the tensors, with at least two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.atleast_2d(pyburn.tensor([1, 2])).shape
        pyburn.Size([1, 2])
    """
    return _widened(tensors, 2)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or a tuple of the tensors, with at least three dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.atleast_3d(pyburn.tensor([1, 2])).shape
        pyburn.Size([1, 2, 1])
    """
    return _widened(tensors, 3)


def hstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along dimension 1, vectors along dimension 0.

    Example:
        >>> import pyburn
        >>> pyburn.hstack((pyburn.tensor([1]), pyburn.tensor([2])))
        tensor([1, 2])
    """
    wide = atleast_1d(_listed("hstack", tensors))
    return cat(wide, 0 if wide and wide[0].dim() == 1 else 1, out=out)


def vstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """The tensors on top of each other, vectors as rows.

    Example:
        >>> import pyburn
        >>> pyburn.vstack((pyburn.tensor([1, 2]), pyburn.tensor([3, 4])))
        tensor([[1, 2],
                [3, 4]])
    """
    return cat(atleast_2d(_listed("vstack", tensors)), 0, out=out)


row_stack = vstack


def dstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """The tensors one behind the other along dimension 2.

    Example:
        >>> import pyburn
        >>> pyburn.dstack((pyburn.tensor([1, 2]), pyburn.tensor([3, 4])))
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return cat(atleast_3d(_listed("dstack", tensors)), 2, out=out)


def column_stack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side, vectors as columns.

    Example:
        >>> import pyburn
        >>> pyburn.column_stack((pyburn.tensor([1, 2]), pyburn.tensor([3, 4])))
        tensor([[1, 3],
                [2, 4]])
    """
    columns = [x.reshape(-1, 1) if x.dim() <= 1 else x for x in _listed("column_stack", tensors)]
    return cat(columns, 1, out=out)


def tensor_split(
    input: Tensor,
    indices_or_sections: int | Sequence[int] | Tensor | None = None,
    dim: int = 0,
    *,
    indices: Sequence[int] | None = None,
    sections: int | None = None,
) -> tuple[Tensor, ...]:
    """Views of `input` in so many nearly equal pieces, or cut at the indices given.

    Args:
        input: What is cut.
        indices_or_sections: The number of pieces, or where each but the first begins.
        dim: The dimension that is cut.
        indices: Another name for `indices_or_sections`, and so is `sections`.
        sections: See `indices`.

    Example:
        >>> import pyburn
        >>> pyburn.tensor_split(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    choices = [value for value in (indices_or_sections, indices, sections) if value is not None]
    if len(choices) != 1:
        raise TypeError(f"tensor_split: expected one of sections and indices, got {len(choices)}")
    wanted = choices[0]
    if input.dim() < 1:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = _axis("tensor_split", dim, input.dim())
    size = input.shape[axis]
    given: int | Sequence[int]
    if isinstance(wanted, Tensor):
        if wanted.dim() > 1 or wanted.dtype != int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a 0- or 1-dim int64 tensor")
        numbers: list[int] = wanted._integers()
        given = numbers[0] if wanted.dim() == 0 else numbers
    else:
        given = wanted
    if is_integer(given):
        if given <= 0:
            raise RuntimeError(f"tensor_split: number of sections must be larger than 0, got {given}")
        if given > max(size, 1 << 20):
            raise RuntimeError(f"tensor_split: {given} sections of {size} positions: all but {size} would be empty")
        cuts = [0, *itertools.accumulate(size // given + (at < size % given) for at in range(given))]
        pairs = list(itertools.pairwise(cuts))
    else:
        edges = [0, *given, size]
        pairs = [(slice(a, b).indices(size)[0], slice(a, b).indices(size)[1]) for a, b in itertools.pairwise(edges)]
    return tuple(input.narrow(axis, start, max(stop - start, 0)) for start, stop in pairs)


def _cut(op: str, input: Tensor, given: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    if input.dim() < least:
        raise RuntimeError(
            f"{op} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor with "
            f"{input.dim()} dimensions!"
        )
    if is_integer(given) and (given <= 0 or input.shape[dim] % given):
        raise RuntimeError(
            f"{op} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not "
            f"divisible by the split_size {given}!"
        )
    return tensor_split(input, given, dim)


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of `input` cut along its columns (a vector along its elements).

    Example:
        >>> import pyburn
        >>> pyburn.hsplit(pyburn.tensor([1, 2]), 2)
        (tensor([1]), tensor([2]))
    """
    return _cut("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of `input` cut along its rows.

    Example:
        >>> import pyburn
        >>> pyburn.vsplit(pyburn.tensor([[1], [2]]), 2)
        (tensor([[1]]), tensor([[2]]))
    """
    return _cut("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of `input` cut along dimension 2.

    Example:
        >>> import pyburn
        >>> [part.shape for part in pyburn.dsplit(pyburn.zeros(1, 1, 4), 2)]
        [pyburn.Size([1, 1, 2]), pyburn.Size([1, 1, 2])]
    """
    return _cut("dsplit", input, indices_or_sections, 2, 3)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: for each vector a view in which only its own dimension varies.

    Args:
        *tensors: Vectors or scalars, one by one or as one sequence.
        indexing: "ij" (the default) for matrix order, "xy" to exchange the first two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.meshgrid(pyburn.tensor([1, 2]), pyburn.tensor([3, 4]), indexing="ij")[1]
        tensor([[3, 4],
                [3, 4]])
    """
    given = list(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    kind = given[0].dtype
    for tensor in given:
        if tensor.dim() > 1:
            raise RuntimeError("meshgrid: expected scalar or 1D tensors")
        if tensor.dtype != kind:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = [tensor.numel() for tensor in given]
    ones = [1] * len(shape)
    grids = [tensor.reshape(*ones[:dim], -1, *ones[dim + 1 :]).expand(shape) for dim, tensor in enumerate(given)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows.

    Example:
        >>> import pyburn
        >>> pyburn.cartesian_prod(pyburn.tensor([1, 2]), pyburn.tensor([5]))
        tensor([[1, 5],
                [2, 5]])
    """
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, as rows.

    Example:
        >>> import pyburn
        >>> pyburn.combinations(pyburn.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    if r == 2:
        size = input.shape[0]
        pairs = _core._triangle_indices(size, size, int(not with_replacement), True, input.device)
        return input.index_select(0, pairs.T.reshape(-1)).reshape(-1, 2)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    picks = [at for row in choose(range(input.shape[0]), r) for at in row]
    return input._take_dim(0, picks).reshape(-1, r) if picks else input[:0].reshape(0, r).clone()


def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of the matrices in the last two dimensions, zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.tril(pyburn.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return write_out(out, Tensor.tril(input, diagonal))


def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of the matrices in the last two dimensions, zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.triu(pyburn.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return write_out(out, Tensor.triu(input, diagonal))


def _triangle(upper: bool, row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    where = _core.get_default_device() if device is None else device
    found = _core._triangle_indices(row, col, offset, upper, where)
    return found if dtype is None else found.to(dtype)


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: _core.dtype | None = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The coordinates of the lower triangle of a matrix, as a row of rows and one of columns.

    Example:
        >>> import pyburn
        >>> pyburn.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _triangle(False, row, col, offset, dtype, device)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: _core.dtype | None = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The coordinates of the upper triangle of a matrix, as a row of rows and one of columns.

    Example:
        >>> import pyburn
        >>> pyburn.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _triangle(True, row, col, offset, dtype, device)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dimension of `input` on a diagonal between two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.diag_embed(pyburn.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    rank = input.dim() + 1
    if input.dim() < 1:
        raise RuntimeError("diag_embed: expected at least a 1-dimensional tensor")
    first, second = _axis("diag_embed", dim1, rank), _axis("diag_embed", dim2, rank)
    if first == second:
        raise RuntimeError(f"diag_embed: diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape = list(input.shape)
    size = shape.pop() + abs(offset)
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    out = _core._full("diag_embed", tuple(shape), 0, input.dtype, input.device)
    out.diagonal(offset, first, second).copy_(input)
    return out


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector as the diagonal of a matrix, or a copy of the diagonal of a matrix.

    Example:
        >>> import pyburn
        >>> pyburn.diag(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if input.dim() == 1:
        return write_out(out, diag_embed(input, diagonal))
    if input.dim() == 2:
        return write_out(out, input.diagonal(diagonal).clone())
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The elements of `input` as the diagonal of a matrix.

    Example:
        >>> import pyburn
        >>> pyburn.diagflat(pyburn.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.block_diag(pyburn.tensor([[1]]), pyburn.tensor([[2, 3]]))
        tensor([[1, 0, 0],
                [0, 2, 3]])
    """
    for place, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {place} has {tensor.dim()}"
            )
    blocks = [atleast_2d(tensor) for tensor in tensors]
    width = sum(block.shape[1] for block in blocks)
    rows, left = [], 0
    for block in blocks:
        rows.append(block._pad_constant([(0, 0), (left, width - left - block.shape[1])], 0))
        left += block.shape[1]
    return cat(rows) if rows else _core._full("zeros", (1, 0), 0, _core.get_default_dtype(), None, False)
