"""Models in files: ours, and those that real Keras wrote. Nothing that is read is ever executed."""

from __future__ import annotations

from pyburn.keras.saving.files import load_model, load_weights, save_model, save_weights

__all__ = ["load_model", "load_weights", "save_model", "save_weights"]
