"""torch.utils.data.dataloader: the loader under torch's module name."""

from pyburn.data.collate import default_collate, default_convert
from pyburn.data.loader import DataLoader, get_worker_info

__all__ = [
    "DataLoader",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
