"""`keras.preprocessing.sequence`."""

from pyburn.keras.utils import pad_sequences

__all__ = ["pad_sequences"]
