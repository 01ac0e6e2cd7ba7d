"""torch.utils.data.dataloader: the loader under torch's module name."""

from typing import Any

from pyburn._absent import absent_class
from pyburn.data.collate import default_collate, default_convert
from pyburn.data.dataset import Dataset, IterableDataset
from pyburn.data.loader import DataLoader, get_worker_info
from pyburn.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

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


class _DatasetKind:
    """The two kinds of datasets, by number."""

    Map = 0
    Iterable = 1


_WHY = ("pyburn's loader works in threads of its own", "iterate over the DataLoader")
_BaseDataLoaderIter: Any = absent_class("utils.data.dataloader._BaseDataLoaderIter", *_WHY)
_MultiProcessingDataLoaderIter: Any = absent_class("utils.data.dataloader._MultiProcessingDataLoaderIter", *_WHY)
_SingleProcessDataLoaderIter: Any = absent_class("utils.data.dataloader._SingleProcessDataLoaderIter", *_WHY)
_InfiniteConstantSampler: Any = absent_class("utils.data.dataloader._InfiniteConstantSampler", *_WHY)
