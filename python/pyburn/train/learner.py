"""The Learner: a model, a loss, an optimizer and data become a trained model."""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyburn import nn, serialization
from pyburn._core import Tensor, _set_grad_enabled, is_grad_enabled
from pyburn.autograd import no_grad
from pyburn.optim import Optimizer
from pyburn.optim.lr_scheduler import LRScheduler
from pyburn.train import batches, building, losses, randomness, state
from pyburn.train.checkpoints import Keep
from pyburn.train.config import as_config
from pyburn.train.events import Callback, Events, SkipBatch, StopEpoch, StopFit
from pyburn.train.folder import RunFolder, newest_in
from pyburn.train.gradients import Gradients
from pyburn.train.interrupt import Interrupts
from pyburn.train.logged import Logged
from pyburn.train.metrics import Batch, Loss, Metric
from pyburn.train.nonfinite import NonFiniteLoss, explain
from pyburn.train.renderers import default_renderer
from pyburn.train.schedule import Pace, Schedule

__all__ = ["Learner", "epochs"]

Data = Any


def epochs(learner: Learner) -> None:
    """The usual strategy: each epoch trains once over the data, then validates."""
    for _ in learner.epochs_left():
        learner.train_epoch()
        learner.validate()


class Learner:
    """Trains, evaluates and asks a model.

    Args:
        model: The module to train. Where it has `training_step(batch)` or `validation_step(batch)`, these give the loss
            (or a dictionary with "loss", and "output" and "target" for the metrics) and `loss` is not needed; what
            they `self.log(name, value)` stands in the epoch's line.
        loss: Any `loss(output, target)`, or a name such as "cross_entropy".
        optimizer: An optimizer, a function that makes one from the weights, or a name such as "adamw". Without it, what
            the model's own `configure_optimizers()` gives in one of Lightning's forms, else "adamw".
        lr_scheduler: A schedule, or a function that makes one from the optimizer.
        lr: The rate of an optimizer that is given by name.
        groups: Settings of its own for some weights, by the pattern of their names: ``{"backbone.*": {"lr": 1e-5}}``.
        metrics: Metrics, their names, or functions of (output, target).
        device: Where to train; without it, where the weights are.
        callbacks: What takes part in the run through the named events (`pyburn.train.EVENTS`).
        strategy: What an epoch is: a function of the learner that replaces `pyburn.train.epochs`.
        renderer: How the run is shown: a callback, or None for silence.
        dashboard: Show the run on the full screen of the terminal, with keys to pause and stop it (`pip install
            pyburn[dashboard]`); where there is no terminal, plain lines.
        accumulate: How many batches make one step of the optimizer.
        clip_norm: The largest norm of all gradients together.
        clip_value: The largest size of each number in a gradient.
        precision: "bfloat16" or "float16" for mixed precision.
        recompute: Patterns of the layers whose activations are computed again in the backward pass instead of kept.
        schedule_every: "step" or "epoch", or e.g. ("epoch", 2); without it, what the schedule is usually meant for.
        monitor: The number that decides what is best, by its name in an epoch's line, such as "valid_accuracy".
        checkpoints: Which checkpoints are kept; None keeps none.
        folder: The folder of the run; without it a new one under `runs/`, and False for no files at all.
        config: The settings that are written into the folder and shown: a `Config`, a dictionary, a dataclass, or what
            argparse gives.
        seed: The seed of pyburn's, Python's and numpy's random numbers that a fresh run starts from.

    Example:
        >>> import pyburn
        >>> x = pyburn.randn(64, 3)
        >>> learner = Learner(nn.Linear(3, 1), nn.MSELoss(), "sgd", lr=0.1, folder=False, renderer=None)
        >>> history = learner.fit((x, x.sum(1, keepdim=True)), epochs=20)
        >>> history[-1]["train_loss"] < 0.01
        True
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[..., Tensor] | str | None = None,
        optimizer: Optimizer | Callable[..., Optimizer] | str | None = None,
        lr_scheduler: LRScheduler | Callable[[Optimizer], LRScheduler] | None = None,
        *,
        lr: float | None = None,
        groups: Mapping[str, Mapping[str, Any]] | None = None,
        metrics: Iterable[Metric | str | Callable[..., Any]] = (),
        device: Any = None,
        callbacks: Iterable[Callback] = (),
        strategy: Callable[[Learner], None] = epochs,
        renderer: Callback | str | None = "auto",
        dashboard: bool = False,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: Any = None,
        recompute: Sequence[str] = (),
        schedule_every: Pace | None = None,
        monitor: str = "valid_loss",
        checkpoints: Keep | str | None = "auto",
        folder: str | os.PathLike[str] | bool | None = None,
        config: Any = None,
        seed: int | None = None,
    ) -> None:
        self.model, self.loss, self.seed, self.monitor = model, losses.named(loss), seed, monitor
        self.config = as_config(config)
        if device is not None:
            model.to(device)
        self.device = building.device_of(model)
        if optimizer is None and hasattr(model, "configure_optimizers"):
            optimizer, lr_scheduler, schedule_every, monitor = building.configured(
                model, lr_scheduler, schedule_every, monitor
            )
            self.monitor = monitor
        self.optimizer = building.optimizer(model, optimizer or "adamw", lr, groups or {})
        self.schedule = Schedule(building.scheduler(self.optimizer, lr_scheduler), schedule_every, monitor)
        self.gradients = Gradients(accumulate, clip_norm, clip_value, precision)
        self.strategy, self.recompute = strategy, tuple(recompute)
        self.metrics = building.metrics(metrics)
        for each in self.metrics:
            each.prepare(self.loss)
        self.trackers: dict[str, list[Metric]] = {}
        self.logged: dict[str, Logged] = {}
        self.events = Events()
        self.history: list[dict[str, Any]] = []
        self.epoch = self.finished = self.last_epoch = self.step = self.batches_done = 0
        self.training = False
        self.split = "train"
        self.data: Any = None
        self.batch: Batch | None = None
        self.train_data: Any = None
        self.valid_data: Any = None
        self.interrupts = Interrupts()
        self.stopped: str | None = None
        self.interrupted = False
        self._reason: str | None = None
        self._own_step: Callable[..., Any] | None = None
        self._twins: dict[str, list[Metric]] = {}
        self.start = self.skip = 0
        self.epoch_randomness: dict[str, Any] | None = None
        self.next_randomness: dict[str, Any] | None = None
        self.next_trackers: list[dict[str, Any]] | None = None
        self.next_logged: dict[str, Any] | None = None
        self._loaded: dict[str, Any] | None = None
        self.folder = None if folder is False else RunFolder(None if folder is True else folder)
        self.board = building.board() if dashboard else None
        renderer = self.board or renderer
        for callback in building.callbacks(self, callbacks, renderer, checkpoints, default_renderer):
            self.events.add(callback)

    def on(self, event: str, function: Callable[[Learner], object]) -> None:
        """Nothing; `function(learner)` is called at `event` from now on."""
        self.events.on(event, function)

    def stop(self, reason: str) -> None:
        """Nothing; the run ends after this epoch, when all callbacks and the checkpoint have seen it."""
        self._reason = reason

    def freeze(self, *patterns: str) -> None:
        """Nothing; the weights whose names match (`"backbone.*"`; without patterns all) do not train."""
        self._set_trainable(patterns, False)

    def unfreeze(self, *patterns: str) -> None:
        """Nothing; the weights whose names match (without patterns all) train."""
        self._set_trainable(patterns, True)

    def _set_trainable(self, patterns: tuple[str, ...], wanted: bool) -> None:
        for pattern in patterns or ("*",):
            found = [weight for name, weight in self.model.named_parameters() if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise ValueError(f"freeze: no weight of the model matches {pattern!r}; see model.named_parameters()")
            for weight in found:
                weight.requires_grad_(wanted)

    def fit(
        self,
        train: Data,
        valid: Data = None,
        epochs: int = 1,
        *,
        resume: bool | str | os.PathLike[str] = False,
        batch_size: int = 32,
    ) -> list[dict[str, Any]]:
        """The history of the run, a dictionary for each epoch.

        Args:
            train: A loader, a dataset, or a tuple of tensors or arrays.
            valid: The same for validation.
            epochs: How many epochs to train.
            resume: True goes on from the newest checkpoint of the run's folder where there is one, a path from that
                file or from the newest of that folder; the losses are then those of a run that had not stopped.
            batch_size: The size of the batches of what is not a loader.
        """
        self.train_data = building.loader(train, batch_size, True, self.model)
        self.valid_data = None if valid is None else building.loader(valid, batch_size, False, self.model)
        self.stopped, self.interrupted, self._reason = None, False, None
        start = self.finished
        found = self._checkpoint_to_resume(resume)
        if found is not None:
            self.load_state_dict(serialization.load(found, map_location=self.device))
            start = self.start
        elif self._loaded is not None:  # by hand: the generators of these loaders were not known then
            state.restore_randomness(self, self._loaded)
        else:
            self._begin_anew()
        self._loaded = None
        if self.folder is not None:
            self.folder.make()
        self.last_epoch = start + epochs
        self.start = start
        if self.board is not None:
            from pyburn.train.renderers import dashboard

            dashboard.run(self, self.board, self._run)
        else:
            with Interrupts() as self.interrupts:
                self._run()
        return self.history

    def _begin_anew(self) -> None:
        """Nothing; an epoch that was broken off is forgotten, and a run that has not begun has its seed."""
        self.batches_done = self.skip = self.gradients.waiting = 0
        self.epoch_randomness = self.next_randomness = self.next_trackers = self.next_logged = None
        if self.seed is not None and self.step == 0 and not self.history:
            randomness.seed(self.seed)

    def _run(self) -> None:
        """Nothing; the strategy has run, and all who take part know that it is over, whatever ended it."""
        with building.recomputed(self.model, self.recompute):
            try:
                if not self.gradients.waiting:
                    self.optimizer.zero_grad()
                self.events.fire("before_fit", self)
                self.strategy(self)
            except StopFit as stop:
                self.stopped = str(stop) or "stopped by a callback"
            except BaseException as error:
                self.stopped = f"{type(error).__name__}: {error}"
                raise
            finally:
                self.events.fire("after_fit", self)
                self.interrupts = Interrupts()

    def epochs_left(self) -> Iterator[int]:
        """The numbers of the epochs that are still to be run; what the loop does with each is the strategy's matter."""
        while self.finished < self.last_epoch:
            self.epoch = self.finished + 1
            began = time.perf_counter()
            self.trackers = {}
            self.events.fire("before_epoch", self)
            yield self.epoch
            line: dict[str, Any] = {"epoch": self.epoch, "step": self.step, "lr": self.learning_rate}
            for split, trackers in self.trackers.items():
                line.update({f"{split}_{name}": value for name, value in values_of(trackers).items()})
                line.update(self.logged[split].values())
            line["seconds"] = time.perf_counter() - began
            self.history.append(line)
            self.schedule.after_epoch(line)
            self.finished, self.batches_done = self.epoch, 0
            self.epoch_randomness = None
            self.events.fire("after_epoch", self)
            self._stop_if_asked()
            if self._reason is not None:
                raise StopFit(self._reason)

    @property
    def learning_rate(self) -> float:
        """The rate of the first group of weights."""
        return float(self.optimizer.param_groups[0]["lr"])

    def values(self, split: str | None = None) -> dict[str, Any]:
        """The metrics so far of this epoch's `split` ("train", "valid"; without it the present one)."""
        return values_of(self.trackers.get(split or self.split, []))

    def train_epoch(self) -> None:
        """Nothing; the model has trained once over the training data."""
        self._begin("train", training=True)
        self.events.fire("before_train", self)
        if self.epoch_randomness is None:
            self.epoch_randomness = randomness.capture(self.train_data, self.valid_data)
        if self.next_trackers is not None:
            for tracker, state in zip(self.trackers["train"], self.next_trackers, strict=True):
                tracker.load_state_dict(state)
            self.next_trackers = None
        if self.next_logged is not None:
            self.logged["train"].load_state_dict(self.next_logged)
            self.next_logged = None
        try:
            for data in self._unseen():
                self.batches_done += 1
                self.train_batch(data)
                if self.interrupts.asked:
                    self._stop_if_asked()
            if self.batches_done == 0:
                raise ValueError(
                    "Learner: the training data gave no batch; is the dataset empty, or smaller than a batch under "
                    "drop_last=True, or an iterator that was used up?"
                )
        except StopEpoch:
            pass
        if self.gradients.waiting:
            self.gradients.step(self)
        self.events.fire("after_train", self)

    def _unseen(self) -> Iterator[Any]:
        """The batches of this epoch that a run before the checkpoint has not seen."""
        skip, self.skip = self.skip, 0
        iterator: Iterator[Any] = iter(self.train_data)
        for _ in range(skip):
            next(iterator, None)
        if self.next_randomness is not None:
            randomness.restore(self.next_randomness, self.train_data, self.valid_data)
            self.next_randomness = None
        return iterator

    def train_batch(self, data: Any) -> None:
        """Nothing; one batch has been used: forward, backward, and a step where enough batches have added up."""
        try:
            batch = self._forward(data, self.batches_done - 1)
            if batch.loss is None:
                raise TypeError("Learner: training needs a loss; give loss= or return one from training_step")
            # A number that is not finite would spoil every weight: stop while they are still good.
            batch.value = float(batch.loss.item()) if losses.fits(batch.loss) else losses.refuse(batch.loss)
            if not math.isfinite(batch.value):
                raise NonFiniteLoss(explain(self, batch))
            self.gradients.backward(batch.loss)
            self.events.fire("after_backward", self)
            if self.gradients.waiting >= self.gradients.accumulate:
                self.gradients.step(self)
            self._seen(batch)
        except SkipBatch:
            pass

    def validate(self) -> dict[str, Any]:
        """The metrics of the validation data; nothing where there is none."""
        if self.valid_data is None:
            return {}
        return self._evaluate("valid", self.valid_data)

    def evaluate(self, data: Data, *, batch_size: int = 32) -> dict[str, Any]:
        """The metrics of `data`, which is a loader, a dataset, a tuple of tensors, or a dictionary of these by name.

        Example:
            >>> import pyburn
            >>> learner = Learner(nn.Linear(2, 1), nn.MSELoss(), "sgd", folder=False, renderer=None)
            >>> sorted(learner.evaluate((pyburn.zeros(4, 2), pyburn.zeros(4, 1))))
            ['loss']
        """
        if isinstance(data, Mapping) and not building.is_columns(data):
            return {name: self.evaluate(each, batch_size=batch_size) for name, each in data.items()}
        return self._evaluate("test", building.loader(data, batch_size, False, self.model))

    def predict(self, data: Data, *, batch_size: int = 32) -> Any:
        """What the model says of `data` (a tensor of inputs, a loader, a dataset, a tuple), batch after batch, as one.

        Example:
            >>> import pyburn
            >>> learner = Learner(nn.Linear(2, 1), nn.MSELoss(), "sgd", folder=False, renderer=None)
            >>> learner.predict(pyburn.zeros(100, 2)).shape
            pyburn.Size([100, 1])
        """
        parts = []
        with building.evaluating(self.model), no_grad(), self.gradients.context(self.device):
            for given in building.inputs(data, batch_size, self.model):
                parts.append(batches.call(self.model, batches.move(given, self.device)))
        if not parts:
            raise ValueError("predict: there is no data")
        return batches.joined(parts)

    def _evaluate(self, split: str, loader: Any) -> dict[str, Any]:
        before = (self.split, self.training, self.batch)
        self._begin(split, training=False)
        # An interrupted validation is run again as a whole: it starts from these random numbers.
        self.next_randomness = randomness.capture(self.train_data, self.valid_data)
        self.events.fire("before_validate", self)
        try:
            with building.evaluating(self.model), no_grad():
                for number, data in enumerate(loader):
                    self._validate_batch(data, number)
                    self._stop_if_asked()
        except StopEpoch:
            pass
        self.next_randomness = None
        self.events.fire("after_validate", self)
        values = values_of(self.trackers[split]) | self.logged[split].values()
        self.split, self.training, self.batch = before
        return values

    def _validate_batch(self, data: Any, number: int) -> None:
        with contextlib.suppress(SkipBatch):
            batch = self._forward(data, number)
            if batch.loss is not None and batch.loss.is_cpu and not batch.loss.dim():
                batch.value = float(batch.loss.item())  # which waits for nothing here, and saves metrics the trouble
            self._seen(batch)

    def _begin(self, split: str, training: bool) -> None:
        self.split, self.training = split, training
        self._own_step = building.own_step(self.model, split)
        if split not in self._twins:
            self._twins[split] = [copy.deepcopy(each) for each in self.metrics]
        self.trackers[split] = self._twins[split]
        for tracker in self.trackers[split]:
            tracker.reset()
        self.logged.setdefault(split, Logged()).reset()
        if training:
            self.model.train()

    def _forward(self, data: Any, number: int) -> Batch:
        """The batch with its output and its loss."""
        began = time.perf_counter()
        self.data = batches.move(data, self.device)
        self.events.fire("before_batch", self)
        inputs, target = batches.split(self.data)
        size = batches.size_of(inputs)
        rate = self.optimizer.param_groups[0]["lr"]
        batch = Batch(inputs, target, None, None, size, float(rate), began, number, self.epoch, self.training)
        self.batch = batch
        if self.gradients.dtype is None:
            self._compute(batch)
        else:
            with self.gradients.context(self.device):
                self._compute(batch)
        self.events.fire("after_loss", self)
        return batch

    def _compute(self, batch: Batch) -> None:
        """Nothing; the batch has its output and its loss."""
        if self._own_step is not None:
            self._by_method(self._own_step, batch)
            self.events.fire("after_forward", self)
            return
        inputs = batch.input
        batch.output = self.model(inputs) if isinstance(inputs, Tensor) else batches.call(self.model, inputs)
        self.events.fire("after_forward", self)
        if self.loss is not None and batch.target is not None:
            batch.loss = self.loss(batch.output, batch.target)
        else:
            self._refuse_without_loss()

    def _by_method(self, step: Callable[..., Any], batch: Batch) -> None:
        """Nothing; the module's own step has filled the batch."""
        with self.logged[self.split].given_to(self.model, batch.size):
            result = step(self.data, batch.index)
        if result is None and not self.training:  # a step that only logs: there is no loss to be had
            self.trackers[self.split] = [each for each in self.trackers[self.split] if type(each) is not Loss]
        if isinstance(result, Mapping):
            batch.loss, batch.output = result.get("loss"), result.get("output")
            batch.target = result.get("target", batch.target)
        else:
            batch.loss = result

    def _refuse_without_loss(self) -> None:
        """Nothing; where a loss is needed, the error says what it lacks."""
        if self.loss is None and self.training:
            raise TypeError("Learner: give a loss, or a model with training_step(batch)")
        if self.loss is not None:
            raise TypeError(
                "Learner: a batch has no target for the loss; yield (input, target) pairs, "
                "or give the model a training_step(batch)"
            )

    def _seen(self, batch: Batch) -> None:
        """Nothing; metrics and callbacks know the batch."""
        batch.seconds = time.perf_counter() - batch.seconds
        recording = is_grad_enabled()
        _set_grad_enabled(False)
        try:
            for tracker in self.trackers[self.split]:
                tracker.observe(batch)
        finally:
            _set_grad_enabled(recording)
        self.events.fire("after_batch", self)

    def _stop_if_asked(self) -> None:
        if self.interrupts.asked:
            self.interrupted = True
            raise StopFit("interrupted; fit(..., resume=True) goes on from here")

    def _checkpoint_to_resume(self, resume: bool | str | os.PathLike[str]) -> str | os.PathLike[str] | None:
        if resume is False:
            return None
        if resume is not True:
            return newest_in(resume) if os.path.isdir(resume) else resume
        return None if self.folder is None else self.folder.newest_checkpoint()

    def state_dict(self) -> dict[str, Any]:
        """All that a run needs to go on exactly from here."""
        return state.state_of(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave; the next `fit` goes on from there."""
        state.restore(self, saved)
        self._loaded = {name: saved[name] for name in ("randomness", "epoch_randomness")}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Nothing; the file at `path` holds the model's weights, as safetensors or `.pt` by its ending."""
        building.save_weights(self.model, path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Nothing; the model has the weights of the file at `path`: one of `save`, or a checkpoint of a run."""
        building.load_weights(self.model, path, self.device)


def values_of(trackers: list[Metric]) -> dict[str, Any]:
    """The value of each metric by its name."""
    return {tracker.name: tracker.compute() for tracker in trackers}
