"""torch.nested: tensors of one rank and of different sizes in one, strided layout.

A nested tensor holds all values one after the other and knows the sizes of its parts; what works elementwise is one
call over all values, the rest goes part by part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn import _core
from pyburn._absent import absent_function
from pyburn._core import Tensor
from pyburn._formats import strided
from pyburn._overriding import DisableTorchFunctionSubclass
from pyburn.ops import cat, full, tensor

__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

_WORKAROUND = "use nn.utils.rnn.pad_sequence and a mask, or the strided layout"
nested_tensor_from_jagged = absent_function(
    "nested.nested_tensor_from_jagged", "pyburn has no nested tensors of layout jagged", _WORKAROUND
)

# What is computed for each value alone; a name that ends with _ writes into the tensor.
_ELEMENTWISE = (
    "abs add bfloat16 ceil clamp clone contiguous copy cos cpu detach div double dropout elu empty_like eq exp fill "
    "float floor full_like ge gelu gt half isinf isnan isneginf isposinf le leaky_relu log logical_not lt masked_fill "
    "mul ne neg ones_like pow reciprocal relu round rsqrt rsub sgn sigmoid sign signbit silu sin sqrt square sub tanh "
    "to true_divide zero zeros_like __rsub__ __rtruediv__ __rpow__ __pow__ __rdiv__"
)
_NAMES = frozenset(_ELEMENTWISE.split())


class NestedTensor(Tensor):
    """A tensor whose parts along dimension 0 have sizes of their own; see `nested_tensor`."""

    _sizes: tuple[tuple[int, ...], ...]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What `func` gives for nested tensors, where it is defined for them."""
        name = func.__name__
        with DisableTorchFunctionSubclass():
            if name in _RULES:
                return _RULES[name](func, *args, **(kwargs or {}))
            if name in _NAMES or name.removesuffix("_") in _NAMES:
                return _elementwise(func, args, kwargs or {})
        raise NotImplementedError(
            f"{name}: nested tensors have no such function; call it for each part of unbind(), or use "
            "to_padded_tensor(padding) first."
        )

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def shape(self) -> Any:
        """Nothing: raises, as in torch."""
        return _size(None, self)

    @property
    def ndim(self) -> int:
        """The number of dimensions, that of the parts among them."""
        return _rank(self)

    @property
    def grad(self) -> Any:
        """The gradient, nested as this tensor."""
        held = _grad.__get__(self)
        return None if held is None else _make(held, self._sizes)

    @grad.setter
    def grad(self, value: Any) -> None:
        _grad.__set__(self, value if value is None else _flat(value))

    def __deepcopy__(self, memo: dict[int, Any]) -> NestedTensor:
        """A nested tensor with its own copy of the values, made once per `memo`."""
        if id(self) not in memo:
            memo[id(self)] = _rebuild(_flat(self).detach().clone(), self._sizes, self.requires_grad)
        copied: NestedTensor = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs to make the tensor again from its values and sizes."""
        return _rebuild, (_flat(self).detach(), self._sizes, self.requires_grad)

    def _nested_tensor_size(self) -> Tensor:
        """The sizes of the parts, a row for each."""
        return tensor([list(size) for size in self._sizes])

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        """The parts, one below the other."""
        leaf = self.requires_grad and self.is_leaf
        parts = [part.detach().requires_grad_(leaf) for part in _parts(_flat(self).detach(), self._sizes)]
        lines = ",\n".join("  " + repr(part).replace("\n", "\n  ") for part in parts)
        tail = ", requires_grad=True" if leaf else ""
        return f"nested_tensor([\n{lines}\n]{tail})"


_grad: Any = Tensor.__dict__["grad"]


def _make(flat: Tensor, sizes: Sequence[Sequence[int]]) -> NestedTensor:
    made: NestedTensor = flat.as_subclass(NestedTensor)
    made._sizes = tuple(tuple(size) for size in sizes)
    return made


def _rebuild(flat: Tensor, sizes: tuple[tuple[int, ...], ...], requires_grad: bool) -> NestedTensor:
    made = _make(flat, sizes)
    made.requires_grad_(requires_grad)
    return made


def _flat(value: Tensor) -> Tensor:
    return value.as_subclass(Tensor) if type(value) is not Tensor else value


def _parts(flat: Tensor, sizes: Sequence[Sequence[int]]) -> list[Tensor]:
    with DisableTorchFunctionSubclass():
        pieces = flat.split([math.prod(size) for size in sizes]) if sizes else ()
        return [piece.view(size) for piece, size in zip(pieces, sizes, strict=True)]


def _nest(parts: Sequence[Tensor]) -> NestedTensor:
    with DisableTorchFunctionSubclass():
        flat = cat([part.reshape(-1) for part in parts])
    return _make(flat, [part.shape for part in parts])


def _each(function: Callable[..., Tensor], *values: NestedTensor) -> NestedTensor:
    """What `function` gives for each part, with the parts of other nested tensors at its side."""
    if len({len(value._sizes) for value in values}) > 1:
        raise RuntimeError("nested tensors of different numbers of parts cannot be computed with each other.")
    columns = [_parts(_flat(value), value._sizes) for value in values]
    return _nest([function(*row) for row in zip(*columns, strict=True)]) if values[0]._sizes else values[0]


def _rank(value: NestedTensor) -> int:
    return len(value._sizes[0]) + 1 if value._sizes else 1


def _elementwise(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = func.__name__
    nested = [value for value in (*args, *kwargs.values()) if isinstance(value, NestedTensor)]
    first = nested[0]
    for value in (*args, *kwargs.values()):
        if isinstance(value, NestedTensor):
            if value._sizes != first._sizes:
                raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        elif isinstance(value, Tensor) and value.dim() > 0:
            raise RuntimeError("Expected both self and other to be nested, but got one that is not nested")
    if name.endswith("_") and not name.endswith("__") and args[0] is first:
        # To these functions the tensor is its values in a row, and they give it back.
        return func(first, *map(_plain, args[1:]), **{key: _plain(value) for key, value in kwargs.items()})
    result = func(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
    return _make(result, first._sizes) if isinstance(result, Tensor) else result


def _plain(value: Any) -> Any:
    return _flat(value) if isinstance(value, NestedTensor) else value


def _size(_: Any, value: NestedTensor, dim: int | None = None) -> int:
    if dim is None:
        raise RuntimeError("a nested tensor has no sizes of its own; use size(dim) for one dimension, or unbind().")
    at = _dim(value, dim)
    if at == 0:
        return len(value._sizes)
    sizes = {size[at - 1] for size in value._sizes}
    if len(sizes) > 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return sizes.pop()


def _dim(value: NestedTensor, dim: int) -> int:
    rank = _rank(value)
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def _inner(op: str, value: NestedTensor, dim: int) -> int:
    """A dimension counted inside the parts."""
    at = _dim(value, dim)
    if at == 0:
        raise RuntimeError(f"{op}: dimension 0 of a nested tensor counts its parts, and cannot be computed along.")
    return at - 1


def _unbind(_: Any, value: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    if _dim(value, dim) != 0:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return tuple(_parts(_flat(value), value._sizes))


def _getitem(_: Any, value: NestedTensor, index: Any) -> Tensor:
    first, rest = (index[0], index[1:]) if isinstance(index, tuple) and index else (index, ())
    if not isinstance(first, int) or isinstance(first, bool):
        raise NotImplementedError("a nested tensor is indexed by the number of a part; slice the parts of unbind().")
    if not -len(value._sizes) <= first < len(value._sizes):
        raise IndexError(f"index {first} is out of bounds for a nested tensor of {len(value._sizes)} parts")
    part = _parts(_flat(value), value._sizes)[first]
    return part[rest] if rest else part


def _padded(_: Any, input: NestedTensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    return to_padded_tensor(input, padding, output_size)


def _sum(
    func: Any, input: NestedTensor, dim: Any = None, keepdim: bool = False, *, dtype: _core.dtype | None = None
) -> NestedTensor:
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if len(dims) != 1 or _dim(input, dims[0]) != _rank(input) - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dim} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return _each(lambda part: part.sum(-1, keepdim=True, dtype=dtype), input)


def _along(func: Any, input: NestedTensor, dim: int, *args: Any, **kwargs: Any) -> NestedTensor:
    at = _inner(func.__name__, input, dim)
    return _each(lambda part: func(part, at, *args, **kwargs), input)


def _transpose(func: Any, input: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    first, second = _inner("transpose", input, dim0), _inner("transpose", input, dim1)
    return _each(lambda part: part.transpose(first, second), input)


def _reshape(func: Any, input: NestedTensor, *shape: Any) -> NestedTensor:
    wanted = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if not wanted or wanted[0] not in (-1, len(input._sizes)):
        raise RuntimeError(f"{func.__name__}: For now nested dimension 0 must keep its size, {len(input._sizes)}.")

    def one(part: Tensor) -> Tensor:
        # -1 is the size that the part has there.
        sizes = [part.size(at) if size == -1 and at < part.dim() else size for at, size in enumerate(wanted[1:])]
        return part.reshape(sizes)

    return _each(one, input)


def _product(func: Any, input: Any, other: Any) -> NestedTensor:
    if not isinstance(input, NestedTensor) or not isinstance(other, NestedTensor):
        raise RuntimeError("Expected both to be nested, but got one that is not nested")
    return _each(lambda one, two: one @ two, input, other)


def _rows(func: Any, input: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    """Functions of the last dimension, which all parts have in common: one call over the rows of all parts."""
    width = _size(None, input, -1)
    out = func(_flat(input).view(-1, width), *args, **kwargs)
    return _make(out.reshape(-1), [(*size[:-1], out.size(-1)) for size in input._sizes])


def _embedding(func: Any, input: NestedTensor, weight: Tensor, *args: Any, **kwargs: Any) -> NestedTensor:
    out = func(_flat(input), weight, *args, **kwargs)
    return _make(out.reshape(-1), [(*size, out.size(-1)) for size in input._sizes])


def _attention(func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
    if attn_mask is not None or not all(isinstance(given, NestedTensor) for given in (query, key, value)):
        raise RuntimeError("attention over nested tensors takes nested query, key and value, and no mask.")
    return _each(lambda *row: func(*row, None, *args, **kwargs), query, key, value)


def _chunk(func: Any, input: NestedTensor, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    at = _inner("chunk", input, dim)
    columns = [part.chunk(chunks, at) for part in _parts(_flat(input), input._sizes)]
    return tuple(_nest(row) for row in zip(*columns, strict=True))


def _narrow(func: Any, input: NestedTensor, dim: int, start: int, length: int) -> NestedTensor:
    if _dim(input, dim) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    if start < 0 or length < 0 or start + length > len(input._sizes):
        raise RuntimeError(f"narrow(): start ({start}) + length ({length}) exceeds {len(input._sizes)} parts.")
    return _nest(_parts(_flat(input), input._sizes)[start : start + length])


def _cat(func: Any, tensors: Sequence[Any], dim: int = 0, **kwargs: Any) -> NestedTensor:
    if not all(isinstance(value, NestedTensor) for value in tensors) or dim != 0 or kwargs:
        raise RuntimeError("cat: nested tensors are joined with nested tensors, along dimension 0.")
    return _nest([part for value in tensors for part in _parts(_flat(value), value._sizes)])


def _no_sizes(func: Any, value: NestedTensor, *args: Any) -> Any:
    raise RuntimeError(f"{func.__name__}: a nested tensor has no sizes of its own; use size(0) and unbind().")


_RULES: dict[str, Callable[..., Any]] = {
    "__getitem__": _getitem,
    **dict.fromkeys(("__iter__", "__len__", "stride", "tolist"), _no_sizes),
    **dict.fromkeys(("matmul", "bmm", "__matmul__"), _product),
    **dict.fromkeys(("linear", "layer_norm", "rms_norm"), _rows),
    **dict.fromkeys(("softmax", "log_softmax"), _along),
    **dict.fromkeys(("reshape", "view"), _reshape),
    **dict.fromkeys(("dim", "ndimension"), lambda _, value: _rank(value)),
    **dict.fromkeys(("numel", "nelement"), lambda _, value: sum(math.prod(size) for size in value._sizes)),
    "cat": _cat,
    "chunk": _chunk,
    "data_ptr": lambda func, value: func(value),
    "element_size": lambda func, value: func(value),
    "embedding": _embedding,
    "is_contiguous": lambda *_: True,
    "is_floating_point": lambda func, value: func(value),
    "narrow": _narrow,
    "scaled_dot_product_attention": _attention,
    "select": lambda _, value, dim, index: _getitem(_, value, index) if dim == 0 else _unbind(_, value, dim),
    "size": _size,
    "sum": _sum,
    "to_padded_tensor": _padded,
    "transpose": _transpose,
    "unbind": _unbind,
    "values": lambda _, value: _flat(value),
}


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A nested tensor, a leaf, with copies of the values of tensors (or lists) that have one rank.

    Raises:
        RuntimeError: The ranks differ.

    Example:
        >>> import pyburn
        >>> x = pyburn.nested.nested_tensor([pyburn.arange(3.0), pyburn.arange(2.0)])
        >>> (x * 2).to_padded_tensor(0.0)
        tensor([[0., 2., 4.],
                [0., 2., 0.]])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    given = [value.detach() if isinstance(value, Tensor) else tensor(value) for value in tensor_list]
    flat = as_nested_tensor(given, dtype=dtype, device=device, layout=layout)
    return _rebuild(_flat(flat).detach().clone(), flat._sizes, requires_grad)


def as_nested_tensor(ts: Any, dtype: _core.dtype | None = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """A nested tensor of the values of tensors, to which gradients flow back.

    Args:
        ts: Tensors of one rank, or one tensor, whose rows become the parts.
        dtype: The dtype; that of the first when left out.
        device: Where; where the first is when left out.
        layout: `strided`; there are no jagged ones.

    Example:
        >>> import pyburn
        >>> pyburn.nested.as_nested_tensor([pyburn.ones(1), pyburn.zeros(2)]).unbind()
        (tensor([1.]), tensor([0., 0.]))
    """
    if layout not in (None, strided):
        raise NotImplementedError(f"nested tensors have the layout strided here, not {layout}: {_WORKAROUND}.")
    if isinstance(ts, NestedTensor):
        return ts
    if not isinstance(ts, (list, tuple, Tensor)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors")
    parts = list(ts.unbind()) if isinstance(ts, Tensor) else list(ts)
    for number, part in enumerate(parts):
        if part.dim() != parts[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{part.dim()} for Tensor at index {number} and dimension {parts[0].dim()} for Tensor at index 0."
            )
    if not parts:
        return _make(full((0,), 0.0, dtype=dtype, device=device), ())
    kind, place = dtype or parts[0].dtype, parts[0].device if device is None else device
    return _nest([part.to(device=place, dtype=kind) for part in parts])


def to_padded_tensor(
    input: NestedTensor, padding: float, output_size: Sequence[int] | None = None, out: Tensor | None = None
) -> Tensor:
    """An ordinary tensor of all parts, each followed by `padding` up to the size of the largest.

    Args:
        input: A nested tensor.
        padding: What follows the parts.
        output_size: The sizes of the result, none of them smaller than needed.
        out: Not taken, as in torch.

    Example:
        >>> import pyburn
        >>> x = pyburn.nested.nested_tensor([[1, 2], [3]])
        >>> pyburn.nested.to_padded_tensor(x, 0)
        tensor([[1, 2],
                [3, 0]])
    """
    if out is not None or not isinstance(input, NestedTensor):
        raise RuntimeError("to_padded_tensor takes a nested tensor, and no out.")
    sizes = input._sizes
    needed = [len(sizes), *(max(column) for column in zip(*sizes, strict=True))]
    wanted = needed if output_size is None else list(output_size)
    if len(wanted) != len(needed) or any(given < least for given, least in zip(wanted, needed, strict=True)):
        raise RuntimeError(
            f"Value in output_size is less than NestedTensor padded size. Truncation is not supported: {wanted} given, "
            f"{needed} needed."
        )
    with DisableTorchFunctionSubclass():
        flat = _flat(input)
        result = full(wanted, padding, dtype=flat.dtype, device=flat.device)
        for number, part in enumerate(_parts(flat, sizes)):
            result[(number, *(slice(0, size) for size in part.shape))] = part
    return result
