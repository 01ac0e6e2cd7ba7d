"""Methods of Tensor that are Python: graph entry points, hooks, copies and how a tensor shows itself."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import contiguous_format, preserve_format
from pyburn._storage import UntypedStorage
from pyburn.ops._methods import inplace

T = TypeVar("T", bound=Tensor)


class RemovableHandle:
    """What registering a hook returns; `remove()` undoes it."""

    __slots__ = ("_remove", "id")

    def __init__(self, remove: Callable[[], None], number: int) -> None:
        self._remove = remove
        self.id = number

    def remove(self) -> None:
        """Removes the hook."""
        self._remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Fills `.grad` of the leaves that this tensor was computed from.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    from pyburn import autograd

    autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Calls `hook(grad)` when the gradient of this tensor is computed; a tensor it returns replaces the gradient."""
    node, number = self._register_hook(hook)
    if node is None:
        return RemovableHandle(lambda: self._remove_leaf_hook(number), number)
    return RemovableHandle(lambda: node._remove_hook(number), number)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Calls `hook(leaf)` after the gradient of this leaf has been accumulated."""
    number = self._register_post_accumulate_grad_hook(hook)
    return RemovableHandle(lambda: self._remove_leaf_hook(number), number)


def __repr__(self: Tensor) -> str:
    from pyburn._printing import tensor_str

    return tensor_str(self, _core.get_default_dtype())


def __format__(self: Tensor, format_spec: str) -> str:
    """A tensor of one number is written as the number.

    Example:
        >>> import pyburn
        >>> f"{pyburn.tensor(3.14159):.2f}"
        '3.14'
    """
    if self.dim() == 0:
        return format(self.item(), format_spec)
    return object.__format__(self, format_spec)


def _repr_html_(self: Tensor) -> str:
    from pyburn._printing import tensor_html

    return tensor_html(self, _core.get_default_dtype())


def __reversed__(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self.flip(0)


def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """The result of a numpy function of this tensor, as a tensor; booleans become uint8, as in torch."""
    from pyburn.ops import from_numpy

    return from_numpy(array.astype("uint8") if array.dtype == bool else array)


def as_subclass(self: Tensor, cls: type[T]) -> T:
    """This tensor's values and history as an object of `cls`, a subclass of Tensor.

    Example:
        >>> import pyburn
        >>> class Image(pyburn.Tensor):
        ...     pass
        >>> type(pyburn.zeros(2).as_subclass(Image)).__name__
        'Image'
    """
    if not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass: cls must be a subclass of Tensor, not {cls.__name__}")
    made: Any = self._as_subclass(cls)
    return cast(T, made)


def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """This tensor, now over the memory of `source`, a tensor or a storage; without one it becomes empty.

    Example:
        >>> import pyburn
        >>> x, y = pyburn.zeros(2), pyburn.arange(3.0)
        >>> x.set_(y)
        tensor([0., 1., 2.])
    """
    if self.requires_grad and _core.is_grad_enabled():
        raise RuntimeError("set_: a leaf Variable that requires grad is being used in an in-place operation.")
    if source is None:
        self.data = self.new_empty((0,))
        return self
    given: Tensor = source if isinstance(source, Tensor) else source._tensor._whole_storage().view(self.dtype)
    if given.dtype != self.dtype:
        raise RuntimeError(f"set_: the source is of {given.dtype}, the tensor of {self.dtype}")
    if size is None:
        self.data = given
        return self
    steps = [math.prod(size[dim + 1 :]) for dim in range(len(size))] if stride is None else stride
    self.data = given._over(size, steps, storage_offset)
    return self


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype and device, from sizes or from data, as torch's old constructors take them.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).new([1, 2]), pyburn.ones(1).new(2, 3).shape
        (tensor([1., 2.]), pyburn.Size([2, 3]))
    """
    place = self.device if device is None else device
    if len(args) == 1 and isinstance(args[0], UntypedStorage):
        return _core._full("new", (0,), 0, self.dtype, "cpu").set_(args[0])
    if len(args) == 1 and not isinstance(args[0], int) and type(args[0]).__name__ != "Size":
        return _core._tensor(args[0], self.dtype, place)
    return _core._full("new", args or (0,), 0, self.dtype, place)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """This tensor with `fill_value` on its main diagonal; with `wrap` the diagonal of a tall matrix starts again.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(2, 2).fill_diagonal_(3)
        tensor([[3., 0.],
                [0., 3.]])
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    size, step, start = min(self.shape), sum(self.stride()), self.storage_offset()
    self.as_strided((size,), (step,), start).fill_(fill_value)
    height, width = self.shape[0], self.shape[1]
    if wrap and self.dim() == 2 and height > width + 1:
        rest = -(-self.numel() // (width + 1)) - size
        self.as_strided((rest,), (step,), start + self.stride(0) * (width + 1)).fill_(fill_value)
    return self


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """This tensor, whose elements became what a Python function makes of them; slow, and only on the CPU.

    Example:
        >>> import pyburn
        >>> pyburn.arange(3).apply_(lambda n: n * n)
        tensor([0, 1, 4])
    """
    if not self.is_cpu:
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    made = [callable(number) for number in self.reshape(-1).tolist()]
    return self.copy_(_core._tensor(made, self.dtype, "cpu").reshape(self.shape))


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """This tensor, whose elements became what a Python function makes of them and of another tensor's.

    Example:
        >>> import pyburn
        >>> pyburn.arange(3).map_(pyburn.ones(3, dtype=pyburn.int64), lambda a, b: a + b)
        tensor([1, 2, 3])
    """
    if not self.is_cpu:
        raise TypeError("map_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    others = tensor.expand(self.shape).reshape(-1).tolist()
    made = [callable(*pair) for pair in zip(self.reshape(-1).tolist(), others)]
    return self.copy_(_core._tensor(made, self.dtype, "cpu").reshape(self.shape))


def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing; there is one row of work, and memory lives as long as it is used."""


def _sparse() -> Any:
    return importlib.import_module("pyburn.sparse.tensor")


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Tensor:
    """The elements that are not zero, in coordinates, or in compressed rows when `layout` says so.

    Example:
        >>> import pyburn
        >>> pyburn.tensor([0.0, 3.0]).to_sparse().indices()
        tensor([[1]])
    """
    made: Any = _sparse().from_dense(self, sparse_dim)
    result: Tensor = made.to_sparse_csr() if getattr(layout, "name", "") == "sparse_csr" else made
    return result


def to_sparse_coo(self: Tensor) -> Tensor:
    """The elements that are not zero, in coordinates.

    Example:
        >>> import pyburn
        >>> pyburn.eye(2).to_sparse_coo().values()
        tensor([1., 1.])
    """
    result: Tensor = _sparse().from_dense(self)
    return result


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The elements of a matrix that are not zero, in compressed rows.

    Example:
        >>> import pyburn
        >>> pyburn.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    result: Tensor = _sparse().from_dense(self).to_sparse_csr()
    return result


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places that a sparse tensor has, with the same places.

    Example:
        >>> import pyburn
        >>> pyburn.arange(4.0).reshape(2, 2).sparse_mask(pyburn.eye(2).to_sparse()).values()
        tensor([0., 3.])

    Raises:
        RuntimeError: The mask is not sparse, or has another shape.
    """
    result: Tensor = _sparse().at_places(self, mask)
    return result


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """This tensor, which is dense already.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).to_dense()
        tensor([1.])
    """
    return self if dtype is None else self.to(dtype)


def _special(name: str) -> Any:
    return getattr(importlib.import_module("pyburn.special"), name)


def i0(self: Tensor) -> Tensor:
    """The modified Bessel function of order 0 of each element.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(1).i0()
        tensor([1.])
    """
    result: Tensor = _special("i0")(self)
    return result


def igamma(self: Tensor, other: Tensor) -> Tensor:
    """The lower regularized incomplete gamma function of each pair of elements.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).igamma(pyburn.zeros(1))
        tensor([0.])
    """
    result: Tensor = _special("gammainc")(self, other)
    return result


def igammac(self: Tensor, other: Tensor) -> Tensor:
    """The upper regularized incomplete gamma function of each pair of elements.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).igammac(pyburn.zeros(1))
        tensor([1.])
    """
    result: Tensor = _special("gammaincc")(self, other)
    return result


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of dimension `p` of each element.

    Example:
        >>> import pyburn
        >>> pyburn.ones(1).mvlgamma(1)
        tensor([0.])
    """
    result: Tensor = _special("multigammaln")(self, p)
    return result


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors are the same view of the same memory.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
        (True, False)
    """
    same = self.shape == tensor.shape and self.stride() == tensor.stride()
    here = self._storage_ptr() == tensor._storage_ptr() and self.storage_offset() == tensor.storage_offset()
    return same and here


def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """This tensor, which shows its memory with other sizes and steps from now on.

    Example:
        >>> import pyburn
        >>> pyburn.arange(6.0).as_strided_((2, 2), (3, 1))
        tensor([[0., 1.],
                [3., 4.]])
    """
    return self._become("as_strided_", self.as_strided(size, stride, storage_offset))


_resize = Tensor.resize_


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """This tensor with other sizes, in the order of `memory_format`; elements that were not there hold anything.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(1).resize_(2, 3).shape
        pyburn.Size([2, 3])
    """
    result = _resize(self, *sizes)
    if memory_format is None or memory_format == contiguous_format:
        return result
    if memory_format == preserve_format:
        raise RuntimeError("resize_: Unsupported memory format preserve_format")
    steps = self.detach().new_empty(self.shape).contiguous(memory_format=memory_format).stride()
    return self.set_(self.detach().as_strided(self.shape, steps))


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """This tensor in the shape of another; elements that were not there hold anything.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(1).resize_as_(pyburn.ones(2, 3)).shape
        pyburn.Size([2, 3])
    """
    return self.resize_(the_template.shape, memory_format=memory_format)


def dim_order(self: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest step in memory to the one with the smallest.

    Example:
        >>> import pyburn
        >>> pyburn.ones(2, 3).t().dim_order()
        (1, 0)
    """
    steps = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda dim: -steps[dim]))


METHODS = (
    __array_wrap__,
    __format__,
    __repr__,
    __reversed__,
    _repr_html_,
    apply_,
    as_strided_,
    as_subclass,
    backward,
    dim_order,
    fill_diagonal_,
    i0,
    igamma,
    igammac,
    is_set_to,
    map_,
    mvlgamma,
    new,
    record_stream,
    register_hook,
    register_post_accumulate_grad_hook,
    resize_,
    resize_as_,
    set_,
    sparse_mask,
    to_dense,
    to_sparse,
    to_sparse_coo,
    to_sparse_csr,
)

for _method in METHODS:
    setattr(Tensor, _method.__name__, _method)
for _function in (i0, igamma, igammac, mvlgamma):
    setattr(Tensor, f"{_function.__name__}_", inplace(_function.__name__, _function))

# What torch asks about devices that are not here, and about names that tensors do not have.
_ABSENT = ("is_hpu", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized")
for _name in (*_ABSENT, "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"):
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, False)
setattr(Tensor, "name", None)  # noqa: B010

# Second names that torch keeps: of Python 2's operators, and of what its own Python code calls.
_ALSO = {
    "__div__": "__truediv__",
    "__idiv__": "__itruediv__",
    "__long__": "__int__",
    "__nonzero__": "__bool__",
    "__rdiv__": "__rtruediv__",
    "_conj": "conj",
    "_conj_physical": "conj_physical",
    "_is_all_true": "all",
    "_is_any_true": "any",
    "_typed_storage": "storage",
}
for _name, _known in _ALSO.items():
    setattr(Tensor, _name, getattr(Tensor, _known))
