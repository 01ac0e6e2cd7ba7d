"""torch.utils.dlpack: memory shared with other libraries."""

from pyburn.ops import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
