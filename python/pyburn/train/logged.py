"""What a module logs by itself from its steps, as Lightning's modules do: `self.log("valid_f1", value)`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.train.metrics import Metric
from pyburn.train.metrics.base import Mean, at_least_float32

__all__ = ["Logged", "metrics_of"]

_REDUCTIONS = ("mean", "sum", "min", "max")


class _Sum(Mean):
    """Numbers and their weights, which wait on their device until they are asked for."""

    def take(self, value: Any, weight: int) -> None:
        """Nothing; the number is taken into account."""
        self._add({"total": value * weight, "count": weight})

    def total(self) -> float:
        """The sum of all numbers."""
        self._settle()
        return float(self._state.get("total", math.nan))


class Logged:
    """The numbers that the steps of a module have logged since an epoch's half began.

    Example:
        >>> logged = Logged()
        >>> for value, size in ((1.0, 3), (5.0, 1)):
        ...     logged.log("mean", value, batch_size=size)
        ...     logged.log("largest", value, reduce_fx=max)
        >>> logged.values()
        {'mean': 2.0, 'largest': 5.0}
    """

    def __init__(self) -> None:
        self.size = 1  # of the batch whose step runs
        self._sums: dict[str, tuple[str, _Sum]] = {}
        self._extremes: dict[str, float] = {}
        self.metrics: dict[str, Metric] = {}

    def log(
        self,
        name: str,
        value: Any,
        prog_bar: bool = False,
        logger: bool | None = None,
        on_step: bool | None = None,
        on_epoch: bool | None = None,
        reduce_fx: Any = "mean",
        batch_size: int | None = None,
        **ignored: Any,
    ) -> None:
        """Nothing; the epoch's line has an entry `name`.

        Args:
            name: The entry's name, as it is given.
            value: A number, a tensor of one element, or a metric, whose value of the whole epoch is the entry.
            prog_bar: Has no meaning here: all entries are shown.
            logger: Has no meaning here: all entries are written.
            on_step: Has no meaning here: an epoch has one entry.
            on_epoch: Has no meaning here.
            reduce_fx: How the numbers of an epoch's batches become one: "mean", "sum", "min" or "max".
            batch_size: The weight of this batch in the mean; without it the number of its samples.
            **ignored: What Lightning takes for several processes.
        """
        kind = getattr(reduce_fx, "__name__", reduce_fx)
        if kind not in _REDUCTIONS:
            raise ValueError(f"log: reduce_fx is {reduce_fx!r}, but must be one of {', '.join(_REDUCTIONS)}")
        if isinstance(value, Metric):
            self.metrics[name] = value
            return
        if isinstance(value, Tensor):
            if value.numel() != 1:
                raise ValueError(f"log: {name!r} has {value.numel()} elements; log one number, such as value.mean()")
            value = at_least_float32(value.detach()).reshape([])
        if kind in ("min", "max"):
            number = float(value)
            self._extremes[name] = (min if kind == "min" else max)(number, self._extremes.get(name, number))
            return
        weight = self.size if batch_size is None else batch_size
        self._sums.setdefault(name, (kind, _Sum()))[1].take(value, 1 if kind == "sum" else weight)

    def log_dict(self, dictionary: Mapping[str, Any], **options: Any) -> None:
        """Nothing; every entry of `dictionary` is logged."""
        for name, value in dictionary.items():
            self.log(name, value, **options)

    def values(self) -> dict[str, Any]:
        """The entries of the epoch's line, by name."""
        found = {name: each.total() if kind == "sum" else each.compute() for name, (kind, each) in self._sums.items()}
        return found | self._extremes | {name: each.compute() for name, each in self.metrics.items()}

    def reset(self) -> None:
        """Nothing; what was logged is forgotten."""
        for each in self.metrics.values():
            each.reset()
        self._sums, self._extremes, self.metrics = {}, {}, {}

    @contextlib.contextmanager
    def given_to(self, model: nn.Module, size: int) -> Iterator[None]:
        """While the block runs the model has `log` and `log_dict`, unless it has its own."""
        self.size = size
        own = {"log": self.log, "log_dict": self.log_dict}
        lent = [name for name in own if not hasattr(model, name)]
        vars(model).update({name: own[name] for name in lent})
        try:
            yield
        finally:
            for name in lent:
                vars(model).pop(name, None)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint within an epoch keeps; metrics are the module's own: see `metrics_of`."""
        sums = {name: [kind, each.state_dict()] for name, (kind, each) in self._sums.items()}
        return {"sums": sums, "extremes": dict(self._extremes)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        self.reset()
        self._extremes = dict(state["extremes"])
        for name, (kind, saved) in state["sums"].items():
            self._sums[name] = (kind, _Sum())
            self._sums[name][1].load_state_dict(saved)


def metrics_of(model: nn.Module) -> dict[str, Metric]:
    """The metrics that a module and its parts hold as attributes, by their path.

    Example:
        >>> from pyburn.train.metrics import Accuracy
        >>> model = nn.Linear(2, 2)
        >>> model.right = Accuracy()
        >>> list(metrics_of(model))
        ['right']
    """
    found: dict[str, Metric] = {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, Metric):
                found[f"{path}.{name}" if path else name] = value
    return found
