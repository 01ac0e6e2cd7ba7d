"""`fit` on the Learner of `pyburn.train`: its epochs, events and interrupts drive Keras's callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyburn.keras.callbacks.base import CallbackList
from pyburn.keras.training.feeding import Batches, step_data
from pyburn.train import Learner, events
from pyburn.train.batches import move

__all__ = ["KerasLearner"]


class _Bridge(events.Callback):
    """Keras's moments, at the Learner's events."""

    def __init__(self, callbacks: CallbackList) -> None:
        self.callbacks = callbacks

    def before_fit(self, learner: Any) -> None:
        """Nothing; Keras's callbacks know that the run begins."""
        self.callbacks.on_train_begin()

    def before_epoch(self, learner: Any) -> None:
        """Nothing; Keras's callbacks know that an epoch begins."""
        learner.model.reset_metrics()
        learner.logs = {}
        self.callbacks.on_epoch_begin(learner.epoch - 1)

    def before_batch(self, learner: Any) -> None:
        """Nothing; Keras's callbacks know that a batch begins."""
        self.callbacks.on_train_batch_begin(learner.batches_done - 1)

    def after_batch(self, learner: Any) -> None:
        """Nothing; Keras's callbacks know the numbers so far."""
        self.callbacks.on_train_batch_end(learner.batches_done - 1, learner.logs)
        if learner.model.stop_training:
            raise events.StopEpoch

    def after_epoch(self, learner: Any) -> None:
        """Nothing; Keras's callbacks know the numbers of the epoch."""
        # What callbacks add, such as the rate, is for those after them: the numbers of the run stay as they are.
        self.callbacks.on_epoch_end(learner.epoch - 1, dict(learner.logs))
        learner.train_data.epoch_ends()
        if learner.model.stop_training:
            learner.stop("stop_training was set")


class KerasLearner(Learner):
    """A Learner whose batches are the model's own `train_step`, and whose validation is its `evaluate`."""

    def __init__(self, model: Any, callbacks: CallbackList, others: list[Any], validation: Any) -> None:
        super().__init__(
            model, None, model.optimizer, folder=False, renderer=None, checkpoints=None, callbacks=[*others]
        )
        self.events.add(_Bridge(callbacks))
        self.callbacks, self.validation = callbacks, validation
        self.metrics = []
        self.logs: dict[str, Any] = {}

    def train_batch(self, data: Any) -> None:
        """Nothing; the model has taken one step, and `logs` has its numbers."""
        self.data = move(data, self.device)
        self.events.fire("before_batch", self)
        self.logs = numbers(self.model.train_step(step_data(self.data)))
        self.step += 1
        self.events.fire("after_step", self)
        self.events.fire("after_batch", self)

    def train_epoch(self) -> None:
        """Nothing; the model has trained once over the data."""
        super().train_epoch()
        if self.batches_done == 0:
            raise ValueError(
                "fit: there is no data left for this epoch; a generator must give steps_per_epoch * epochs batches"
            )

    def validate(self) -> dict[str, Any]:
        """The numbers of the validation data, where this epoch has any."""
        if self.validation is None or not self.validation.due(self.epoch):
            return {}
        self.events.fire("before_validate", self)
        found: dict[str, Any] = self.validation.run(self.callbacks)
        self.events.fire("after_validate", self)
        logs = {**self.logs, **{f"val_{name}": value for name, value in found.items()}}
        self.logs = dict(sorted(logs.items()))
        return found


class Validation:
    """The data to validate on, and in which epochs."""

    def __init__(self, model: Any, batches: Batches, frequency: Any) -> None:
        self.model, self.batches, self.frequency = model, batches, frequency

    def due(self, epoch: int) -> bool:
        """Whether this epoch (from 1) is followed by validation."""
        return (
            epoch in self.frequency if isinstance(self.frequency, (list, tuple, set)) else epoch % self.frequency == 0
        )

    def run(self, callbacks: CallbackList) -> dict[str, Any]:
        """The numbers of the validation data; the metrics of training are reset."""
        found: dict[str, Any] = self.model._evaluate(self.batches, callbacks)
        return found


def numbers(logs: Any) -> dict[str, Any]:
    """Logs as plain numbers in the order of their names."""
    made: dict[str, Any] = {}
    for name in sorted(logs or {}):
        value = logs[name]
        if isinstance(value, Mapping):
            made |= numbers(value)
        else:
            made[name] = value.tolist() if hasattr(value, "tolist") else value
    return made
