"""What dense tensors do with sparse ones: methods of Tensor that take a sparse operand, from the first one on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.sparse.tensor import SparseCooTensor, SparseTensor


def _sum(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return self.add(other.to_dense(), alpha=alpha)


def _sum_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return self.add_(other.to_dense(), alpha=alpha)


def _difference(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return self.sub(other.to_dense(), alpha=alpha)


def _difference_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return self.sub_(other.to_dense(), alpha=alpha)


def _product(self: Tensor, other: Any) -> Any:
    return other * self


def _matrix_product(self: Tensor, other: Any) -> Any:
    return other.__rmatmul__(self)


def _added_product(self: Tensor, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return beta * self + alpha * (mat1 @ mat2)


_ANSWERS: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "add_": _sum_,
    "addmm": _added_product,
    "matmul": _matrix_product,
    "mm": _matrix_product,
    "mul": _product,
    "sub": _difference,
    "sub_": _difference_,
}


def _accepting(method: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def accept(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], SparseTensor):
            return answer(self, *args, **kwargs)
        return method(self, *args, **kwargs)

    return accept


def install() -> None:
    """Teaches dense tensors the operations above; before this module is loaded there is no sparse tensor."""
    for name, answer in _ANSWERS.items():
        setattr(Tensor, name, _accepting(getattr(Tensor, name), answer))


def join(tensors: Sequence[Any], dim: int) -> Any:
    """Sparse tensors one after the other along `dim`.

    Raises:
        RuntimeError: One of them is dense, or the sizes differ elsewhere.
    """
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, SparseCooTensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    first = tensors[0]
    axis = dim % first.dim()
    for place, tensor in enumerate(tensors):
        apart = [(a, b) for d, (a, b) in enumerate(zip(first.shape, tensor.shape, strict=True)) if d != axis]
        if any(a != b for a, b in apart) or tensor.sparse_dim() != first.sparse_dim():
            raise RuntimeError(
                f"cat: sparse tensors must have one size outside of dimension {axis}, but tensor 0 has "
                f"{list(first.shape)} and tensor {place} {list(tensor.shape)}."
            )
    size = list(first.shape)
    size[axis] = sum(tensor.shape[axis] for tensor in tensors)
    return _placed(tensors, axis, size) if axis < first.sparse_dim() else _padded(tensors, axis, size)


def _placed(tensors: Sequence[Any], axis: int, size: Sequence[int]) -> SparseCooTensor:
    """Joined along a dimension with places: each tensor's places move on by the sizes before it."""
    places, before = [], 0
    for tensor in tensors:
        moved = tensor._indices().clone()
        moved[axis] += before
        places.append(moved)
        before += tensor.shape[axis]
    return SparseCooTensor.make(cat(places, 1), cat([tensor._values() for tensor in tensors], 0), size)


def _padded(tensors: Sequence[Any], axis: int, size: Sequence[int]) -> SparseCooTensor:
    """Joined along a dimension of the values: each tensor's values stand among zeros."""
    inner, before, values = axis - tensors[0].sparse_dim() + 1, 0, []
    for tensor in tensors:
        held = tensor._values()
        around = [list(held.shape), list(held.shape)]
        around[0][inner], around[1][inner] = before, size[axis] - before - held.shape[inner]
        values.append(cat([held.new_zeros(around[0]), held, held.new_zeros(around[1])], inner))
        before += held.shape[inner]
    return SparseCooTensor.make(cat([tensor._indices() for tensor in tensors], 1), cat(values, 0), size)
