"""torch.storage: the memory under tensors."""

from pyburn._storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
