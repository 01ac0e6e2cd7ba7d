"""In which order the samples of a dataset are visited."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from pyburn._core import Generator, float64, int64
from pyburn.ops import as_tensor, empty, multinomial, randint, randperm

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """An order of indices: a subclass gives `__iter__` and, for most uses, `__len__`.

    Example:
        >>> import pyburn
        >>> class Backwards(pyburn.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> [batch.item() for batch in pyburn.data.DataLoader([1, 2], sampler=Backwards([1, 2]))]
        [2, 1]
    """

    def __init__(self, data_source: Sized | None = None) -> None:
        """Nothing; `data_source` is what old samplers hand to their base class."""

    def __iter__(self) -> Iterator[T_co]:
        """The indices in order."""
        raise NotImplementedError(f"{type(self).__name__}: a Sampler must define __iter__().")


class SequentialSampler(Sampler[int]):
    """The indices from 0 on.

    Example:
        >>> import pyburn
        >>> list(pyburn.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        """The indices in order."""
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        """How many indices there are."""
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order, or drawn at random.

    Args:
        data_source: The dataset.
        replacement: Whether an index may come again.
        num_samples: How many indices; the dataset's length when left out.
        generator: Where the random numbers come from; seeded anew from the global one when left out.

    Example:
        >>> import pyburn
        >>> sorted(pyburn.data.RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        count = self.num_samples
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={count}")

    @property
    def num_samples(self) -> int:
        """How many indices there are; the dataset may grow meanwhile."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        """The indices; the random numbers are drawn when the first one is asked for."""
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(int(empty((), dtype=int64).random_().item()))
        size, count = len(self.data_source), self.num_samples
        if self.replacement:
            # 32 at a time, as torch draws them.
            for start in range(0, count, 32):
                shape = (min(32, count - start),)
                yield from randint(0, size, shape, dtype=int64, generator=generator).tolist()
        else:
            for _ in range(count // size if size else 0):
                yield from randperm(size, generator=generator).tolist()
            yield from randperm(size, generator=generator).tolist()[: count % size if size else 0]

    def __len__(self) -> int:
        """How many indices there are."""
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Args:
        indices: The indices.
        generator: Where the random order comes from.

    Example:
        >>> import pyburn
        >>> sorted(pyburn.data.SubsetRandomSampler([5, 7]))
        [5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        """The indices in random order."""
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        """How many indices there are."""
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Args:
        weights: The weight of each index; they need not sum to 1.
        num_samples: How many are drawn.
        replacement: Whether an index may come again.
        generator: Where the random numbers come from.

    Example:
        >>> import pyburn
        >>> list(pyburn.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {list(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        """The drawn indices."""
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        """How many are drawn."""
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler.

    Args:
        sampler: The order of the indices.
        batch_size: How many are in a list.
        drop_last: Whether a last list that is shorter is left out.

    Example:
        >>> import pyburn
        >>> list(pyburn.data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        """The lists in order."""
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        """How many lists there are."""
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
