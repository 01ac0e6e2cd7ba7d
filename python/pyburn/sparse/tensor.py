"""Sparse tensors: those whose zeros are not stored, in coordinates (COO) and in compressed rows (CSR)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor, complex64, complex128, float64, get_default_dtype, int64
from pyburn._core import bool as _bool
from pyburn._formats import sparse_coo, sparse_csr
from pyburn._printing import _add_suffixes, _tensor_str
from pyburn._size import Size
from pyburn.ops import arange, stack, zeros
from pyburn.ops import cat as _cat

_Number = int | float | bool


class SparseTensor(Tensor):
    """What sparse tensors share: they are Tensors by shape, dtype and device, and hold `values` and where they belong.

    The Tensor itself has no memory: a function that does not know of sparse tensors raises.
    """

    _stored: Tensor
    # The methods below answer for themselves; results are no sparse tensors unless they say so.
    __torch_function__: Any = None

    @classmethod
    def _shell(cls, stored: Tensor, size: Sequence[int]) -> Any:
        one = zeros([1] * len(size), dtype=stored.dtype, device=stored.device)
        made = Tensor.__new__(cls, one.expand(list(size)).detach())
        made._seal()
        made._stored = stored
        return made

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to the values."""
        return self._stored.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._stored.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """This tensor, whose values have gradients from now on, or have none."""
        self._stored.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the values are no result."""
        return self._stored.is_leaf

    @property
    def grad(self) -> Any:
        """The gradient, which has values where this tensor has some."""
        return None if self._stored.grad is None else self._with(self._stored.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._stored.grad = None if value is None else value._stored

    def _with(self, values: Tensor) -> Any:
        """Other values at the same places."""
        raise NotImplementedError

    def _nnz(self) -> int:
        """How many values are stored."""
        return int(self._stored.shape[0])

    def detach(self) -> Any:
        """The same values without their history."""
        return self._with(self._stored.detach())

    def clone(self, *, memory_format: Any = None) -> Any:
        """A copy of the values at the same places."""
        return self._with(self._stored.clone())

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """As `Tensor.to`; the places move to the device as well."""
        values = self._stored.to(*args, **kwargs)
        return self if values is self._stored else self._moved(values)

    def _moved(self, values: Tensor) -> Any:
        raise NotImplementedError

    def cpu(self, memory_format: Any = None) -> Any:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """On the GPU."""
        return self._moved(self._stored.cuda(device))

    def __neg__(self) -> Any:
        return self._with(-self._stored)

    neg: Any = __neg__

    def __abs__(self) -> Any:
        return self._with(self._stored.abs())

    abs: Any = __abs__

    def _scaled(self, other: Any, function: Callable[[Tensor, Any], Tensor]) -> Any:
        if isinstance(other, _Number) or (isinstance(other, Tensor) and other.dim() == 0):
            return self._with(function(self._stored, other))
        return NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self.div(other)

    def div(self, other: Any, *, rounding_mode: str | None = None) -> Any:
        """The values divided by a number."""
        found = self._scaled(other, lambda values, number: values.div(number, rounding_mode=rounding_mode))
        if found is NotImplemented:
            shape = list(other.shape) if isinstance(other, Tensor) else other
            raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got {shape})")
        return found

    def __pow__(self, other: Any, mod: Any = None) -> Any:
        return self.pow(other)

    def pow(self, exponent: Any) -> Any:
        """The values raised to a power."""
        if not isinstance(exponent, _Number):
            raise NotImplementedError("pow of a sparse tensor takes a number as exponent; call .to_dense() first")
        return self._with(self._stored**exponent)

    def __matmul__(self, other: Any) -> Any:
        return self._coo()._product(other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._coo().t()._product(other.t()).t()

    def matmul(self, other: Any) -> Any:
        """The product with a matrix or a vector."""
        return self @ other

    mm: Any = matmul
    mv: Any = matmul

    def _coo(self) -> Any:
        raise NotImplementedError

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None, **_: Any) -> Any:
        """In coordinates, or in compressed rows when `layout` says so."""
        if sparse_dim is not None and sparse_dim != self._coo().sparse_dim():
            raise RuntimeError(f"to_sparse: {sparse_dim} dimensions with places were asked of a sparse tensor.")
        return self.to_sparse_csr() if layout is sparse_csr else self._coo()

    def to_sparse_coo(self) -> Any:
        """In coordinates."""
        return self._coo()

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """With its zeros."""
        result: Tensor = self._coo()._dense()
        return result if dtype is None else result.to(dtype)

    def tolist(self) -> Any:
        """Nested lists, with the zeros."""
        return self.to_dense().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """Refused, as torch does."""
        raise TypeError("can't convert a sparse tensor to numpy. Use Tensor.to_dense() first.")

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """The sum of the values; see `sparse.sum` for dimensions."""
        if dim is None:
            return self._stored.sum(dtype=dtype)
        return self._coo()._summed(dim, keepdim)

    def is_floating_point(self) -> bool:
        """Whether the values are floats."""
        return self._stored.is_floating_point()

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> Any:
        return self._with(self._stored)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._moved(self._stored.detach().clone().requires_grad_(self.requires_grad))
        return memo[id(self)]


class SparseCooTensor(SparseTensor):
    """A sparse tensor in coordinates: see `pyburn.sparse_coo_tensor`."""

    _places: Tensor
    _joined: bool
    layout = sparse_coo
    is_sparse = True

    @classmethod
    def make(cls, places: Tensor, values: Tensor, size: Sequence[int], joined: bool = False) -> SparseCooTensor:
        """A tensor of these parts, which are checked by whoever calls."""
        made: SparseCooTensor = cls._shell(values, size)
        made._places = places
        made._joined = joined
        return made

    def _with(self, values: Tensor) -> Any:
        return SparseCooTensor.make(self._places, values, self.shape, self._joined)

    def _moved(self, values: Tensor) -> Any:
        return SparseCooTensor.make(self._places.to(values.device), values, self.shape, self._joined)

    def _coo(self) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return SparseCooTensor.make, (self._places, self._stored.detach(), tuple(self.shape), self._joined)

    def _indices(self) -> Tensor:
        """The places, one column for each value, in any order."""
        return self._places

    def _values(self) -> Tensor:
        """The values."""
        return self._stored

    def _check_joined(self, what: str) -> None:
        if not self._joined:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self) -> Tensor:
        """The places, one column for each value, in order."""
        self._check_joined("indices")
        return self._places

    def values(self) -> Tensor:
        """The values, in the order of the places."""
        self._check_joined("values")
        return self._stored

    def is_coalesced(self) -> bool:
        """Whether the places are in order and none comes twice."""
        return self._joined

    def _coalesced_(self, coalesced: bool) -> Any:
        """This tensor, taken at its word about whether the places are in order and none comes twice."""
        self._joined = coalesced
        return self

    def sparse_dim(self) -> int:
        """How many dimensions have places."""
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self._stored.dim() - 1

    def stride(self, dim: int | None = None) -> Any:
        """Zeros, as torch says: the elements do not lie in the order of their places."""
        return (0,) * self.dim() if dim is None else 0

    def _flat(self) -> Tensor:
        """Each place as one number."""
        flat = zeros([self._nnz()], dtype=int64, device=self._places.device)
        for row, length in zip(self._places, self.shape, strict=False):
            flat = flat * length + row
        return flat

    def coalesce(self) -> Any:
        """The same tensor with its places in order, values at one place added up."""
        if self._joined:
            return self
        found, where = self._flat().unique(sorted=True, return_inverse=True)
        parts = self._stored.new_zeros([found.shape[0], *self._stored.shape[1:]])
        values = parts.index_add(0, where, self._stored)
        rows = []
        for length in reversed(self.shape[: self.sparse_dim()]):
            rows.append(found % length)
            found = found // length
        places = stack(list(reversed(rows)), 0) if rows else self._places
        return SparseCooTensor.make(places, values, self.shape, True)

    def _dense(self) -> Tensor:
        dims = self.sparse_dim()
        flat = self._stored.new_zeros([math.prod(self.shape[:dims]), *self._stored.shape[1:]])
        return flat.index_add(0, self._flat(), self._stored).reshape(list(self.shape))

    def _product(self, other: Any) -> Any:
        if self.dim() != 2 or self.dense_dim() != 0:
            raise RuntimeError(f"sparse product: the sparse tensor must be a matrix, but its shape is {self.shape}.")
        if other.shape[0] != self.shape[1]:
            raise RuntimeError(
                f"sparse product: {list(self.shape)} and {list(other.shape)} cannot be multiplied; the second size of "
                "the sparse matrix and the first of the other must agree."
            )
        if isinstance(other, SparseTensor):
            return from_dense(self @ other.to_dense())
        row, column = self._places
        read = other.index_select(0, column)
        weighted = read * (self._stored if other.dim() == 1 else self._stored.unsqueeze(-1))
        return weighted.new_zeros([self.shape[0], *other.shape[1:]]).index_add(0, row, weighted)

    def transpose(self, dim0: int, dim1: int) -> Any:
        """With two dimensions swapped."""
        order = list(range(self.dim()))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        if max(dim0 % self.dim(), dim1 % self.dim()) >= self.sparse_dim():
            raise RuntimeError("transpose: only dimensions with places can be swapped in a sparse tensor.")
        size = [self.shape[i] for i in order]
        return SparseCooTensor.make(self._places[order[: self.sparse_dim()]], self._stored, size)

    def t(self) -> Any:
        """A matrix with its dimensions swapped."""
        return self if self.dim() < 2 else self.transpose(0, 1)

    @property
    def T(self) -> Any:
        """A matrix with its dimensions swapped."""
        return self.t()

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return self._plus(other._coo(), 1)

    def _plus(self, other: SparseCooTensor, alpha: float) -> Any:
        if other.shape != self.shape:
            raise RuntimeError(f"add: expected sparse tensors of the same size, but got {self.shape}, {other.shape}.")
        places = _cat([self._places, other._places], 1)
        values = _cat([self._stored, other._stored * alpha if alpha != 1 else other._stored], 0)
        return SparseCooTensor.make(places, values, self.shape).coalesce()

    def add(self, other: Any, *, alpha: Any = None) -> Any:
        """The sum with another sparse tensor."""
        return self + other if alpha is None or alpha == 1 else self._plus(other._coo(), alpha)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    sub: Any = __sub__

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, int | float) and other == 0:
            return self
        return other + self._dense()

    def __rsub__(self, other: Any) -> Any:
        return other - self._dense()

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SparseTensor):
            other = other.to_dense()
        scaled = self._scaled(other, lambda values, number: values * number)
        if scaled is not NotImplemented:
            return scaled
        whole = self.coalesce()
        dense = other.expand(list(self.shape))
        return whole._with(whole._stored * dense[tuple(whole._places)])

    mul: Any = __mul__
    __rmul__: Any = __mul__

    def index_select(self, dim: int, index: Tensor) -> Any:
        """The slices at `index` along a dimension."""
        dim = dim % self.dim()
        hit = self._places[dim].unsqueeze(0) == index.unsqueeze(1)
        which, kept = hit.nonzero(as_tuple=True)
        places = self._places.index_select(1, kept)
        rows = [which if i == dim else row for i, row in enumerate(places)]
        size = [*self.shape[:dim], index.shape[0], *self.shape[dim + 1 :]]
        return SparseCooTensor.make(stack(rows, 0), self._stored.index_select(0, kept), size).coalesce()

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise NotImplementedError("a sparse tensor is indexed by one number only; call to_dense() first.")
        if self.sparse_dim() == 1:
            return self._dense()[index]
        if not -self.shape[0] <= index < self.shape[0]:
            raise IndexError(f"index {index} is out of range for a dimension of size {self.shape[0]}")
        kept = (self._places[0] == index % self.shape[0]).nonzero().reshape(-1)
        places, values = self._places[1:].index_select(1, kept), self._stored.index_select(0, kept)
        return SparseCooTensor.make(places, values, self.shape[1:], self._joined)

    def _summed(self, dim: Any, keepdim: bool = False) -> Any:
        dims = sorted({d % self.dim() for d in ([dim] if isinstance(dim, int) else dim)})
        inner = [d - self.sparse_dim() + 1 for d in dims if d >= self.sparse_dim()]
        values = self._stored.sum(inner) if inner else self._stored
        rest = [d for d in range(self.sparse_dim()) if d not in dims]
        size = [n for d, n in enumerate(self.shape) if d not in dims]
        if not rest:
            return values.sum(0)
        return SparseCooTensor.make(self._places[rest], values, size).coalesce()

    def zero_(self) -> Any:
        """This tensor without values."""
        self._places = self._places[:, :0]
        self._stored = self._stored[:0].detach()
        return self

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """A matrix in compressed rows."""
        if self.dim() != 2:
            raise RuntimeError(f"to_sparse_csr: a matrix is needed, but the shape is {list(self.shape)}.")
        whole = self.coalesce()
        counts = whole._places[0].bincount(minlength=self.shape[0])
        crow = _cat([counts.new_zeros([1]), counts.cumsum(0)], 0)
        return SparseCsrTensor.make(crow, whole._places[1], whole._stored, self.shape)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return _text(self, {"indices": self._places, "values": self._stored}, sparse_coo)


class SparseCsrTensor(SparseTensor):
    """A sparse matrix in compressed rows: see `pyburn.sparse_csr_tensor`."""

    _crow: Tensor
    _column: Tensor
    layout = sparse_csr
    is_sparse_csr = True

    @classmethod
    def make(cls, crow: Tensor, column: Tensor, values: Tensor, size: Sequence[int]) -> SparseCsrTensor:
        """A matrix of these parts, which are checked by whoever calls."""
        made: SparseCsrTensor = cls._shell(values, size)
        made._crow, made._column = crow, column
        return made

    def _with(self, values: Tensor) -> Any:
        return SparseCsrTensor.make(self._crow, self._column, values, self.shape)

    def _moved(self, values: Tensor) -> Any:
        device = values.device
        return SparseCsrTensor.make(self._crow.to(device), self._column.to(device), values, self.shape)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return SparseCsrTensor.make, (self._crow, self._column, self._stored.detach(), tuple(self.shape))

    def _coo(self) -> Any:
        counts = self._crow[1:] - self._crow[:-1]
        rows = arange(self.shape[0], device=self._crow.device).repeat_interleave(counts)
        places = stack([rows, self._column.to(int64)], 0)
        return SparseCooTensor.make(places, self._stored, self.shape, True)

    def crow_indices(self) -> Tensor:
        """Where each row begins among the values."""
        return self._crow

    def col_indices(self) -> Tensor:
        """The column of each value."""
        return self._column

    def values(self) -> Tensor:
        """The values."""
        return self._stored

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """This tensor itself."""
        return self

    def __mul__(self, other: Any) -> Any:
        scaled = self._scaled(other, lambda values, number: values * number)
        return self._coo().__mul__(other).to_sparse_csr() if scaled is NotImplemented else scaled

    mul: Any = __mul__
    __rmul__: Any = __mul__

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return self.to_dense() + other
        return (self._coo() + other._coo()).to_sparse_csr()

    add: Any = __add__

    def __radd__(self, other: Any) -> Any:
        return other + self.to_dense()

    def t(self) -> Any:
        """With its dimensions swapped."""
        return self._coo().t().to_sparse_csr()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return _text(
            self, {"crow_indices": self._crow, "col_indices": self._column, "values": self._stored}, sparse_csr
        )


def _text(sparse: SparseTensor, parts: dict[str, Tensor], layout: object) -> str:
    """What is stored, one part below the other, and then what else torch says of a sparse tensor."""
    lines = []
    for name, part in parts.items():
        head = f"{name}=tensor("
        size = "" if part.numel() else f", size={tuple(part.shape)}"
        lines.append(f"{head}{_tensor_str(part.detach(), 7 + len(head))}{size})")
    more = [f"device='{sparse.device}'"] if sparse.device.type != "cpu" else []
    more += [f"size={tuple(sparse.shape)}", f"nnz={sparse._nnz()}"]
    default = get_default_dtype()
    if sparse.dtype not in (default, int64, _bool, complex128 if default == float64 else complex64):
        more.append(f"dtype={sparse.dtype}")
    more.append(f"layout={layout}")
    if sparse.requires_grad and sparse.is_leaf:
        more.append("requires_grad=True")
    return _add_suffixes("tensor(" + ",\n       ".join(lines), more, 7, force_newline=layout is sparse_coo)


def at_places(tensor: Tensor, mask: Tensor) -> Any:
    """The elements of a tensor at the places of a sparse one."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask(): expected mask to be sparse; call .to_sparse() on it")
    if tensor.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(tensor.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    whole = mask._coo()
    return mask._with(tensor.to_dense()[tuple(whole._places.unbind(0))])


def from_dense(dense: Tensor, sparse_dim: int | None = None) -> SparseCooTensor:
    """The elements of a dense tensor that are not zero, with their places."""
    dims = dense.dim() if sparse_dim is None else sparse_dim
    marked = dense.detach() != 0
    if dims < dense.dim():
        marked = marked.reshape([*dense.shape[:dims], -1]).any(-1)
    places = marked.nonzero(as_tuple=True)
    index = stack(list(places), 0) if places else zeros([0, 1], dtype=int64)
    return SparseCooTensor.make(index, dense[places], dense.shape, True)


_KEPT = {"dim", "ndim", "size", "shape", "dtype", "device", "numel", "nelement", "element_size", "is_complex", "type"}
_KEPT |= {"is_cuda", "is_meta", "is_mps", "is_quantized", "is_sparse", "is_sparse_csr", "is_signed", "retain_grad"}
_KEPT |= {"float", "double", "half", "bfloat16", "int", "long", "short", "bool", "type_as", "get_device", "_seal"}
_CASTS = ("float", "double", "half", "bfloat16", "int", "long", "short", "bool")
# Views that are attributes.
_VIEWS = ("H", "T", "imag", "mH", "mT", "real")
_PLAIN = {"__class__", "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__dir__", "__doc__"}
_PLAIN |= {"__init_subclass__", "__subclasshook__", "__sizeof__", "__str__", "__format__", "__reduce__", "__len__"}
_PLAIN |= {"__torch_function__", "_make_subclass"}
_PLAIN |= {"__dict__", "__module__", "__weakref__", "__slots__", "__getstate__", "__array_priority__", "__hash__"}


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: SparseTensor, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name} is not there for sparse tensors; call .to_dense() first.")

    refuse.__name__ = name
    refuse.__doc__ = "Refused: not there for sparse tensors."
    return refuse


def _casting(name: str) -> Callable[..., Any]:
    def cast(self: SparseTensor, memory_format: Any = None) -> Any:
        return self._with(getattr(self._stored, name)())

    cast.__name__ = name
    cast.__doc__ = f"As `Tensor.{name}`, of the values."
    return cast


# What would compute with the shell's NaN is refused instead.
for _name in dir(Tensor):
    _known = any(_name in vars(kind) for kind in (SparseTensor, SparseCooTensor, SparseCsrTensor))
    if _name in _CASTS:
        setattr(SparseTensor, _name, _casting(_name))
    elif not _known and _name in _VIEWS:
        setattr(SparseTensor, _name, property(_refusing(_name)))
    elif not _known and _name not in _KEPT | _PLAIN and callable(getattr(Tensor, _name)):
        setattr(SparseTensor, _name, _refusing(_name))


def size_of(places: Tensor, values: Tensor) -> Size:
    """The smallest size that holds the places."""
    lengths = (places.amax(1) + 1).tolist() if places.shape[1] else [0] * int(places.shape[0])
    return Size((*lengths, *values.shape[1:]))
