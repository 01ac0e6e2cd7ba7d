"""Callbacks that watch a number: stop, lower the rate, keep the best."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from pyburn.keras.callbacks.base import Callback, Logs

__all__ = ["EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau", "TerminateOnNaN"]


class Monitor(Callback):
    """What watches a number and knows which way is better."""

    def __init__(self, monitor: str, mode: str) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"{type(self).__name__}: mode is {mode!r}, but must be auto, min or max")
        self.monitor, self.mode = monitor, mode

    def _rises(self) -> bool:
        """Whether a larger number is better."""
        if self.mode != "auto":
            return self.mode == "max"
        name = self.monitor.removeprefix("val_")
        return name.endswith(("acc", "accuracy", "auc", "precision", "recall", "f1_score", "iou", "r2_score")) or (
            "accuracy" in name or name.startswith("fmeasure")
        )

    def _value(self, logs: Logs) -> float | None:
        value = (logs or {}).get(self.monitor)
        if value is None:
            if logs and not self.monitor.startswith("val_"):
                known = ", ".join(logs)
                raise ValueError(f"{type(self).__name__}: an epoch has no {self.monitor!r}; it has {known}")
            return None
        return float(value)


class EarlyStopping(Monitor):
    """Ends training when a number has not become better for `patience` epochs.

    Args:
        monitor: The name of the number, such as "val_loss".
        min_delta: What counts as better.
        patience: How many epochs without a gain are borne.
        verbose: 1 to say so.
        mode: "min", "max", or "auto" to go by the name.
        baseline: What must be reached.
        restore_best_weights: Whether the model ends with the weights of its best epoch.
        start_from_epoch: The first epoch that is watched.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode)
        self.min_delta, self.patience, self.verbose, self.baseline = abs(min_delta), patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best = self.best_weights = None

    def _better(self, value: float, than: float) -> bool:
        return value - self.min_delta > than if self._rises() else value + self.min_delta < than

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        value = self._value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self.best is None or self._better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs = None) -> None:
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose:
                print(f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)


class ReduceLROnPlateau(Monitor):
    """Lowers the learning rate when a number has not become better for `patience` epochs.

    Args:
        monitor: The name of the number.
        factor: What the rate is multiplied by, less than 1.
        patience: How many epochs without a gain are borne.
        verbose: 1 to say so.
        mode: "min", "max", or "auto" to go by the name.
        min_delta: What counts as better.
        cooldown: How many epochs nothing is lowered after that.
        min_lr: The lowest rate.
        **kwargs: Nothing else is known.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(monitor, mode)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}, but must be less than 1")
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.min_delta, self.cooldown, self.min_lr = min_delta, cooldown, min_lr
        self.on_train_begin()

    def on_train_begin(self, logs: Logs = None) -> None:
        self.best = -math.inf if self._rises() else math.inf
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
        value = self._value(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        better = value > self.best + self.min_delta if self._rises() else value < self.best - self.min_delta
        if better:
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            old = float(self.model.optimizer.learning_rate)
            if self.wait >= self.patience and old > self.min_lr:
                new = max(old * self.factor, self.min_lr)
                self.model.optimizer.learning_rate = new
                if self.verbose:
                    print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {new}.")
                self.cooldown_counter, self.wait = self.cooldown, 0


class ModelCheckpoint(Monitor):
    """Saves the model, or its weights, at the end of epochs or after batches.

    Args:
        filepath: Where to; names in braces are filled in: "{epoch:02d}-{val_loss:.2f}.keras".
        monitor: The name of the number that decides what is best.
        verbose: 1 to say so.
        save_best_only: Whether only a better model is saved.
        save_weights_only: Whether only the weights are saved.
        mode: "min", "max", or "auto" to go by the name.
        save_freq: "epoch", or the number of batches between two files.
        initial_value_threshold: What must be surpassed first.
    """

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode)
        self.filepath, self.verbose = os.fspath(filepath), verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.best = initial_value_threshold
        self._batches = self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % int(self.save_freq) == 0:
            self._save(self._epoch, batch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self.save_freq == "epoch":
            self._save(epoch, None, logs)

    def _save(self, epoch: int, batch: int | None, logs: Logs) -> None:
        if self.save_best_only:
            value = self._value(logs)
            if value is None:
                return
            if self.best is not None and not (value > self.best if self._rises() else value < self.best):
                return
            self.best = value
        named = {"epoch": epoch + 1, "batch": (batch or 0) + 1, **(logs or {})}
        missing = [name for name in re.findall(r"{(\w+)", self.filepath) if name not in named]
        if missing:
            raise KeyError(f"ModelCheckpoint: the path {self.filepath} needs {missing}; an epoch has {sorted(named)}")
        path = self.filepath.format(**named)
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: saving model to {path}")


class TerminateOnNaN(Callback):
    """Ends training when the loss is no number any more."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
