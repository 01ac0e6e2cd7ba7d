"""A function of single samples made one of batches, by a loop over the batch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd.engine import repeated
from pyburn.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


def _spread(dims: Any, spec: TreeSpec, name: str) -> list[Any]:
    """One entry of `dims` for each leaf: a number counts for all leaves below it."""
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    if spec.is_leaf() or not isinstance(dims, tuple | list | dict):
        raise ValueError(f"vmap: {name} does not have the structure of what it is for: {dims}")
    parts = list(dims.values()) if isinstance(dims, dict) else list(dims)
    if len(parts) != len(spec.children_specs):
        raise ValueError(f"vmap: {name} has {len(parts)} entries where {len(spec.children_specs)} are needed.")
    return [entry for part, child in zip(parts, spec.children_specs) for entry in _spread(part, child, name)]


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = set()
    for leaf, dim in zip(leaves, dims):
        if dim is None:
            continue
        if not isinstance(leaf, Tensor):
            raise ValueError(f"vmap: in_dims names a dimension of a {type(leaf).__name__}, which has none; use None.")
        if leaf.dim() == 0 or not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"vmap: in_dims is {dim} for an input of {leaf.dim()} dimensions.")
        sizes.add(leaf.shape[dim])
    if not sizes:
        raise ValueError("vmap: at least one input must have a dimension to go over; all in_dims are None.")
    if len(sizes) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for "
            "the mapped dimension"
        )
    return int(sizes.pop())


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls `func` on each sample of a batch and stacks the results.

    Args:
        func: The function of one sample; arguments given by name are given whole to each call.
        in_dims: For each argument, or each leaf in it, the dimension to go over; None gives it whole to each call.
        out_dims: For each result, where the new dimension stands.
        randomness: Accepted; each call draws its own numbers, torch's "different".
        chunk_size: Accepted.

    Differs from torch:
        The function really runs once for each sample: right, and as slow as the loop that it is.

    Example:
        >>> import pyburn
        >>> pyburn.func.vmap(pyburn.dot)(pyburn.ones(3, 2), pyburn.arange(6.0).reshape(3, 2))
        tensor([1., 5., 9.])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        wanted = tuple(in_dims) if isinstance(in_dims, list) else in_dims
        dims = _spread(wanted, spec, "in_dims")
        size = _batch_size(leaves, dims)
        if size == 0:
            raise ValueError("vmap: the batch is empty, so that the function cannot be asked for its result's shape.")
        results = []
        for index in range(size):
            parts = [leaf if dim is None else leaf.select(dim, index) for leaf, dim in zip(leaves, dims)]
            with repeated() if index + 1 < size else contextlib.nullcontext():
                results.append(func(*tree_unflatten(parts, spec), **kwargs))
        return _stacked(results, out_dims)

    return wrapper


def _stacked(results: list[Any], out_dims: Any) -> Any:
    flat = [tree_flatten(result) for result in results]
    spec = flat[0][1]
    columns = []
    for number, dim in enumerate(_spread(out_dims, spec, "out_dims")):
        values = [leaves[number] for leaves, _ in flat]
        if not isinstance(values[0], Tensor):
            raise ValueError(f"vmap: the function must return tensors, but returned a {type(values[0]).__name__}.")
        columns.append(values[0] if dim is None else ops.stack(values, dim))
    return tree_unflatten(columns, spec)
