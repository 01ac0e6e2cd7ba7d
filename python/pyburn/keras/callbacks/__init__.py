"""Keras's callbacks."""

from __future__ import annotations

from pyburn.keras.callbacks.base import Callback, CallbackList, History
from pyburn.keras.callbacks.progress import ProgbarLogger

__all__ = ["Callback", "CallbackList", "History", "ProgbarLogger"]
