"""Datasets made of datasets."""

from __future__ import annotations

import pyburn
import pytest
import torch
from pyburn.data import (
    ComposedDataset,
    MapperDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    ShuffledDataset,
    WindowsDataset,
)


def test_mapped_composed_selected():
    assert list(MapperDataset(ComposedDataset([[1, 2], [3]]), str)) == ["1", "2", "3"]
    assert list(SelectionDataset("abc", [2, 2, 0])) == ["c", "c", "a"]
    with pytest.raises(IndexError, match="place 3"):
        SelectionDataset("abc", [3])


def test_shuffled_is_a_fixed_order_of_torchs():
    generator = pyburn.Generator().manual_seed(5)
    data = ShuffledDataset(range(10), generator)
    assert list(data) == list(data) == torch.randperm(10, generator=torch.Generator().manual_seed(5)).tolist()


def test_parts():
    assert list(PartialDataset(range(10), 3, 6)) == [3, 4, 5]
    assert list(PartialDataset(range(10), 8, 60)) == [8, 9]
    assert [len(part) for part in PartialDataset.split(range(10), 3)] == [3, 3, 4]
    for start, end in ((-1, 3), (5, 2), (11, None)):
        with pytest.raises(ValueError, match="no part"):
            PartialDataset(range(10), start, end)
    with pytest.raises(ValueError, match="0 parts"):
        PartialDataset.split(range(10), 0)


def test_drawn_samples():
    pyburn.manual_seed(0)
    drawn = list(SamplerDataset(range(5), 200))
    assert len(drawn) == 200 and set(drawn) == set(range(5)) and drawn[:5] != sorted(drawn[:5])
    rounds = list(SamplerDataset(range(5), 13, replacement=False))
    assert sorted(rounds[:5]) == sorted(rounds[5:10]) == list(range(5)) and len(set(rounds[10:])) == 3
    with pytest.raises(ValueError, match="from 0"):
        SamplerDataset([], 1)
    assert len(SamplerDataset([], 0)) == len(SamplerDataset([], 0, replacement=False)) == 0


def test_windows():
    assert list(WindowsDataset(range(5), 3)) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert list(WindowsDataset(range(7), 3, step=2)) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert len(WindowsDataset(range(2), 3)) == 0 and WindowsDataset(range(5), 3)[-1] == [2, 3, 4]
    with pytest.raises(IndexError):
        WindowsDataset(range(5), 3)[3]
    with pytest.raises(ValueError, match="positive"):
        WindowsDataset(range(5), 0)
