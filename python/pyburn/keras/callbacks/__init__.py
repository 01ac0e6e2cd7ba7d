"""Keras's callbacks."""

from __future__ import annotations

from pyburn.keras.callbacks.base import Callback, CallbackList, History
from pyburn.keras.callbacks.progress import ProgbarLogger
from pyburn.keras.callbacks.stopping import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, TerminateOnNaN
from pyburn.keras.callbacks.writing import (
    BackupAndRestore,
    CSVLogger,
    LambdaCallback,
    LearningRateScheduler,
    SwapEMAWeights,
    TensorBoard,
)

__all__ = [
    "BackupAndRestore",
    "CSVLogger",
    "Callback",
    "CallbackList",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "ModelCheckpoint",
    "ProgbarLogger",
    "ReduceLROnPlateau",
    "SwapEMAWeights",
    "TensorBoard",
    "TerminateOnNaN",
]
