"""torch.utils.hooks: what registering a hook returns."""

from pyburn._tensor import RemovableHandle

__all__ = ["RemovableHandle"]
