"""torch.utils.data: datasets, the order of their samples, and batches of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyburn.data.collate import default_collate, default_convert
from pyburn.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from pyburn.data.distributed import DistributedSampler
from pyburn.data.download import check_integrity, download_url
from pyburn.data.loader import DataLoader, get_worker_info
from pyburn.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from pyburn.data.wrapper import (
    ComposedDataset,
    MapperDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    ShuffledDataset,
    WindowsDataset,
)

if TYPE_CHECKING:
    from pyburn.data.sqlite import SqliteDataset as SqliteDataset
    from pyburn.data.sqlite import SqliteDatasetWriter as SqliteDatasetWriter
    from pyburn.data.table import (
        CSVDataset as CSVDataset,
    )
    from pyburn.data.table import (
        DataframeDataset as DataframeDataset,
    )
    from pyburn.data.table import (
        HuggingFaceDataset as HuggingFaceDataset,
    )
    from pyburn.data.table import (
        InMemDataset as InMemDataset,
    )
    from pyburn.data.table import (
        JSONLinesDataset as JSONLinesDataset,
    )
    from pyburn.data.table import (
        TableDataset as TableDataset,
    )

_LAZY = {
    **dict.fromkeys(("SqliteDataset", "SqliteDatasetWriter"), "sqlite"),
    **dict.fromkeys(
        ("CSVDataset", "DataframeDataset", "HuggingFaceDataset", "InMemDataset", "JSONLinesDataset", "TableDataset"),
        "table",
    ),
}


def __getattr__(name: str) -> Any:
    # Tables and databases are for few programs: they are loaded when first named.
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)


__all__ = [
    "BatchSampler",
    "CSVDataset",
    "ChainDataset",
    "ComposedDataset",
    "ConcatDataset",
    "DataLoader",
    "DataframeDataset",
    "Dataset",
    "DistributedSampler",
    "HuggingFaceDataset",
    "InMemDataset",
    "IterableDataset",
    "JSONLinesDataset",
    "MapperDataset",
    "PartialDataset",
    "RandomSampler",
    "Sampler",
    "SamplerDataset",
    "SelectionDataset",
    "SequentialSampler",
    "ShuffledDataset",
    "SqliteDataset",
    "SqliteDatasetWriter",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TableDataset",
    "TensorDataset",
    "WeightedRandomSampler",
    "WindowsDataset",
    "check_integrity",
    "default_collate",
    "default_convert",
    "download_url",
    "get_worker_info",
    "random_split",
]
