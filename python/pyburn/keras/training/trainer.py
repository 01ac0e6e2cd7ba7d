"""compile, fit, evaluate, predict: the half of a model that trains."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras import config as settings
from pyburn.keras import optimizers
from pyburn.keras.callbacks.base import Callback, CallbackList, History
from pyburn.keras.layer import Layer
from pyburn.keras.metrics.base import Mean, Metric
from pyburn.keras.symbolic import flatten, map_structure
from pyburn.keras.training.compiled import CompiledLoss, CompiledMetrics, Unnamed, outputs_of
from pyburn.keras.training.feeding import (
    Batches,
    Kept,
    Stream,
    as_tensors,
    batches_of,
    split_off,
    step_data,
    unpack_x_y_sample_weight,
)
from pyburn.keras.training.loop import KerasLearner, Validation, numbers
from pyburn.train import batches as learner_batches
from pyburn.train import events

__all__ = ["Trainer"]


class Trainer(Layer):
    """A layer with an optimizer, a loss and metrics."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stop_training = False
        self.optimizer: Any = None
        self.loss: Any = None
        self.compiled = False
        self.run_eagerly, self.jit_compile, self.steps_per_execution = False, False, 1
        self.history: Any = None
        self._compiled_loss: CompiledLoss | None = None
        self._compiled_metrics: CompiledMetrics | None = None
        self._loss_tracker = Mean("loss")
        self._compile_arguments: dict[str, Any] = {}

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Nothing; the model knows how to train.

        Args:
            optimizer: A name, an object of `keras.optimizers`, or an optimizer of `pyburn.optim`.
            loss: A name, an object, a function of (y_true, y_pred), or one for each output.
            loss_weights: The factors of the outputs' losses.
            metrics: Names, objects or functions, for each output where there are several.
            weighted_metrics: Metrics that take the weights of samples into account.
            run_eagerly: Accepted for Keras's sake, as are the rest: nothing is traced.
            steps_per_execution: Accepted for Keras's sake.
            jit_compile: Accepted for Keras's sake.
            auto_scale_loss: Whether losses of float16 are scaled, so that small gradients are not lost.

        Example:
            >>> from pyburn.keras import Dense, Input, Sequential
            >>> model = Sequential([Input((4,)), Dense(1)])
            >>> model.compile(optimizer="adam", loss="mse", metrics=["mae"])
        """
        self.optimizer = optimizers.get(optimizer)
        plain = hasattr(self.optimizer, "scale_loss") and not isinstance(self.optimizer, optimizers.LossScaleOptimizer)
        if plain and auto_scale_loss and self.dtype_policy.name == "mixed_float16":
            self.optimizer = optimizers.LossScaleOptimizer(self.optimizer, name="loss_scale_optimizer")
        self.loss = loss
        self._compiled_loss = None if loss is None else CompiledLoss(loss, loss_weights)
        self._compiled_metrics = CompiledMetrics(metrics, weighted_metrics, self._outputs)
        self._loss_tracker = Mean("loss")
        self.stop_training, self.compiled = False, True
        self.run_eagerly, self.steps_per_execution, self.jit_compile = run_eagerly, steps_per_execution, False
        self._compile_arguments = {
            "optimizer": self.optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
        }

    @property
    def metrics(self) -> list[Metric]:
        """The mean loss, the compiled metrics as one, and metrics that are attributes of the model or its layers."""
        found: list[Metric] = [self._loss_tracker]
        compiled = self._compiled_metrics
        if compiled is not None and (compiled.given or compiled.weighted_given):
            found.append(compiled)
        if self._compiled_loss is not None:
            found += self._compiled_loss.metrics
        for module in self.modules():
            if module is self or not isinstance(module, Trainer):  # a model inside does not train by itself
                found += [each for each in vars(module).values() if isinstance(each, Metric) and each is not compiled]
        return list(dict.fromkeys(found))

    @property
    def metrics_names(self) -> list[str]:
        """The names of the metrics."""
        found: list[str] = []
        for each in self.metrics:
            found += each.result() if isinstance(each, CompiledMetrics) else [each.name]
        return found

    def reset_metrics(self) -> None:
        """Nothing; the metrics have seen nothing."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """The metrics so far, by name."""
        found: dict[str, Any] = {}
        for metric in self.metrics:
            if metric is self._loss_tracker and not self._loss_tracker.count:
                continue
            result = metric.result()
            found |= result if isinstance(result, Mapping) else {metric.name: result}
        return found

    def _needs_compile(self) -> None:
        if not self.compiled:
            raise ValueError(
                f"{self.name}: the model must be compiled before it trains or is evaluated; "
                "call model.compile(optimizer=..., loss=...)"
            )

    def _outputs(self, y: Any, y_pred: Any, sample_weight: Any) -> tuple[list[str], list[Any], list[Any], list[Any]]:
        """The names of the outputs, and labels, predictions and weights of each."""
        if isinstance(y_pred, Mapping):
            names = sorted(y_pred)
            preds = [y_pred[name] for name in names]
        else:
            preds = list(y_pred) if isinstance(y_pred, (list, tuple)) else [y_pred]
            names = self._names_of(len(preds))
        labels = _spread(self._beside_none(y, names), names, "y")
        return names, labels, preds, _spread(sample_weight, names, "sample_weight")

    def _names_of(self, count: int) -> list[str]:
        names = list(getattr(self, "output_names", []) or [])
        return names if len(names) == count else [Unnamed(f"output_{place}") for place in range(count)]

    def _beside_none(self, y: Any, names: list[str]) -> Any:
        """Labels for each output, where only those that have a loss were given."""
        given = list(y) if isinstance(y, (list, tuple)) else [y]
        if y is None or isinstance(y, Mapping) or len(given) == len(names):
            return y
        wanted = [each is not None for each in outputs_of(self.loss, names)]
        if sum(wanted) != len(given):
            return y
        left = iter(given)
        return [next(left) if there else None for there in wanted]

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """The loss of a batch: that of the outputs, and those that layers and weights add."""
        total: Any = None
        if self._compiled_loss is not None and y is not None:
            total = self._compiled_loss(*self._outputs(y, y_pred, sample_weight))
        for extra in self.losses:
            extra = extra.sum() if isinstance(extra, Tensor) else extra
            total = extra if total is None else total + extra
        if total is None and training:
            raise ValueError(
                f"{self.name}: there is no loss to train with; give compile(loss=...) and y, or call add_loss in a "
                "layer"
            )
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """The metrics so far, this batch included."""
        if y is not None and self._compiled_metrics is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def _track_loss(self, loss: Any, x: Any) -> None:
        if loss is not None:
            size = next((each.shape[0] for each in flatten(x) if isinstance(each, Tensor) and each.dim()), 1)
            value = loss.detach() if isinstance(loss, Tensor) else loss
            self._loss_tracker.update_state(value, sample_weight=float(size))

    def train_step(self, data: Any) -> dict[str, Any]:
        """The metrics after one step on a batch; a subclass may do it its own way."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=True)
        loss = self.compute_loss(x, y, y_pred, sample_weight, training=True)
        self._track_loss(loss, x)
        self.zero_grad()
        if isinstance(loss, Tensor) and loss.requires_grad:
            scale = getattr(self.optimizer, "scale_loss", None)
            (loss if scale is None else scale(loss)).backward()
            self._step()
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _step(self) -> None:
        self.optimizer.step()
        if self._has_constraints():
            self._constrain()

    def _has_constraints(self) -> bool:
        return any(getattr(module, "_constraints", None) for module in self.modules())

    def test_step(self, data: Any) -> dict[str, Any]:
        """The metrics after one batch of evaluation; a subclass may do it its own way."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compute_loss(x, y, y_pred, sample_weight, training=False)
        self._track_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data: Any) -> Any:
        """What the model says of one batch; a subclass may do it its own way."""
        return self(unpack_x_y_sample_weight(data)[0], training=False)

    def _place_of_weights(self) -> Any:
        first = next(iter(self.weights), None)
        return first.device if first is not None else ops.empty(0).device

    def _ready(self, batch: Any) -> None:
        """Nothing; the model has its weights, and the optimizer knows them."""
        if not self.built or not all(getattr(module, "built", True) for module in self.modules()):
            with no_grad():
                self(unpack_x_y_sample_weight(learner_batches.move(batch, self._place_of_weights()))[0], training=False)
        if isinstance(self.optimizer, optimizers.Optimizer):
            # Layers may have been frozen or added since the optimizer was last used.
            known = [id(weight) for weight in self.optimizer.param_groups[0]["params"]]
            if not self.optimizer.built or known != [id(weight) for weight in self.trainable_weights]:
                self.optimizer.build(self.trainable_weights)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> History:
        """The history of the training.

        Args:
            x: Arrays, tensors, a frame, lists or dictionaries of these for several inputs; or a Dataset, DataLoader,
                PyDataset or generator that gives (x, y) or (x, y, sample_weight).
            y: The labels.
            batch_size: 32 unless said otherwise.
            epochs: The number of the last epoch.
            verbose: 0 for silence, 1 for a bar ("auto"), 2 for a line per epoch.
            callbacks: Callbacks of Keras, or of `pyburn.train`.
            validation_split: The share of the arrays, taken from their end, that is kept for validation.
            validation_data: (x, y), (x, y, sample_weight), or anything that `x` may be.
            shuffle: Whether each epoch goes through arrays in a new order; "batch" shuffles batches only.
            class_weight: What the samples of each class count.
            sample_weight: What each sample counts.
            initial_epoch: The number of the epoch to begin with.
            steps_per_epoch: How many batches make an epoch.
            validation_steps: How many batches of the validation data are used.
            validation_batch_size: The size of its batches.
            validation_freq: Every how many epochs, or after which ones, it is used.

        Example:
            >>> import pyburn
            >>> from pyburn.keras import Dense, Input, Sequential
            >>> model = Sequential([Input((3,)), Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> x = pyburn.randn(64, 3)
            >>> history = model.fit(x, x.sum(1), epochs=3, verbose=0)
            >>> history.history["loss"][-1] < history.history["loss"][0]
            True
        """
        self._needs_compile()
        for number in (epochs, initial_epoch):
            if not hasattr(number, "__index__"):
                raise ValueError(f"fit: epochs={epochs!r} and initial_epoch={initial_epoch!r} must be whole numbers")
        parts = (x, y, sample_weight)
        if validation_split and validation_data is None:
            parts, validation_data = split_off(parts, validation_split)
        data = batches_of(*parts, batch_size, steps_per_epoch, shuffle, class_weight, continues=True)
        self._ready(data.first())
        validation = None
        if validation_data is not None:
            given = validation_data if isinstance(validation_data, (list, tuple)) else (validation_data,)
            if len(given) > 3:
                raise ValueError(
                    f"fit: validation_data has {len(given)} parts, but must be (x, y) or (x, y, sample_weight)"
                )
            size = validation_batch_size or batch_size
            again = batches_of(*_padded(given), size, validation_steps)
            # The same batches are seen after every epoch, also those of a generator.
            validation = Validation(self, Kept(again) if isinstance(again, Stream) else again, validation_freq)
        shown = _shown(verbose)
        given_callbacks = _listed(callbacks)
        ours = [each for each in given_callbacks if isinstance(each, events.Callback)]
        several = _callbacks([each for each in given_callbacks if not isinstance(each, events.Callback)], self, shown)
        several.set_params({"verbose": shown, "epochs": epochs, "steps": data.steps})
        for each in several.callbacks:
            # A run that broke off goes on after the last epoch of its backup.
            initial_epoch = each.first_epoch(initial_epoch) if hasattr(each, "first_epoch") else initial_epoch
        self._run(data, several, ours, validation, epochs, initial_epoch)
        assert several.history is not None
        self.history = several.history
        return several.history

    def _run(
        self, data: Batches, callbacks: CallbackList, ours: list[Any], validation: Any, epochs: int, initial: int
    ) -> None:
        learner = KerasLearner(self, callbacks, ours, validation)
        learner.finished = initial
        self.stop_training = False
        with self._mode_kept():
            learner.fit(data, epochs=max(0, epochs - initial))
        if isinstance(self.optimizer, optimizers.Optimizer):
            self.optimizer.finalize_variable_values(self.trainable_weights)
        callbacks.on_train_end(learner.logs)
        if learner.interrupted:
            raise KeyboardInterrupt("fit was interrupted after a whole batch; the weights are those of that batch")

    @contextlib.contextmanager
    def _mode_kept(self) -> Iterator[None]:
        modes = [(module, module.training) for module in self.modules()]
        try:
            yield
        finally:
            for module, mode in modes:
                module.training = mode

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The loss and the metrics of the data: a number, a list, or with `return_dict` a dictionary.

        The arguments are those of `fit`.
        """
        self._needs_compile()
        data = batches_of(x, y, sample_weight, batch_size, steps)
        self._ready(data.first())
        shown = _shown(verbose)
        several = _callbacks(_listed(callbacks), self, shown)
        several.set_params({"verbose": shown, "epochs": 1, "steps": data.steps})
        found = self._evaluate(data, several)
        if return_dict:
            return found
        return self._as_list(found)

    def _evaluate(self, data: Batches, callbacks: CallbackList) -> dict[str, Any]:
        self.reset_metrics()
        place, logs = self._place_of_weights(), {}
        callbacks.on_test_begin()
        with no_grad(), self._mode_kept():
            self.eval()
            for number, batch in enumerate(data):
                callbacks.on_test_batch_begin(number)
                logs = numbers(self.test_step(step_data(learner_batches.move(batch, place))))
                callbacks.on_test_batch_end(number, logs)
        callbacks.on_test_end(logs)
        return logs

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """What the model says of the data, as numpy arrays in the nest of the outputs.

        Example:
            >>> import pyburn
            >>> from pyburn.keras import Dense, Input, Sequential
            >>> Sequential([Input((3,)), Dense(2)]).predict(pyburn.zeros(5, 3), verbose=0).shape
            (5, 2)
        """
        data = batches_of(x, None, None, batch_size, steps)
        shown = _shown(verbose)
        several = _callbacks(_listed(callbacks), self, shown)
        several.set_params({"verbose": shown, "epochs": 1, "steps": data.steps})
        parts, place = [], self._place_of_weights()
        several.on_predict_begin()
        with no_grad(), self._mode_kept():
            self.eval()
            for number, batch in enumerate(data):
                several.on_predict_batch_begin(number)
                parts.append(map_structure(_plain, self.predict_step(learner_batches.move(batch, place))))
                several.on_predict_batch_end(number, {"outputs": parts[-1]})
        several.on_predict_end()
        if not parts:
            raise ValueError("predict: there is no data")
        return map_structure(lambda each: each.numpy(), learner_batches.joined(parts))

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Mapping[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """The loss and the metrics of this batch, after one step on it."""
        self._needs_compile()
        size = flatten(as_tensors(x))[0].shape[0]
        batch = next(iter(batches_of(x, y, sample_weight, size, None, False, class_weight)))
        self._ready(batch)
        self.reset_metrics()
        logs = numbers(self.train_step(learner_batches.move(batch, self._place_of_weights())))
        return logs if return_dict else self._as_list(logs)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """The loss and the metrics of this batch."""
        self._needs_compile()
        batch = tuple(as_tensors(part) for part in (x, y, sample_weight))
        self._ready(batch)
        self.reset_metrics()
        with no_grad():
            logs = numbers(self.test_step(learner_batches.move(batch, self._place_of_weights())))
        return logs if return_dict else self._as_list(logs)

    def predict_on_batch(self, x: Any) -> Any:
        """What the model says of this batch, as numpy arrays."""
        with no_grad():
            given = learner_batches.move((as_tensors(x), None, None), self._place_of_weights())
            return map_structure(lambda each: _plain(each).numpy(), self.predict_step(given))

    def _as_list(self, logs: dict[str, Any]) -> Any:
        """The numbers as Keras lists them: in the order of the metrics, then others by their names."""
        known: list[str] = []
        for metric in self.metrics:
            several = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            known += [each.name for each in several]
        order = [*(name for name in known if name in logs), *(name for name in sorted(logs) if name not in known)]
        # As in Keras, two numbers of one name are one number twice.
        values = [logs[name] for name in order]
        return values[0] if len(values) == 1 else values


def _shown(verbose: Any) -> int:
    """0, 1 or 2 of what `verbose` may be."""
    if verbose == "auto":
        return 1 if settings.is_interactive_logging_enabled() else 2
    return int(verbose)


def _plain(value: Tensor) -> Tensor:
    return value.detach().cpu()


def _padded(parts: Any) -> tuple[Any, Any, Any]:
    return (*parts, None, None)[:3]


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    if isinstance(callbacks, CallbackList):
        return list(callbacks.callbacks)
    found = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for each in found:
        if not hasattr(each, "on_epoch_end") and not isinstance(each, events.Callback):
            raise ValueError(
                f"fit: {each!r} is no callback; give objects such as keras.callbacks.EarlyStopping(patience=3)"
            )
    return found


def _callbacks(given: list[Callback], model: Any, verbose: int) -> CallbackList:
    return CallbackList(given, add_history=True, add_progbar=verbose != 0, model=model)


def _spread(value: Any, names: list[str], what: str) -> list[Any]:
    """A value for each output."""
    if isinstance(value, Mapping):
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(f"{what}: {len(value)} were given, but the model has {len(names)} outputs: {names}")
        return list(value)
    return [value] * len(names) if len(names) == 1 or what == "sample_weight" or value is None else _one(value, names)


def _one(value: Any, names: list[str]) -> list[Any]:
    raise ValueError(
        f"y: one array was given, but the model has {len(names)} outputs: {names}; give a list or a dictionary"
    )
