"""New tensors: from data, filled with a value, or like another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import layout as Layout
from pyburn._formats import memory_format as MemoryFormat
from pyburn._formats import preserve_format
from pyburn.ops._methods import made_out

__all__ = [
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]

METHODS = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")

Number = bool | int | float
Device = _core.device | str | int | None
Shape = int | Sequence[int]


def tensor(
    data: Any,
    *,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`.

    Args:
        data: A number, nested lists or tuples of numbers, a numpy array or scalar, or a tensor.
        dtype: The element type; by default integers give int64, floats the default dtype, booleans bool.
        device: Where it lives; by default where `data` is, else the default device.
        requires_grad: Whether gradients are wanted for it.
        pin_memory: Accepted; host memory needs no pinning here.

    Raises:
        ValueError: If lists at one depth have different lengths.
        TypeError: If the data holds something that is not a number.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])

    Differs from torch:
        Copying a tensor gives no warning, and an empty list next to one that is not is an error.
    """
    return _core._tensor(data, dtype, device, requires_grad)


def _sizes(size: tuple[Any, ...], named: Shape | None, op: str) -> tuple[Any, ...]:
    """The positional sizes, or those given as `size=`."""
    if named is not None:
        if size:
            raise TypeError(f"{op}: sizes were given twice, by position and as size=")
        return (named,)
    if not size:
        raise TypeError(f'{op}() missing 1 required positional arguments: "size"')
    return size


def _filled(
    op: str,
    size: tuple[Any, ...],
    value: Number,
    out: Tensor | None,
    dtype: _core.dtype | None,
    layout: Layout | None,
    device: Device,
    requires_grad: bool,
) -> Tensor:
    if layout is not None and layout.name != "strided":
        raise NotImplementedError(f"{op}: layout is {layout} but only pyburn.strided exists; leave it out")
    if out is None:
        return _core._full(op, size, value, dtype or _core.get_default_dtype(), device, requires_grad)
    if dtype is not None and dtype != out.dtype:
        raise RuntimeError(f"{op}: dtype {dtype} does not match the dtype of out, {out.dtype}")
    return made_out(out, _core._full(op, size, value, out.dtype, out.device))


def zeros(
    *size: Any,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """A tensor of zeros.

    Args:
        *size: The sizes, as integers or as one sequence.
        out: A tensor to write the result into.
        dtype: The element type; the default dtype if not given.
        layout: `pyburn.strided`.
        device: Where it lives; the default device if not given.
        pin_memory: Accepted; host memory needs no pinning here.
        requires_grad: Whether gradients are wanted for it.
        **named: `size=` as another way to give the sizes.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    return _filled("zeros", _sizes(size, _named(named, "zeros"), "zeros"), 0, out, dtype, layout, device, requires_grad)


def _named(named: dict[str, Any], op: str) -> Shape | None:
    size: Shape | None = named.pop("size", None)
    named.pop("names", None)
    if named:
        raise TypeError(f"{op}() got an unexpected keyword argument '{next(iter(named))}'")
    return size


def ones(
    *size: Any,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """A tensor of ones; the arguments are those of :func:`zeros`.

    Example:
        >>> import pyburn
        >>> pyburn.ones(3, dtype=pyburn.int32)
        tensor([1, 1, 1], dtype=pyburn.int32)
    """
    return _filled("ones", _sizes(size, _named(named, "ones"), "ones"), 1, out, dtype, layout, device, requires_grad)


def empty(
    *size: Any,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **named: Any,
) -> Tensor:
    """A tensor whose values are not meant to be read; the arguments are those of :func:`zeros`.

    Example:
        >>> import pyburn
        >>> pyburn.empty(2, 0).shape
        pyburn.Size([2, 0])

    Differs from torch:
        The values are zeros rather than whatever lay in memory.
    """
    sizes = _sizes(size, _named(named, "empty"), "empty")
    made = _filled("empty", sizes, 0, out, dtype, layout, device, False)
    made = _formatted(made, memory_format)
    return made.requires_grad_() if requires_grad else made


def _formatted(made: Tensor, memory_format: MemoryFormat | None) -> Tensor:
    if memory_format is None or memory_format is preserve_format:
        return made
    return made.contiguous(memory_format=memory_format)


def full(
    size: Shape,
    fill_value: Number | Tensor,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with `fill_value` everywhere; without `dtype` the value's own type decides.

    Example:
        >>> import pyburn
        >>> pyburn.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
    value: Number = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    if dtype is None and out is None:
        return _core._full("full", (size,), value, None, device, requires_grad)
    return _filled("full", (size,), value, out, dtype, layout, device, requires_grad)


def _like(
    op: str,
    input: Tensor,
    value: Number,
    dtype: _core.dtype | None,
    device: Device,
    requires_grad: bool,
    memory_format: MemoryFormat | None,
) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{op}: input must be a Tensor, not {type(input).__name__}")
    preserve = memory_format is None or memory_format is preserve_format
    if preserve and (input.is_contiguous() or not (input.is_cpu or input.is_meta)):
        return _core._full_like(input, value, dtype, device, requires_grad)
    if preserve:
        kind, place = dtype or input.dtype, input.device if device is None else device
        made = _core._empty_strided(list(input.shape), _core._preserved_strides(input), kind, place).fill_(value)
    else:
        made = _formatted(_core._full_like(input, value, dtype, device, False), memory_format)
    return made.requires_grad_() if requires_grad else made


def zeros_like(
    input: Tensor,
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros with the shape, dtype and device of `input`, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.zeros_like(pyburn.tensor([1, 2]))
        tensor([0, 0])

    Differs from torch:
        `preserve_format` gives row-major memory whatever the strides of `input` are.
    """
    return _like("zeros_like", input, 0, dtype, device, requires_grad, memory_format)


def ones_like(
    input: Tensor,
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """Ones with the shape, dtype and device of `input`, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.ones_like(pyburn.tensor([0.5, 2.0]))
        tensor([1., 1.])
    """
    return _like("ones_like", input, 1, dtype, device, requires_grad, memory_format)


def empty_like(
    input: Tensor,
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor like `input` whose values are not meant to be read.

    Example:
        >>> import pyburn
        >>> pyburn.empty_like(pyburn.zeros(2, 3)).shape
        pyburn.Size([2, 3])
    """
    return _like("empty_like", input, 0, dtype, device, requires_grad, memory_format)


def full_like(
    input: Tensor,
    fill_value: Number | Tensor,
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """`fill_value` everywhere, with the shape, dtype and device of `input`.

    Example:
        >>> import pyburn
        >>> pyburn.full_like(pyburn.zeros(2), 3)
        tensor([3., 3.])
    """
    value: Number = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return _like("full_like", input, value, dtype, device, requires_grad, memory_format)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with the given sizes and strides whose values are not meant to be read.

    Example:
        >>> import pyburn
        >>> pyburn.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _core._empty_strided(size, stride, dtype, device, requires_grad)


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose values are not meant to be read, its dimensions in memory in the order of `physical_layout`.

    Example:
        >>> import pyburn
        >>> pyburn.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
        (15, 1, 3)
    """
    order = [dim + len(size) if dim < 0 else dim for dim in physical_layout]
    if len(order) != len(size):
        raise RuntimeError(
            "empty_permuted: Number of dimensions in size does not match the length of the physical_layout; "
            f"{len(size)} and {len(order)}"
        )
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted: Dimension out of range or duplicate dim in {list(physical_layout)}")
    strides, step = [0] * len(size), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(size[dim], 1)
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with the given sizes and strides, of this one's dtype and device."""
    where = self.device if device is None else device
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=where, requires_grad=requires_grad)


def scalar_tensor(
    s: Number | Tensor,
    *,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A rank-0 tensor, in the default dtype unless another is given.

    Example:
        >>> import pyburn
        >>> pyburn.scalar_tensor(2)
        tensor(2.)
    """
    return full((), s, dtype=dtype or _core.get_default_dtype(), device=device, requires_grad=requires_grad)


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of `data` with this tensor's dtype and device, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(1, dtype=pyburn.int8).new_tensor([1, 2])
        tensor([1, 2], dtype=pyburn.int8)
    """
    return _core._tensor(data, dtype or self.dtype, self.device if device is None else device, requires_grad)


def _new(
    op: str,
    self: Tensor,
    size: tuple[Any, ...],
    value: Number,
    dtype: _core.dtype | None,
    device: Device,
    requires_grad: bool,
    named: dict[str, Any],
) -> Tensor:
    sizes = _sizes(size, _named(named, op), op)
    where = self.device if device is None else device
    return _core._full(op, sizes, value, dtype or self.dtype, where, requires_grad)


def new_zeros(
    self: Tensor,
    *size: Any,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """Zeros with this tensor's dtype and device, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1]).new_zeros(2)
        tensor([0, 0])
    """
    return _new("new_zeros", self, size, 0, dtype, device, requires_grad, named)


def new_ones(
    self: Tensor,
    *size: Any,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """Ones with this tensor's dtype and device, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1]).new_ones(2)
        tensor([1, 1])
    """
    return _new("new_ones", self, size, 1, dtype, device, requires_grad, named)


def new_empty(
    self: Tensor,
    *size: Any,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """A tensor with this one's dtype and device whose values are not meant to be read.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1]).new_empty(2, 3).shape
        pyburn.Size([2, 3])
    """
    return _new("new_empty", self, size, 0, dtype, device, requires_grad, named)


def new_full(
    self: Tensor,
    size: Shape,
    fill_value: Number | Tensor,
    *,
    dtype: _core.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """`fill_value` everywhere, with this tensor's dtype and device, unless others are given.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([1]).new_full((2,), 5)
        tensor([5, 5])
    """
    value: Number = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    where = self.device if device is None else device
    return _core._full("new_full", (size,), value, dtype or self.dtype, where, requires_grad)
