"""Rows of a table whose gradient is sparse."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import Function, no_grad
from pyburn.sparse.tensor import SparseCooTensor


class _Lookup(Function):
    """Rows of a leaf; backward adds a sparse tensor to its `.grad`, which no other node ever sees."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding: int | None) -> Tensor:
        ctx.weight, ctx.indices, ctx.padding = weight, indices, padding
        return weight.detach()._embedding(indices, padding, False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        weight, places = ctx.weight, ctx.indices.reshape(-1)
        values = grad.detach().reshape([-1, weight.shape[1]])
        if ctx.padding is not None:
            kept = (places != ctx.padding).nonzero().reshape(-1)
            places, values = places.index_select(0, kept), values.index_select(0, kept)
        made = SparseCooTensor.make(places.long().unsqueeze(0), values, weight.shape)
        with no_grad():
            before = weight.grad
            if before is not None:
                made = before + made
            weight.grad = made
        return None, None, None


def lookup(indices: Tensor, weight: Tensor, padding: int | None) -> Tensor:
    """The rows of `weight`, a leaf, that `indices` name; `backward()` gives it a sparse gradient."""
    result: Tensor = _Lookup.apply(weight, indices, padding)
    return result
