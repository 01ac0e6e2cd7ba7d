"""Datasets made of datasets: parts, orders, windows and mapped samples, as in burn-dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pyburn._core import Generator
from pyburn.data.dataset import ConcatDataset, Dataset
from pyburn.ops import randint, randperm

__all__ = [
    "ComposedDataset",
    "MapperDataset",
    "PartialDataset",
    "SamplerDataset",
    "SelectionDataset",
    "ShuffledDataset",
    "WindowsDataset",
]

T_co = TypeVar("T_co", covariant=True)


class ComposedDataset(ConcatDataset):
    """Several datasets one after another; torch calls it `ConcatDataset`.

    Args:
        datasets: The datasets.

    Example:
        >>> list(ComposedDataset([[1, 2], [3]]))
        [1, 2, 3]
    """


class MapperDataset(Dataset[T_co]):
    """Each sample of a dataset, after a function of yours.

    Args:
        dataset: The dataset.
        mapper: From a sample to a sample; called whenever one is asked for.

    Example:
        >>> MapperDataset([1, 2, 3], lambda x: x * 10)[2]
        30
    """

    def __init__(self, dataset: Any, mapper: Callable[[Any], T_co]) -> None:
        self.dataset, self.mapper = dataset, mapper

    def __getitem__(self, index: Any) -> T_co:
        """The mapped sample at `index`."""
        return self.mapper(self.dataset[index])

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.dataset)


class SelectionDataset(Dataset[Any]):
    """Samples of a dataset at some places, in their order; torch calls it `Subset`.

    Args:
        dataset: The dataset.
        indices: The places.

    Raises:
        IndexError: A place is beyond the dataset.

    Example:
        >>> list(SelectionDataset("abcd", [3, 0]))
        ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, list(indices)
        length = len(dataset)
        for index in self.indices:
            if not 0 <= index < length:
                raise IndexError(f"{type(self).__name__}: place {index} is beyond the dataset's {length} samples.")

    def __getitem__(self, index: int) -> Any:
        """The sample at the `index`-th place."""
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        """How many places there are."""
        return len(self.indices)


class ShuffledDataset(SelectionDataset):
    """A dataset in a random order that stays as it is.

    Args:
        dataset: The dataset.
        generator: Where the order comes from; the global generator when left out.

    Example:
        >>> sorted(ShuffledDataset([3, 1, 2]))
        [1, 2, 3]
    """

    def __init__(self, dataset: Any, generator: Generator | None = None) -> None:
        super().__init__(dataset, randperm(len(dataset), generator=generator).tolist())


class PartialDataset(SelectionDataset):
    """The samples of a dataset from one place to before another.

    Args:
        dataset: The dataset.
        start: The first place.
        end: Behind the last place; the dataset's end when left out or beyond it.

    Raises:
        ValueError: `start` is negative or behind `end`.

    Example:
        >>> list(PartialDataset("abcde", 1, 3))
        ['b', 'c']
        >>> [list(part) for part in PartialDataset.split("abcde", 2)]
        [['a', 'b'], ['c', 'd', 'e']]
    """

    def __init__(self, dataset: Any, start: int, end: int | None = None) -> None:
        length = len(dataset)
        stop = length if end is None else min(end, length)
        if not 0 <= start <= stop:
            raise ValueError(f"PartialDataset: from {start} to {stop} is no part of {length} samples.")
        super().__init__(dataset, range(start, stop))

    @classmethod
    def split(cls, dataset: Any, num: int) -> list[PartialDataset]:
        """`num` parts one after another, of the same length but for the last, which has what is left over."""
        if num < 1:
            raise ValueError(f"PartialDataset.split: {num} parts cannot be made.")
        size = len(dataset) // num
        return [cls(dataset, size * i, None if i == num - 1 else size * (i + 1)) for i in range(num)]


class SamplerDataset(SelectionDataset):
    """Samples drawn at random from a dataset, as many as an epoch should have.

    Args:
        dataset: The dataset.
        size: How many are drawn.
        replacement: Whether a sample may be drawn twice; without, the whole dataset is gone through before any sample
            comes again.
        generator: Where the draws come from; the global generator when left out.

    Raises:
        ValueError: Samples are to be drawn from an empty dataset.

    Example:
        >>> len(SamplerDataset([1, 2, 3], 10))
        10
        >>> sorted(SamplerDataset([1, 2, 3], 3, replacement=False))
        [1, 2, 3]
    """

    def __init__(self, dataset: Any, size: int, replacement: bool = True, generator: Generator | None = None) -> None:
        length = len(dataset)
        if size < 0 or (size > 0 and length == 0):
            raise ValueError(f"SamplerDataset: {size} samples cannot be drawn from {length}.")
        if replacement:
            drawn = randint(length, (size,), generator=generator).tolist() if size else []
        else:
            rounds = -(-size // length) if length else 0
            drawn = [place for _ in range(rounds) for place in randperm(length, generator=generator).tolist()][:size]
        super().__init__(dataset, drawn)


class WindowsDataset(Dataset[list[Any]]):
    """Runs of consecutive samples, each one sample further than the one before.

    Args:
        dataset: The dataset.
        size: How many samples a run has.
        step: How much further the next run begins.

    Raises:
        ValueError: `size` or `step` is not positive.

    Example:
        >>> list(WindowsDataset([1, 2, 3, 4], 3))
        [[1, 2, 3], [2, 3, 4]]
    """

    def __init__(self, dataset: Any, size: int, step: int = 1) -> None:
        if size < 1 or step < 1:
            raise ValueError(f"WindowsDataset: size {size} and step {step} must be positive.")
        self.dataset, self.size, self.step = dataset, size, step

    def __getitem__(self, index: int) -> list[Any]:
        """The run at `index`."""
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"WindowsDataset: window {index} of {len(self)}")
        return [self.dataset[place * self.step + i] for i in range(self.size)]

    def __len__(self) -> int:
        """How many runs there are."""
        return max(0, (len(self.dataset) - self.size) // self.step + 1)
