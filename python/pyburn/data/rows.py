"""Batches of a TensorDataset taken at once: what stacking its rows one by one gives, for a tenth of the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.data.collate import default_collate, default_collate_fn_map
from pyburn.data.dataset import Subset, TensorDataset
from pyburn.ops import index_select, tensor

__all__ = ["rows_at_once"]


def rows_at_once(dataset: Any, collate: Callable[[Any], Any]) -> Callable[[list[Any]], list[Tensor] | None] | None:
    """A function from indices to the batch that `collate` would make of these samples.

    The function gives None where the samples must be asked for one by one after all. There is no function where
    somebody's own code has a say: a subclass, another `collate`, rows that are no plain tensors.
    """
    subsets = []
    while type(dataset) is Subset:
        subsets.append(dataset)
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or collate is not default_collate:
        return None

    def rows(indices: list[Any]) -> list[Tensor] | None:
        tensors = dataset.tensors
        if type(indices) is not list or default_collate_fn_map or not all(map(_is_plain, tensors)):
            return None
        for subset in subsets:
            indices = [subset.indices[i] for i in indices]
        count = len(dataset)
        if not all(type(i) is int and 0 <= i < count for i in indices):
            return None
        places = tensor(indices, dtype=int64)
        return [index_select(each, 0, places) for each in tensors]

    return rows


def _is_plain(rows: Any) -> bool:
    plain = type(rows) is Tensor and rows.is_cpu and not rows.requires_grad and not rows.is_sparse
    return plain and rows.is_contiguous()
