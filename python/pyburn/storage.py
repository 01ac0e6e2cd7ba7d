"""torch.storage: the memory under tensors."""

from __future__ import annotations

import importlib
import io
from typing import Any

from pyburn._storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage", "_StorageBase", "_TypedStorage", "_UntypedStorage", "_load_from_bytes"]

# The names of torch 1.12 and 1.13.
_TypedStorage = TypedStorage
_UntypedStorage = UntypedStorage
_StorageBase = UntypedStorage


def _load_from_bytes(b: bytes) -> Any:
    """The storage in these bytes: what Python's pickle calls for a tensor that torch wrote."""
    return importlib.import_module("pyburn.serialization").load(io.BytesIO(b))
