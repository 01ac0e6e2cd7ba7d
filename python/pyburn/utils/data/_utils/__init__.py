"""torch.utils.data._utils, whose `collate` some projects import."""

from pyburn.utils.data._utils import collate

__all__ = [
    "collate",
]
