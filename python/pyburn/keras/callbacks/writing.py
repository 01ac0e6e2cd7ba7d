"""Callbacks that write down, change the rate, or call your functions."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from typing import Any

from pyburn._files import replacing
from pyburn.autograd import no_grad
from pyburn.keras.callbacks.base import Callback, Logs
from pyburn.utils.tensorboard import SummaryWriter

__all__ = ["BackupAndRestore", "CSVLogger", "LambdaCallback", "LearningRateScheduler", "SwapEMAWeights", "TensorBoard"]


class LambdaCallback(Callback):
    """Functions as a callback.

    Args:
        on_epoch_begin: A function of (epoch, logs).
        on_epoch_end: A function of (epoch, logs).
        on_train_begin: A function of (logs).
        on_train_end: A function of (logs).
        on_train_batch_begin: A function of (batch, logs).
        on_train_batch_end: A function of (batch, logs).
        **kwargs: Further moments by name.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            **kwargs,
        }
        for name, function in given.items():
            if not hasattr(Callback, name):
                raise ValueError(f"LambdaCallback: there is no moment {name!r}")
            if function is not None:
                setattr(self, name, function)


class LearningRateScheduler(Callback):
    """Sets the learning rate at the beginning of each epoch.

    Args:
        schedule: A function of (epoch, rate), or of (epoch), that gives the new rate.
        verbose: 1 to say so.
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        rate = float(self.model.optimizer.learning_rate)
        try:
            new = self.schedule(epoch, rate)
        except TypeError:
            new = self.schedule(epoch)
        self.model.optimizer.learning_rate = float(new)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(new)}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class CSVLogger(Callback):
    """Writes the numbers of each epoch into a table.

    Args:
        filename: The file.
        separator: What stands between two numbers.
        append: Whether rows are added to a file that is there.
    """

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.separator, self.append = os.fspath(filename), separator, append
        self._file: Any = None
        self._writer: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        self._fresh = not (self.append and os.path.exists(self.filename) and os.path.getsize(self.filename))
        self._file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")  # noqa: SIM115
        self._writer = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self._writer is None:
            names = ["epoch", *sorted(logs or {})]
            self._writer = csv.DictWriter(
                self._file, names, delimiter=self.separator, extrasaction="ignore", restval="NA"
            )
            if self._fresh:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **(logs or {})})
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class TensorBoard(Callback):
    """Writes the numbers of each epoch as event files that TensorBoard reads, in `train/` and `validation/`.

    Args:
        log_dir: The folder.
        histogram_freq: Accepted for Keras's sake, as are the rest but `update_freq`.
        write_graph: Accepted for Keras's sake.
        write_images: Accepted for Keras's sake.
        write_steps_per_second: Accepted for Keras's sake.
        update_freq: "epoch", "batch", or a number of batches.
        profile_batch: Accepted for Keras's sake.
        embeddings_freq: Accepted for Keras's sake.
        embeddings_metadata: Accepted for Keras's sake.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: Any = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
    ) -> None:
        super().__init__()
        self.log_dir = os.fspath(log_dir)
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers: dict[str, SummaryWriter] = {}
        self._step = 0

    def _write(self, split: str, name: str, value: Any, step: int) -> None:
        if isinstance(value, (int, float)):
            if split not in self._writers:
                self._writers[split] = SummaryWriter(os.path.join(self.log_dir, split))
            self._writers[split].add_scalar(name, float(value), step)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._step += 1
        if self.update_freq != "epoch" and self._step % int(self.update_freq) == 0:
            for name, value in (logs or {}).items():
                self._write("train", f"batch_{name}", value, self._step)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        for name, value in (logs or {}).items():
            split = "validation" if name.startswith("val_") else "train"
            self._write(split, f"epoch_{name.removeprefix('val_')}", value, epoch)
        rate = getattr(self.model.optimizer, "learning_rate", None)
        self._write("train", "epoch_learning_rate", rate, epoch)
        for writer in self._writers.values():
            writer.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


class BackupAndRestore(Callback):
    """Keeps a backup of a run at the end of each epoch; `fit` after a crash goes on from it.

    Args:
        backup_dir: The folder of the backup.
        save_freq: "epoch"; a number of batches is taken as the epoch's end.
        double_checkpoint: Accepted for Keras's sake: a file is complete or as it was before.
        delete_checkpoint: Whether the backup goes when `fit` ends well.
    """

    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: Any = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        if not backup_dir:
            raise ValueError("BackupAndRestore: backup_dir is empty; give a folder")
        self.backup_dir, self.save_freq, self.delete_checkpoint = os.fspath(backup_dir), save_freq, delete_checkpoint

    @property
    def _model_path(self) -> str:
        return os.path.join(self.backup_dir, "latest.safetensors")

    @property
    def _epoch_path(self) -> str:
        return os.path.join(self.backup_dir, "training_metadata.json")

    def first_epoch(self, initial: int) -> int:
        """The epoch to begin with: after the one of the backup, whose weights and optimizer the model has then."""
        if not os.path.exists(self._epoch_path):
            return initial
        from pyburn.keras.saving.files import restore

        with open(self._epoch_path, encoding="utf-8") as file:
            done = int(json.load(file)["epoch"])
        restore(self.model, self._model_path)
        return max(initial, done)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        os.makedirs(self.backup_dir, exist_ok=True)
        self.model.save(self._model_path)
        with replacing(self._epoch_path) as file:
            file.write(json.dumps({"epoch": epoch + 1}).encode())

    def on_train_end(self, logs: Logs = None) -> None:
        if self.delete_checkpoint:
            for path in (self._epoch_path, self._model_path):
                if os.path.exists(path):
                    os.remove(path)
            if os.path.isdir(self.backup_dir) and not os.listdir(self.backup_dir):
                os.rmdir(self.backup_dir)


class SwapEMAWeights(Callback):
    """Has a model evaluated with the moving averages that an optimizer with `use_ema=True` keeps of its weights.

    Args:
        swap_on_epoch: Whether the averages also stand in the model when callbacks see the end of an epoch.
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._swapped = False

    def _swap(self) -> None:
        optimizer = self.model.optimizer
        if not getattr(optimizer, "use_ema", False):
            raise ValueError("SwapEMAWeights: the optimizer keeps no averages; give it use_ema=True")
        with no_grad():
            for weight, average in optimizer._averages.items():
                kept = weight.detach().clone()
                weight.copy_(average)
                average.copy_(kept)
        self._swapped = not self._swapped

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.swap_on_epoch and self._swapped:
            self._swap()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.swap_on_epoch and not self._swapped:
            self._swap()
            if epoch == self.params["epochs"] - 1:
                # `fit` puts the averages into the weights when it ends: they are there already.
                with no_grad():
                    for weight, average in self.model.optimizer._averages.items():
                        average.copy_(weight)

    def on_test_begin(self, logs: Any = None) -> None:
        if not self._swapped:
            self._swap()

    def on_test_end(self, logs: Any = None) -> None:
        if self._swapped:
            self._swap()

    def on_predict_begin(self, logs: Any = None) -> None:
        if not self._swapped:
            self._swap()

    def on_predict_end(self, logs: Any = None) -> None:
        if self._swapped:
            self._swap()
