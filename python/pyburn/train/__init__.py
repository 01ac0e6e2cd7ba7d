"""Training that people enjoy: the Learner, its events, metrics, checkpoints, run folders and renderers."""

from pyburn.train import metrics
from pyburn.train.callbacks import EMA, EarlyStopping, TensorBoard
from pyburn.train.checkpoints import Checkpoints, Keep, KeepAll, KeepBest, KeepLast
from pyburn.train.config import Config
from pyburn.train.events import EVENTS, Callback, Events, SkipBatch, StopEpoch, StopFit
from pyburn.train.fitting import Trainable, TrainConfig, train_model
from pyburn.train.folder import RunFolder
from pyburn.train.learner import Learner, epochs
from pyburn.train.nonfinite import NonFiniteLoss
from pyburn.train.renderers import PlainRenderer, default_renderer
from pyburn.train.report import Report

__all__ = [
    "EMA",
    "EVENTS",
    "Callback",
    "Checkpoints",
    "Config",
    "EarlyStopping",
    "Events",
    "Keep",
    "KeepAll",
    "KeepBest",
    "KeepLast",
    "Learner",
    "NonFiniteLoss",
    "PlainRenderer",
    "Report",
    "RunFolder",
    "SkipBatch",
    "StopEpoch",
    "StopFit",
    "TensorBoard",
    "TrainConfig",
    "Trainable",
    "default_renderer",
    "epochs",
    "metrics",
    "train_model",
]
