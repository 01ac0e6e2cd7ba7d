"""Where samples come from: collections that are indexed, and streams."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from pyburn._core import Generator, Tensor
from pyburn.ops import randperm

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Indexed(Protocol[T_co]):
    """Anything that gives a sample for an index: a dataset, a list, a tensor."""

    def __getitem__(self, index: Any, /) -> T_co:
        """The sample of this index."""


class Dataset(Generic[T_co]):
    """A collection of samples: a subclass gives `__getitem__` and, for most uses, `__len__`.

    Where a whole batch can be fetched at once, a subclass may give `__getitems__` too, which takes
    a list of indices and gives a list of samples.

    Example:
        >>> import pyburn
        >>> class Squares(pyburn.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> list(pyburn.data.DataLoader(Squares(), batch_size=2))
        [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any) -> T_co:
        """The sample at `index`."""
        raise NotImplementedError(
            f"Subclasses of Dataset should implement __getitem__; {type(self).__name__} does not."
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        """One dataset with the samples of both."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A stream of samples: a subclass gives `__iter__`.

    With several workers each of them iterates the dataset; `get_worker_info()` tells which one
    asks, so that each can give its part.

    Example:
        >>> import pyburn
        >>> class Countdown(pyburn.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> list(pyburn.data.DataLoader(Countdown(), batch_size=2))
        [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T_co]:
        """The samples, one after another."""
        raise NotImplementedError(f"{type(self).__name__}: an IterableDataset must define __iter__().")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        """One stream with the samples of both."""
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors that have the same first size.

    Args:
        *tensors: The tensors.

    Example:
        >>> import pyburn
        >>> pyburn.data.TensorDataset(pyburn.tensor([1, 2]), pyburn.tensor([3, 4]))[1]
        (tensor(2), tensor(4))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """The row at `index` of each tensor."""
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side: tuples, or dicts when given by name.

    Args:
        *args: Datasets of the same length.
        **kwargs: Datasets of the same length by name, instead.

    Example:
        >>> import pyburn
        >>> pyburn.data.StackDataset(image=[10, 20], label=[1, 2])[0]
        {'image': 10, 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give datasets either by position or by name, at least one.")
        self.datasets = args if args else kwargs
        lengths = {len(dataset) for dataset in (args or kwargs.values())}
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        """The sample at `index` of each dataset."""
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        """How many samples there are."""
        return self._length


class ConcatDataset(Dataset[Any]):
    """Several datasets one after another.

    Args:
        datasets: The datasets, none of them a stream.

    Example:
        >>> import pyburn
        >>> joined = pyburn.data.ConcatDataset([["a", "b"], ["c"]])
        >>> len(joined), joined[2], joined[-1]
        (3, 'c', 'c')
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        """How many samples there are in all."""
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        """The sample at `index`, counted over all datasets."""
        place = index + len(self) if index < 0 else index
        if place < 0:
            raise ValueError("absolute value of index should not exceed dataset length")
        which = bisect.bisect_right(self.cumulative_sizes, place)
        if which == len(self.datasets):
            raise IndexError(f"ConcatDataset: index {index} is out of range for {len(self)} samples.")
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Several streams one after another.

    Args:
        datasets: The streams.

    Example:
        >>> import pyburn
        >>> class Numbers(pyburn.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([1, 2])
        >>> list(Numbers() + Numbers())
        [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        """The samples of each stream."""
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        """How many samples there are, if every stream knows its length."""
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Args:
        dataset: The whole dataset.
        indices: Which of its samples, in which order.

    Example:
        >>> import pyburn
        >>> list(pyburn.data.Subset(["a", "b", "c"], [2, 0]))
        ['c', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co] | Indexed[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        """The sample at the `index`-th of the indices, or a list of them for a list."""
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at several places."""
        places = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            samples: list[Any] = self.dataset.__getitems__(places)
            return samples
        return [self.dataset[place] for place in places]

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.indices)


def random_split(
    dataset: Dataset[T] | Indexed[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Random parts of `dataset` that share no sample.

    Args:
        dataset: The whole dataset.
        lengths: How many samples each part has, or which fraction; fractions sum to 1.
        generator: Where the random order comes from.

    Raises:
        ValueError: The lengths do not sum to the dataset's, or a fraction is none.

    Example:
        >>> import pyburn
        >>> [len(part) for part in pyburn.data.random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    sizes = list(lengths)
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        sizes = _sizes_of_fractions(sizes, total)
    if sum(sizes) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(int(size) for size in sizes)
    return [Subset(dataset, order[end - int(size) : end]) for end, size in zip(ends, sizes, strict=True)]


def _sizes_of_fractions(fractions: Sequence[float], total: int) -> list[int | float]:
    """Whole sizes; what is left over after rounding down goes to the first parts."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    sizes: list[int | float] = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - int(sum(sizes))):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return sizes
