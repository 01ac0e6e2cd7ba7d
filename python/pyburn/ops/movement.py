"""Function forms of the views, and other ways to see, turn or repeat the same elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pyburn._core import Tensor, _cat, _stand_for, int32, int64
from pyburn._core import bool as _bool
from pyburn._integers import is_integer
from pyburn._size import Size
from pyburn.ops._layout import laid_as
from pyburn.ops._methods import write_out

__all__ = [
    "adjoint",
    "as_strided",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "chunk",
    "diagonal",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "moveaxis",
    "movedim",
    "narrow",
    "narrow_copy",
    "permute",
    "ravel",
    "repeat_interleave",
    "reshape",
    "roll",
    "rot90",
    "select",
    "split",
    "split_with_sizes",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "tile",
    "transpose",
    "unbind",
    "unflatten",
    "unsqueeze",
    "view_as",
]

METHODS = (
    "adjoint",
    "broadcast_to",
    "flip",
    "fliplr",
    "flipud",
    "moveaxis",
    "narrow_copy",
    "ravel",
    "repeat",
    "repeat_interleave",
    "roll",
    "rot90",
    "split_with_sizes",
    "swapaxes",
    "swapaxes_",
    "swapdims",
    "swapdims_",
    "tile",
    "unflatten",
)

Dims = int | Sequence[int]


def _axis(op: str, dim: int, rank: int) -> int:
    span = max(rank, 1)
    if not -span <= dim < span:
        raise IndexError(f"{op}: Dimension out of range (expected to be in range of [{-span}, {span - 1}], got {dim})")
    return dim % span


def _numbers(op: str, given: tuple[Any, ...]) -> list[int]:
    """Integers given one by one or as one sequence."""
    items = given[0] if len(given) == 1 and not is_integer(given[0]) else given
    if not all(hasattr(item, "__index__") for item in items):
        raise TypeError(f"{op}: expected integers, got {given}")
    return [item.__index__() for item in items]


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape: a view where memory order allows, else a copy.

    Example:
        >>> import pyburn
        >>> pyburn.reshape(pyburn.tensor([1, 2, 3, 4]), (2, -1))
        tensor([[1, 2],
                [3, 4]])
    """
    return input.reshape(shape)


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A view with the dimensions in another order.

    Example:
        >>> import pyburn
        >>> pyburn.permute(pyburn.zeros(2, 3, 4), (2, 0, 1)).shape
        pyburn.Size([4, 2, 3])
    """
    return input.permute(dims)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged.

    Example:
        >>> import pyburn
        >>> pyburn.transpose(pyburn.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
    return input.transpose(dim0, dim1)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """A view with two dimensions exchanged: another name of `transpose`.

    Example:
        >>> import pyburn
        >>> pyburn.swapaxes(pyburn.zeros(2, 3), 0, 1).shape
        pyburn.Size([3, 2])
    """
    return input.transpose(axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged: another name of `transpose`.

    Example:
        >>> import pyburn
        >>> pyburn.swapdims(pyburn.zeros(2, 3), 0, 1).shape
        pyburn.Size([3, 2])
    """
    return input.transpose(dim0, dim1)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """This tensor with two dimensions exchanged in place."""
    return self.transpose_(axis0, axis1)


def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """This tensor with two dimensions exchanged in place."""
    return self.transpose_(dim0, dim1)


def t(input: Tensor) -> Tensor:
    """A view of a matrix with rows and columns exchanged; vectors and scalars stay as they are.

    Example:
        >>> import pyburn
        >>> pyburn.t(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    return input.t()


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated; a view of a real tensor.

    Example:
        >>> import pyburn
        >>> pyburn.adjoint(pyburn.zeros(5, 2, 3)).shape
        pyburn.Size([5, 3, 2])
    """
    if input.dim() == 0:
        return input.conj()
    if input.dim() < 2:
        raise RuntimeError(f"adjoint: tensor.adjoint() is only supported on matrices, got {input.dim()}-D tensor")
    return input.transpose(-2, -1).conj()


def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor:
    """A view without the dimensions of size 1: all of them, or those in `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.squeeze(pyburn.zeros(1, 2, 1)).shape
        pyburn.Size([2])
    """
    return input.squeeze(dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1 at `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.unsqueeze(pyburn.zeros(2), 0).shape
        pyburn.Size([1, 2])
    """
    return input.unsqueeze(dim)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one.

    Example:
        >>> import pyburn
        >>> pyburn.flatten(pyburn.zeros(2, 3, 4), 1).shape
        pyburn.Size([2, 12])
    """
    return input.flatten(start_dim, end_dim)


def ravel(input: Tensor) -> Tensor:
    """All elements as a vector: a view where memory order allows.

    Example:
        >>> import pyburn
        >>> pyburn.ravel(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    return input.contiguous().view(-1)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """A view with one dimension split into several; one of `sizes` may be -1.

    Example:
        >>> import pyburn
        >>> pyburn.unflatten(pyburn.zeros(3, 4), 1, (2, -1)).shape
        pyburn.Size([3, 2, 2])
    """
    axis = _axis("unflatten", dim, input.dim())
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = 1
    for size in sizes:
        known *= size if size != -1 else 1
    total = input.shape[axis] if input.dim() else 1
    unknown = sum(size == -1 for size in sizes)
    fits = known == total if not unknown else unknown == 1 and known > 0 and total % known == 0
    if not fits:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({total})"
        )
    filled = [total // known if size == -1 else size for size in sizes]
    shape = list(input.shape)
    return input.view(shape[:axis] + filled + shape[axis + 1 :])


def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """A view with dimensions moved to new places.

    Example:
        >>> import pyburn
        >>> pyburn.movedim(pyburn.zeros(2, 3, 4), 0, -1).shape
        pyburn.Size([3, 4, 2])
    """
    return input.movedim(source, destination)


def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """A view with dimensions moved to new places: another name of `movedim`.

    Example:
        >>> import pyburn
        >>> pyburn.moveaxis(pyburn.zeros(2, 3, 4), (0, 1), (1, 0)).shape
        pyburn.Size([3, 2, 4])
    """
    return input.movedim(source, destination)


def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """A view of `length` positions from `start` along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.narrow(pyburn.tensor([1, 2, 3]), 0, 1, 2)
        tensor([2, 3])
    """
    if isinstance(start, Tensor):
        if start.dim() or start.is_floating_point() or start.dtype == _bool:
            raise RuntimeError("narrow: start must be an 0-dim integral Tensor.")
        start = int(start.item())
    return input.narrow(dim, start, length)


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `length` positions from `start` along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.narrow_copy(pyburn.tensor([1, 2, 3]), 0, 1, 2)
        tensor([2, 3])
    """
    return write_out(out, input.narrow(dim, start, length).clone())


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """A view of the sub-tensor at one position of `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.select(pyburn.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    return input.select(dim, index)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal between two dimensions, as a new last dimension.

    Example:
        >>> import pyburn
        >>> pyburn.diagonal(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return input.diagonal(offset, dim1, dim2)


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view with any sizes and strides over the storage of `input`.

    Example:
        >>> import pyburn
        >>> pyburn.as_strided(pyburn.tensor([1, 2, 3, 4]), (2, 2), (1, 2))
        tensor([[1, 3],
                [2, 4]])
    """
    return input.as_strided(size, stride, storage_offset)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of `other`.

    Example:
        >>> import pyburn
        >>> pyburn.view_as(pyburn.arange(2), pyburn.ones(2, 1))
        tensor([[0],
                [1]])
    """
    return input.view_as(other)


def split(tensor: Tensor, split_size_or_sections: Dims, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `tensor` in pieces along `dim`: of one size, or of the sizes given.

    Example:
        >>> import pyburn
        >>> pyburn.split(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    return tensor.split(split_size_or_sections, dim)


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `input` in pieces of the sizes given along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1, 2, 3]).split_with_sizes([1, 2])
        (tensor([1]), tensor([2, 3]))
    """
    return input.split(list(split_sizes), dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `input` in at most `chunks` pieces of equal size along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.chunk(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    return input.chunk(chunks, dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the sub-tensors along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.unbind(pyburn.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return input.unbind(dim)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """A view with sizes of 1 repeated and leading dimensions added.

    Example:
        >>> import pyburn
        >>> pyburn.broadcast_to(pyburn.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return input.expand(size)


def broadcast_shapes(*shapes: Dims) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Example:
        >>> import pyburn
        >>> pyburn.broadcast_shapes((2, 1), (3,))
        pyburn.Size([2, 3])
    """
    sizes = [[shape] if is_integer(shape) else list(shape) for shape in shapes]
    rank = max((len(shape) for shape in sizes), default=0)
    out = [1] * rank
    for shape in sizes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size < 0:
                raise RuntimeError(f"broadcast_shapes: negative size {size} in {shape}")
            if size != 1 and out[at] not in (1, size):
                raise RuntimeError(
                    f"broadcast_shapes: Shape mismatch: shapes {sizes} do not broadcast, {size} meets {out[at]}"
                )
            out[at] = size if size != 1 else out[at]
    return Size(out)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors in their common shape.

    Example:
        >>> import pyburn
        >>> a, b = pyburn.broadcast_tensors(pyburn.zeros(2, 1), pyburn.zeros(3))
        >>> a.shape, b.shape
        (pyburn.Size([2, 3]), pyburn.Size([2, 3]))
    """
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shapes = [tuple(tensor.shape) for tensor in given]
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(given)
    shape = broadcast_shapes(*shapes)
    # A tensor of that shape is given back itself, so that a leaf of the graph stays one.
    return tuple(tensor if tensor.shape == shape else tensor.expand(shape) for tensor in given)


def flip(input: Tensor, *args: Any, dims: Dims | None = None) -> Tensor:
    """A copy with the order of elements reversed along `dims`, given as a tuple or one by one.

    Example:
        >>> import pyburn
        >>> pyburn.flip(pyburn.tensor([[1, 2], [3, 4]]), (1,))
        tensor([[2, 1],
                [4, 3]])
    """
    return input._flip(_numbers("flip", args if dims is None else (dims,)))


def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns in reverse order.

    Example:
        >>> import pyburn
        >>> pyburn.fliplr(pyburn.tensor([[1, 2]]))
        tensor([[2, 1]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"fliplr: Input must be >= 2-d, got {input.dim()}-d; use flip(0)")
    return input._flip([1])


def flipud(input: Tensor) -> Tensor:
    """A copy with the rows in reverse order.

    Example:
        >>> import pyburn
        >>> pyburn.flipud(pyburn.tensor([1, 2]))
        tensor([2, 1])
    """
    if input.dim() < 1:
        raise RuntimeError("flipud: Input must be >= 1-d, got a scalar")
    return input._flip([0])


def roll(input: Tensor, shifts: Dims, dims: Dims | None = None) -> Tensor:
    """A copy with elements moved along `dims`, those that leave one end entering at the other.

    Example:
        >>> import pyburn
        >>> pyburn.roll(pyburn.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    steps = [shifts] if is_integer(shifts) else list(shifts)
    if dims is None or (not is_integer(dims) and len(dims) == 0):
        if len(steps) != 1:
            raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {len(steps)}, dims:0")
        return roll(input.reshape(-1), steps[0], 0).reshape(input.shape)
    axes = [dims] if is_integer(dims) else list(dims)
    if len(steps) != len(axes):
        raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    out = input
    for step, dim in zip(steps, axes, strict=True):
        axis = _axis("roll", dim, input.dim())
        if input.dim() == 0:
            raise IndexError(f"roll: Dimension specified as {dim} but tensor has no dimensions")
        size = input.size(axis)
        if size:
            cut = -step % size
            out = _cat([out.narrow(axis, cut, size - cut), out.narrow(axis, 0, cut)], axis)
    if out is input:
        return out.clone()
    return _stand_for(laid_as(out, input), "RollBackward0", (input,))


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned by 90 degrees `k` times in the plane of two dimensions, from the first towards the second.

    Example:
        >>> import pyburn
        >>> pyburn.rot90(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"rot90: expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = (_axis("rot90", dim, input.dim()) for dim in dims)
    if first == second:
        raise RuntimeError(f"rot90: expected rotation dims to be different, but got {list(dims)}")
    turns = k % 4
    if turns == 1:
        return input._flip([second]).transpose(first, second)
    if turns == 2:
        return input._flip([first, second])
    if turns == 3:
        return input._flip([first]).transpose(first, second)
    return input.clone()


def repeat(self: Tensor, *args: Any, repeats: Dims | None = None) -> Tensor:
    """A copy with the tensor repeated along its dimensions; more numbers than dimensions add leading ones.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    times = _numbers("repeat", args if repeats is None else (repeats,))
    if len(times) < self.dim():
        raise RuntimeError(
            "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, "
            f"got {times} for shape {list(self.shape)}"
        )
    if any(count < 0 for count in times):
        raise RuntimeError(f"repeat: Trying to create tensor with negative dimension, repeats {times}")
    if not times:
        return self.clone()
    if all(count == 1 for count in times):
        return self.reshape([1] * (len(times) - self.dim()) + list(self.shape)).clone()
    shape, out = [1] * (len(times) - self.dim()) + list(self.shape), self
    repeated = [dim for dim, count in enumerate(times) if count != 1]
    if len(repeated) <= 3:
        return _stand_for(_repeated(self, shape, times, repeated), "RepeatBackward0", (self,))
    for dim, count in enumerate(times):
        if count != 1:
            # Three dimensions suffice, so that tensors of the greatest rank can be repeated too.
            outer, inner = math.prod(shape[:dim]), math.prod(shape[dim:])
            out = out.reshape(outer, 1, inner).expand(outer, count, inner)
            shape[dim] *= count
    return _stand_for(out.reshape(shape).contiguous(), "RepeatBackward0", (self,))


def _repeated(self: Tensor, shape: list[int], times: list[int], repeated: list[int]) -> Tensor:
    """`repeat` along a few dimensions, in one copy: a new dimension before each of them, all others put together."""
    ends = [*repeated, len(shape)]
    parts = [math.prod(shape[: ends[0]])]
    wide = parts[:]
    for dim, end in pairwise(ends):
        parts += [1, math.prod(shape[dim:end])]
        wide += [times[dim], parts[-1]]
    spread = self.reshape(parts).expand(wide).contiguous()
    return spread.reshape([size * count for size, count in zip(shape, times, strict=True)])


def tile(input: Tensor, *args: Any, dims: Dims | None = None) -> Tensor:
    """A copy with the tensor repeated; missing numbers count as 1, as numpy does it.

    Example:
        >>> import pyburn
        >>> pyburn.tile(pyburn.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    times = _numbers("tile", args if dims is None else (dims,))
    return repeat(input, [1] * (input.dim() - len(times)) + times)


def repeat_interleave(
    input: Tensor, repeats: Tensor | int | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """A copy with each sub-tensor along `dim` repeated in place; without `dim`, each element of the flat tensor.

    Args:
        input: The tensor; when `repeats` is not given, the numbers of repeats of `0, 1, 2, ...`.
        repeats: One number, or one for each position of `dim`.
        dim: The dimension; None flattens first.
        output_size: The size that results, if known.

    Example:
        >>> import pyburn
        >>> pyburn.repeat_interleave(pyburn.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if repeats is None:
        counts = _repeats(input)
        return input.new_tensor([at for at, count in enumerate(counts) for _ in range(count)], dtype=input.dtype)
    if dim is None:
        input, dim = input.reshape(-1), 0
    axis = _axis("repeat_interleave", dim, input.dim())
    if input.dim() == 0:
        input = input.reshape(1)
    size = input.shape[axis]
    counts = [repeats] if is_integer(repeats) else _repeats(repeats)
    if any(count < 0 for count in counts):
        raise RuntimeError("repeat_interleave: repeats can not be negative")
    if len(counts) == 1:
        count, shape = counts[0], list(input.shape)
        if output_size is not None and output_size != count * size:
            raise RuntimeError(f"repeat_interleave: output_size {output_size} is not the required {count * size}")
        spread = input.unsqueeze(axis + 1).expand(*shape[: axis + 1], count, *shape[axis + 1 :])
        # Never a view: writing to a repeated element must not change the others.
        if count == 1:
            return input.clone()
        return spread.contiguous().reshape([*shape[:axis], count * size, *shape[axis + 1 :]])
    if len(counts) != size:
        raise RuntimeError(
            f"repeat_interleave: repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{len(counts)} and input.size({axis}) = {size}"
        )
    if output_size is not None and output_size != sum(counts):
        raise RuntimeError(f"repeat_interleave: output_size {output_size} does not match required size {sum(counts)}")
    return input._take_dim(axis, [at for at, count in enumerate(counts) for _ in range(count)])


def _repeats(repeats: Tensor) -> list[int]:
    if repeats.dim() > 1:
        raise RuntimeError("repeat_interleave: repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype not in (int64, int32):
        raise RuntimeError(f"repeat_interleave: repeats has to be Long or Int tensor, got {repeats.dtype}")
    counts: list[int] = repeats._integers()
    if any(count < 0 for count in counts):
        raise RuntimeError("repeat_interleave: repeats can not be negative")
    return counts


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, as a view."""
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    return self.transpose(-2, -1)


def _all_transpose(self: Tensor) -> Tensor:
    """All dimensions in reverse order, as a view."""
    return self.permute(list(range(self.dim()))[::-1])


def _plain_transpose(self: Tensor) -> Tensor:
    """The transpose of a matrix with complex numbers conjugated; a view of a real one."""
    if self.dim() not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.")
    return self.transpose(0, 1).conj() if self.dim() else self.permute([]).conj()


def _matrix_adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated; a view of a real tensor."""
    return _matrix_transpose(self).conj()


for _name, _getter in (
    ("T", _all_transpose),
    ("mT", _matrix_transpose),
    ("H", _plain_transpose),
    ("mH", _matrix_adjoint),
):
    setattr(Tensor, _name, property(_getter, doc=_getter.__doc__))
