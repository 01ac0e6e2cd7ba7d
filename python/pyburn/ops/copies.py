"""The views of `movement`, as copies that share no memory with their input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyburn._core import Tensor, dtype
from pyburn._formats import memory_format as _memory_format
from pyburn.ops._methods import write_out, write_outs

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "clone",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze_copy",
    "view_copy",
]

METHODS = ("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")

Tensors = tuple[Tensor, ...]


def _copies(views: Iterable[Tensor], out: Sequence[Tensor] | None = None) -> Tensors:
    return write_outs(out, tuple(view.clone() for view in views))


def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """A copy; gradients flow back to `input`.

    Example:
        >>> import pyburn
        >>> x = pyburn.zeros(2)
        >>> pyburn.clone(x).add_(1), x
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    return input.clone() if memory_format is None else input.clone(memory_format=memory_format)


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor.

    Example:
        >>> import pyburn
        >>> pyburn.alias_copy(pyburn.tensor([1, 2]))
        tensor([1, 2])
    """
    return write_out(out, input.clone())


def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy outside the graph.

    Example:
        >>> import pyburn
        >>> pyburn.detach_copy(pyburn.ones(2, requires_grad=True)).requires_grad
        False
    """
    return write_out(out, input.detach().clone())


def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of :func:`as_strided`.

    Example:
        >>> import pyburn
        >>> pyburn.as_strided_copy(pyburn.tensor([1, 2, 3, 4]), (2, 2), (1, 2))
        tensor([[1, 3],
                [2, 4]])
    """
    return write_out(out, input.as_strided(size, stride, storage_offset).clone())


def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`diagonal`.

    Example:
        >>> import pyburn
        >>> pyburn.diagonal_copy(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return write_out(out, input.diagonal(offset, dim1, dim2).clone())


def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor | None = None) -> Tensor:
    """A copy of `input.expand(size)`.

    Example:
        >>> import pyburn
        >>> pyburn.expand_copy(pyburn.tensor([[1], [2]]), (2, 2))
        tensor([[1, 1],
                [2, 2]])
    """
    return write_out(out, input.expand(size).clone())


def permute_copy(input: Tensor, dims: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`permute`.

    Example:
        >>> import pyburn
        >>> pyburn.permute_copy(pyburn.zeros(2, 3), (1, 0)).shape
        pyburn.Size([3, 2])
    """
    return write_out(out, input.permute(dims).clone())


def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`transpose`.

    Example:
        >>> import pyburn
        >>> pyburn.transpose_copy(pyburn.zeros(2, 3), 0, 1).shape
        pyburn.Size([3, 2])
    """
    return write_out(out, input.transpose(dim0, dim1).clone())


def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`t`.

    Example:
        >>> import pyburn
        >>> pyburn.t_copy(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    return write_out(out, input.t().clone())


def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`select`.

    Example:
        >>> import pyburn
        >>> pyburn.select_copy(pyburn.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    return write_out(out, input.select(dim, index).clone())


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the positions `start:end:step` along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.slice_copy(pyburn.tensor([1, 2, 3, 4]), 0, 1, 4, 2)
        tensor([2, 4])
    """
    return write_out(out, input.movedim(dim, 0)[start:end:step].movedim(0, dim).clone())


def squeeze_copy(input: Tensor, dim: int | Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`squeeze`.

    Example:
        >>> import pyburn
        >>> pyburn.squeeze_copy(pyburn.zeros(1, 2)).shape
        pyburn.Size([2])
    """
    return write_out(out, input.squeeze(dim).clone())


def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of :func:`unsqueeze`.

    Example:
        >>> import pyburn
        >>> pyburn.unsqueeze_copy(pyburn.zeros(2), 0).shape
        pyburn.Size([1, 2])
    """
    return write_out(out, input.unsqueeze(dim).clone())


def view_copy(input: Tensor, size: Sequence[int] | dtype, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input.view(size)`: another shape, or the same bytes as another dtype.

    Example:
        >>> import pyburn
        >>> pyburn.view_copy(pyburn.tensor([1, 2, 3, 4]), (2, 2))
        tensor([[1, 2],
                [3, 4]])
    """
    return write_out(out, input.view(size).clone())


def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input.unfold(dimension, size, step)`.

    Example:
        >>> import pyburn
        >>> pyburn.unfold_copy(pyburn.tensor([1, 2, 3]), 0, 2, 1)
        tensor([[1, 2],
                [2, 3]])
    """
    return write_out(out, input.unfold(dimension, size, step).clone())


def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Tensors:
    """Copies of the pieces of :func:`split`.

    Example:
        >>> import pyburn
        >>> pyburn.split_copy(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    return _copies(input.split(split_size, dim), out)


def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> Tensors:
    """Copies of pieces of the sizes given.

    Example:
        >>> import pyburn
        >>> pyburn.split_with_sizes_copy(pyburn.tensor([1, 2, 3]), [1, 2])
        (tensor([1]), tensor([2, 3]))
    """
    return _copies(input.split(list(split_sizes), dim), out)


def unbind_copy(input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Tensors:
    """Copies of the sub-tensors along `dim`.

    Example:
        >>> import pyburn
        >>> pyburn.unbind_copy(pyburn.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return _copies(input.unbind(dim), out)


def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Tensors:
    """The pieces of :func:`split`; writing to one leaves the others' gradients alone.

    Example:
        >>> import pyburn
        >>> pyburn.unsafe_split(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    return _copies(input.split(split_size, dim))


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Tensors:
    """Pieces of the sizes given; writing to one leaves the others' gradients alone.

    Example:
        >>> import pyburn
        >>> pyburn.unsafe_split_with_sizes(pyburn.tensor([1, 2, 3]), [1, 2])
        (tensor([1]), tensor([2, 3]))
    """
    return _copies(input.split(list(split_sizes), dim))


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Tensors:
    """The pieces of :func:`chunk`; writing to one leaves the others' gradients alone.

    Example:
        >>> import pyburn
        >>> pyburn.unsafe_chunk(pyburn.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    return _copies(input.chunk(chunks, dim))
