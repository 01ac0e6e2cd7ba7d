"""torch.utils.data: `pyburn.data` under torch's name."""

from typing import Any as _Any

from pyburn._absent import absent_class as _absent_class
from pyburn.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from pyburn.utils.data import _utils, dataloader, dataset, distributed, sampler

_WHY = ("torch has left its data pipes behind", "use Dataset or IterableDataset with DataLoader")
IterDataPipe: _Any = _absent_class("utils.data.IterDataPipe", *_WHY)
MapDataPipe: _Any = _absent_class("utils.data.MapDataPipe", *_WHY)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_utils",
    "dataloader",
    "dataset",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
    "sampler",
]
