"""torch.utils.data.dataloader: the loader under torch's module name."""

from collections.abc import Callable
from typing import Any, Self, TypeAlias

from pyburn._absent import absent_class
from pyburn._core import int64
from pyburn.data.collate import default_collate, default_convert
from pyburn.data.dataset import Dataset, IterableDataset
from pyburn.data.loader import DataLoader, get_worker_info
from pyburn.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from pyburn.ops import empty
from pyburn.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]

_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]


class _DatasetKind:
    """The two kinds of datasets, by number."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """What makes batches of indices for a dataset of that kind."""
        made = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return made(dataset, auto_collation, collate_fn, drop_last)


class _BaseDataLoaderIter:
    """One epoch over what looks like a loader; libraries with loaders of their own make these of theirs."""

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
        self._num_yielded = 0

    def __iter__(self) -> Self:
        return self

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """The batches of one epoch, each made when it is asked for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_SingleProcessDataLoaderIter):
    """The same batches in the same order, without other processes: pyburn's own loader has threads for that."""


_WHY = ("pyburn's loader works in threads of its own", "iterate over the DataLoader")
_InfiniteConstantSampler: Any = absent_class("utils.data.dataloader._InfiniteConstantSampler", *_WHY)
