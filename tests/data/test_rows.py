"""Rows that are taken at once against the same rows stacked one by one."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
from pyburn.data import DataLoader, Dataset, Subset, TensorDataset, default_collate
from pyburn.data.rows import rows_at_once


class _OneByOne(Dataset[Any]):
    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[index]

    def __len__(self) -> int:
        return len(self.dataset)


def _tensors(count: int) -> list[pyburn.Tensor]:
    numbers = pyburn.arange(count * 6).reshape(count, 2, 3)
    made = [numbers.to(dtype) for dtype in (pyburn.float32, pyburn.int64, pyburn.bfloat16, pyburn.complex64)]
    return [*made, numbers % 2 == 0, pyburn.arange(count), numbers.transpose(1, 2), pyburn.zeros(count, 0)]


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_single_rows(workers: int) -> None:
    whole = TensorDataset(*_tensors(11))
    for dataset in (whole, Subset(whole, [3, 1, 1, -1, 8]), Subset(Subset(whole, range(1, 9)), [7, 0, 2])):
        for shuffle in (False, True):
            pyburn.manual_seed(4)
            found = list(DataLoader(dataset, 4, shuffle=shuffle, num_workers=workers))
            pyburn.manual_seed(4)
            wanted = list(DataLoader(_OneByOne(dataset), 4, shuffle=shuffle, num_workers=workers))
            assert len(found) == len(wanted)
            for ours, theirs in zip(found, wanted, strict=True):
                assert type(ours) is list
                for a, b in zip(ours, theirs, strict=True):
                    assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
                    assert pyburn.equal(a, b)


def test_a_batch_is_a_copy() -> None:
    rows = pyburn.zeros(4, 2)
    (batch,) = next(iter(DataLoader(TensorDataset(rows), 4)))
    batch += 1
    assert rows.sum() == 0


def test_gradients_reach_the_rows() -> None:
    rows = pyburn.ones(4, 2, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(rows), 3)))
    batch.sum().backward()
    assert rows.grad is not None and rows.grad.sum() == 6


def test_an_index_out_of_range_is_refused() -> None:
    with pytest.raises(IndexError, match="out of"):
        list(DataLoader(TensorDataset(pyburn.zeros(3)), batch_sampler=[[0, 3]]))


def test_somebodys_own_code_has_its_say() -> None:
    class Doubled(TensorDataset):
        def __getitem__(self, index: Any) -> tuple[pyburn.Tensor, ...]:
            return tuple(2 * each for each in super().__getitem__(index))

    assert rows_at_once(Doubled(pyburn.ones(2)), default_collate) is None
    assert rows_at_once(TensorDataset(pyburn.ones(2)), list) is None
    assert next(iter(DataLoader(Doubled(pyburn.ones(2)), 2)))[0].tolist() == [2, 2]
    one_use: Any = [iter([1, 0])]
    assert next(iter(DataLoader(TensorDataset(pyburn.arange(2)), batch_sampler=one_use)))[0].tolist() == [1, 0]
