"""The loss and the metrics of a compiled model, output by output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyburn._core import ShapeError
from pyburn.autograd import no_grad
from pyburn.keras import losses as losses_module
from pyburn.keras import metrics as metrics_module
from pyburn.keras.metrics.base import Mean, MeanMetricWrapper, Metric

__all__ = ["CompiledLoss", "CompiledMetrics", "Unnamed", "outputs_of"]


class Unnamed(str):
    """The name of an output in messages, of a model that has none: it is not part of names in the history."""

    __slots__ = ()


def outputs_of(value: Any, names: list[str]) -> list[Any]:
    """A value for each output, out of one, a list, or a dictionary by the outputs' names."""
    if isinstance(value, Mapping):
        unknown = set(value) - set(names)
        if unknown:
            raise ValueError(f"compile: there is no output {sorted(unknown)}; the outputs are {names}")
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(f"compile: {len(value)} values were given for the {len(names)} outputs {names}")
        return list(value)
    return [value] * len(names)


def _kinds(y_true: Any, y_pred: Any) -> str:
    """What labels and predictions of these shapes are: binary, sparse or one-hot."""
    if y_pred.shape[-1] == 1:
        return "binary"
    if y_true.dim() < y_pred.dim() or (y_true.shape[-1] == 1 and y_pred.shape[-1] > 1):
        return "sparse"
    return "onehot"


_ACCURACIES: dict[str, Any] = {
    "binary": metrics_module.BinaryAccuracy,
    "sparse": metrics_module.SparseCategoricalAccuracy,
    "onehot": metrics_module.CategoricalAccuracy,
}
_ENTROPIES = {
    "binary": losses_module.binary_crossentropy,
    "sparse": losses_module.sparse_categorical_crossentropy,
    "onehot": losses_module.categorical_crossentropy,
}


def _loss(identifier: Any, y_true: Any, y_pred: Any) -> Any:
    if identifier is None:
        return None
    named = isinstance(identifier, str)
    if named and identifier.lower() in ("crossentropy", "ce"):
        found: Any = _ENTROPIES[_kinds(y_true, y_pred)]
    else:
        found = losses_module.get(identifier)
    if isinstance(found, losses_module.Loss):
        return found
    return losses_module.LossFunctionWrapper(found, name=identifier if named else None)


def _metric(identifier: Any, y_true: Any, y_pred: Any) -> Metric:
    named = isinstance(identifier, str)
    if named and identifier.lower() in ("accuracy", "acc"):
        made: Metric = _ACCURACIES[_kinds(y_true, y_pred)](name=identifier)
        return made
    found: Any = metrics_module.get(identifier)
    if not isinstance(found, Metric):
        found = MeanMetricWrapper(found)
    if named:
        found.name = identifier
    kept: Metric = found
    return kept


class CompiledLoss:
    """The losses of all outputs as one number, and the mean of each."""

    def __init__(self, loss: Any, loss_weights: Any) -> None:
        self.given, self.weights_given = loss, loss_weights
        self.losses: list[Any] | None = None
        self.weights: list[Any] = []
        self.trackers: list[Mean] = []

    def build(self, names: list[str], y_true: list[Any], y_pred: list[Any]) -> None:
        """Nothing; each output has its loss."""
        given = outputs_of(self.given, names)
        self.weights = outputs_of(self.weights_given, names)
        if self.weights_given is not None and not isinstance(self.weights_given, (list, tuple, dict)):
            self.weights = [self.weights_given] * len(names)
        self.losses = [_loss(each, t, p) for each, t, p in zip(given, y_true, y_pred, strict=True)]
        several = sum(each is not None for each in self.losses) > 1
        shown = [
            loss.name if isinstance(name, Unnamed) and loss is not None else name
            for name, loss in zip(names, self.losses, strict=True)
        ]
        self.trackers = [Mean(f"{name}_loss") for name in shown] if several else []

    def __call__(self, names: list[str], y_true: list[Any], y_pred: list[Any], weights: list[Any]) -> Any:
        """The weighted sum of the losses."""
        if self.losses is None:
            self.build(names, y_true, y_pred)
        total: Any = None
        for place, loss in enumerate(self.losses or []):
            if loss is None or y_true[place] is None:
                continue
            try:
                value = loss(y_true[place], y_pred[place], weights[place])
            except ShapeError as error:
                raise ShapeError(
                    f"the loss {loss.name!r} of the output {names[place]!r}: y has shape "
                    f"{tuple(y_true[place].shape)}, but the model gives {tuple(y_pred[place].shape)}; give the last "
                    f"layer as many units as y has columns, or reshape y ({error})"
                ) from None
            if value.dim():
                value = value.mean()
            if self.trackers:
                self.trackers[place].update_state(value.detach(), sample_weight=float(y_pred[place].shape[0]))
            factor = self.weights[place]
            value = value if factor is None else value * float(factor)
            total = value if total is None else total + value
        return total

    @property
    def metrics(self) -> list[Mean]:
        """The mean loss of each output, where there are several."""
        return [each for each, loss in zip(self.trackers, self.losses or []) if loss is not None]


class CompiledMetrics(Metric):
    """The metrics of all outputs as one, as a `train_step` of one's own finds it in `model.metrics`.

    Args:
        metrics: What `compile` was given.
        weighted_metrics: Those that take the weights of samples into account.
        outputs: From labels, predictions and weights to the names of the outputs and those of each.
    """

    def __init__(self, metrics: Any, weighted_metrics: Any, outputs: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name="compile_metrics")
        self._outputs = outputs
        for given, word in ((metrics, "metrics"), (weighted_metrics, "weighted_metrics")):
            if given is not None and not isinstance(given, (list, tuple, dict)):
                raise ValueError(f"compile: {word} must be a list or a dictionary, but is {given!r}; write [{given!r}]")
        self.given, self.weighted_given = metrics, weighted_metrics
        self.plain: list[list[Metric]] | None = None
        self.weighted: list[list[Metric]] = []
        self.names: list[str] = []

    def _per_output(self, given: Any, names: list[str], y_true: list[Any], y_pred: list[Any]) -> list[list[Metric]]:
        if given is None:
            return [[] for _ in names]
        nested = isinstance(given, (list, tuple)) and any(isinstance(each, (list, tuple)) for each in given)
        if isinstance(given, Mapping) or nested or (len(names) > 1 and len(given) == len(names)):
            found = outputs_of(given, names)
        elif len(names) == 1:
            found = [given]
        else:
            raise ValueError(
                f"compile: {len(given)} metrics were given for {len(names)} outputs; give a list for each output, or a "
                f"dictionary by the names {names}"
            )
        made = []
        for each, true, pred in zip(found, y_true, y_pred, strict=True):
            several = each if isinstance(each, (list, tuple)) else [] if each is None else [each]
            made.append([_metric(one, true, pred) for one in several if one is not None])
        return made

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Nothing; the metrics have seen one batch more."""
        with no_grad():
            self._update(*self._outputs(y_true, y_pred, sample_weight))

    def reset_state(self) -> None:
        for metric in self.metrics:
            metric.reset_state()

    def _update(self, names: list[str], y_true: list[Any], y_pred: list[Any], weights: list[Any]) -> None:
        if self.plain is None:
            self.names = names
            self.plain = self._per_output(self.given, names, y_true, y_pred)
            self.weighted = self._per_output(self.weighted_given, names, y_true, y_pred)
        for place, (plain, weighted) in enumerate(zip(self.plain, self.weighted, strict=True)):
            if y_true[place] is None:
                continue
            for metric in plain:
                metric.update_state(y_true[place], y_pred[place])
            for metric in weighted:
                metric.update_state(y_true[place], y_pred[place], sample_weight=weights[place])

    @property
    def metrics(self) -> list[Metric]:
        """All metrics, output by output."""
        groups = [*(self.plain or []), *self.weighted]
        return [metric for group in groups for metric in group]

    def result(self) -> dict[str, Any]:
        """The numbers so far by name; with several outputs the name of the output comes first."""
        found: dict[str, Any] = {}
        for kind, groups in (("", self.plain or []), ("weighted_", self.weighted)):
            for name, group in zip(self.names, groups, strict=True):
                before = "" if len(self.names) == 1 or isinstance(name, Unnamed) else f"{name}_"
                for metric in group:
                    key = f"{before}{metric.name}"
                    key = f"{before}{kind}{metric.name}" if key in found else key
                    found[_free(key, found)] = metric.result()
        return found


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, or with the first number that makes it a new one."""
    number, made = 0, name
    while made in taken:
        number += 1
        made = f"{name}_{number}"
    return made
