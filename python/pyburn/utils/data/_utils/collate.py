"""torch.utils.data._utils.collate: how a list of samples becomes a batch."""

from pyburn.data.collate import default_collate, default_convert

__all__ = [
    "default_collate",
    "default_convert",
]
