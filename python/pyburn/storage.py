"""torch.storage: the memory under tensors."""

from pyburn._storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage", "_TypedStorage", "_UntypedStorage"]

# The names of torch 1.12 and 1.13.
_TypedStorage = TypedStorage
_UntypedStorage = UntypedStorage
