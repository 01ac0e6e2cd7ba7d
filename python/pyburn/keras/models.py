"""Models: Sequential, functional and subclassed."""

from __future__ import annotations

from pyburn.keras.cloning import clone_model
from pyburn.keras.model import Functional, Model, model_from_json
from pyburn.keras.saving import load_model, save_model
from pyburn.keras.sequential import Sequential

__all__ = ["Functional", "Model", "Sequential", "clone_model", "load_model", "model_from_json", "save_model"]
