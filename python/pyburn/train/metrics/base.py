"""What every metric is: something that takes batches, and has one value over all of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyburn._core import Tensor, float32, float64, int64, uint8
from pyburn.autograd import no_grad
from pyburn.nn import Module
from pyburn.ops import as_tensor, cat

__all__ = ["Accumulated", "Batch", "FunctionMetric", "Mean", "Metric", "State"]

State = dict[str, Any]
_WIDE = {"float64": float64, "int64": int64}
_NUMBERS, _PLAIN = {int, float}, {int, float, str}
_WAITING = 64  # statistics that stay on a GPU before they are read at once: one wait in as many batches


@dataclass(slots=True)
class Batch:
    """One batch as the Learner saw it: what went in, what came out, and how long it took.

    Example:
        >>> batch = Batch(input=None, target=None, output=None, loss=None, size=32, learning_rate=0.1, seconds=0.5)
        >>> batch.size / batch.seconds
        64.0
    """

    input: Any
    target: Any
    output: Any
    loss: Tensor | None
    size: int
    learning_rate: float = math.nan
    seconds: float = math.nan
    index: int = 0
    epoch: int = 0
    training: bool = True
    value: float | None = None  # the loss as a number, where it has been read: reading it again would wait again


class Metric:
    """A value over all batches since `reset()`; a subclass gives `reset`, `update` and `compute`.

    `name` is its column in tables and files. `higher_is_better` is what early stopping and the choice of the best
    checkpoint ask; None says that neither direction is better.

    Example:
        >>> import pyburn
        >>> class Largest(Metric):
        ...     name, higher_is_better = "largest", None
        ...     def reset(self):
        ...         self.seen = float("nan")
        ...     def update(self, output, target):
        ...         self.seen = max(output.max().item(), self.seen)
        ...     def compute(self):
        ...         return self.seen
        >>> metric = Largest()
        >>> metric(pyburn.tensor([1.0, 5.0]), None), metric(pyburn.tensor([2.0]), None), metric.compute()
        (5.0, 2.0, 5.0)
    """

    name: str = "metric"
    higher_is_better: bool | None = None

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets every batch."""
        raise NotImplementedError(f"{type(self).__name__}: a Metric must define reset().")

    def update(self, output: Any, target: Any) -> None:
        """Takes one batch into account."""
        raise NotImplementedError(f"{type(self).__name__}: a Metric must define update(output, target).")

    def compute(self) -> float | Tensor:
        """The value over all batches since `reset()`; nan when there was none."""
        raise NotImplementedError(f"{type(self).__name__}: a Metric must define compute().")

    def prepare(self, loss: Any) -> None:
        """Nothing; the metric knows the loss of the Learner, which may say what the outputs are."""
        reader: Any = getattr(self, "_read", None)
        if hasattr(reader, "learn"):
            reader.learn(loss)

    def observe(self, batch: Batch) -> None:
        """Takes one batch of the Learner into account: its output and target, unless a metric needs more of it."""
        self.update(batch.output, batch.target)

    def __call__(self, output: Any, target: Any) -> float | Tensor:
        """The value of this batch alone, which is also taken into account."""
        alone = copy.deepcopy(self)
        alone.reset()
        alone.update(output, target)
        self.update(output, target)
        return alone.compute()

    def state_dict(self) -> State:
        """All that a resumed run needs to go on exactly: the attributes that are tensors, numbers, texts or lists."""
        return {key: _copied(value) for key, value in vars(self).items() if _is_plain(value)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state_dict()` gave."""
        for key, value in state.items():
            setattr(self, key, _copied(value))

    def __deepcopy__(self, memo: dict[int, Any]) -> Metric:
        """A metric of its own that asks the same network: the Learner has a copy for each split, not a network."""
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        for key, value in vars(self).items():
            setattr(twin, key, value if isinstance(value, Module) else copy.deepcopy(value, memo))
        return twin

    def __repr__(self) -> str:
        options = {key: value for key, value in vars(self).items() if not key.startswith("_") and key != "name"}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


class Accumulated(Metric):
    """A metric whose batches are reduced to statistics that add up: what all metrics of pyburn are.

    A subclass gives `_statistics(output, target)`, a dict of tensors, numbers and lists, and `_value(state)`. Tensors
    and numbers are added, lists joined, texts must agree. Sums are kept on the CPU in float64 and int64. From another
    device they are fetched for 64 batches at once, so that it need not wait after each batch.

    Example:
        >>> import pyburn
        >>> class Positive(Accumulated):
        ...     name = "positive"
        ...     def _statistics(self, output, target):
        ...         return {"positive": (output > 0).sum(), "all": output.numel()}
        ...     def _value(self, state):
        ...         return float(state["positive"]) / state["all"]
        >>> share = Positive()
        >>> for values in ([1.0, -1.0, 2.0], [-3.0]):
        ...     share.update(pyburn.tensor(values), None)
        >>> share.compute()
        0.5
    """

    _state: State
    _waiting: list[State]

    def reset(self) -> None:
        """Forgets every batch."""
        self._state = {}
        self._waiting = []

    def update(self, output: Any, target: Any) -> None:
        """Takes one batch into account."""
        with no_grad():
            self._add(self._statistics(output, target))

    def compute(self) -> float | Tensor:
        """The value over all batches since `reset()`; nan when there was none."""
        self._settle()
        return self._value(self._state) if self._state else math.nan

    def __call__(self, output: Any, target: Any) -> float | Tensor:
        """The value of this batch alone, which is also taken into account."""
        with no_grad():
            found = self._statistics(output, target)
            self._add(found)
        return self._value(_settled(found))

    def state_dict(self) -> State:
        """The sums over all batches since `reset()`."""
        self._settle()
        return {key: _packed(value) for key, value in self._state.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state_dict()` gave."""
        self.reset()
        self._state = {key: _unpacked(value) for key, value in state.items()}

    def _statistics(self, output: Any, target: Any) -> State:
        raise NotImplementedError(f"{type(self).__name__} must define _statistics(output, target).")

    def _value(self, state: State) -> float | Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _value(state).")

    def _check(self, found: State) -> None:
        """Raises where the statistics of a batch, now on the CPU, tell of values that cannot be judged."""

    def _merge(self, old: State, new: State) -> State:
        return {
            key: old[key] + value if type(value) in _NUMBERS else _sum_of(self.name, old[key], value)
            for key, value in new.items()
        }

    def _add(self, found: State) -> None:
        if not self._waiting:
            if all(type(value) in _PLAIN for value in found.values()):
                self._take(found)
                return
            if all(value.is_cpu for value in _tensors(found)):
                self._take(_settled(found))
                return
        self._waiting.append(found)
        if len(self._waiting) >= _WAITING:
            self._settle()

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        for found in waiting:
            self._take(_settled(found))

    def _take(self, found: State) -> None:
        self._check(found)
        self._state = self._merge(self._state, found) if self._state else found


class Mean(Accumulated):
    """The mean over all elements that were seen; a subclass gives `_sums(output, target)`: a sum and a count."""

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        raise NotImplementedError(f"{type(self).__name__} must define _sums(output, target).")

    def _statistics(self, output: Any, target: Any) -> State:
        total, count = self._sums(output, target)
        return {"total": total, "count": count}

    def _value(self, state: State) -> float | Tensor:
        return divide(state["total"], state["count"])


class FunctionMetric(Mean):
    """The mean of `function(output, target)`, each batch weighted by its number of samples.

    Example:
        >>> import pyburn
        >>> bias = FunctionMetric(lambda output, target: (output - target).mean(), name="bias")
        >>> bias.update(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.zeros(3))
        >>> bias.update(pyburn.tensor([6.0]), pyburn.zeros(1))
        >>> bias.name, bias.compute()
        ('bias', 3.0)
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        name: str | None = None,
        higher_is_better: bool | None = None,
    ) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.higher_is_better = higher_is_better
        super().__init__()

    def observe(self, batch: Batch) -> None:
        """Takes one batch of the Learner into account, with the size that the Learner counted."""
        with no_grad():
            self._add(self._weighted(batch.output, batch.target, batch.size))

    def _statistics(self, output: Any, target: Any) -> State:
        return self._weighted(output, target, samples_of(target, output))

    def _weighted(self, output: Any, target: Any, size: int) -> State:
        value = self.function(output, target)
        if isinstance(value, Tensor):
            if value.numel() != 1:
                raise ValueError(
                    f"{self.name}: the function gave a tensor of shape {list(value.shape)}, but a metric is one number "
                    "per batch; let it return e.g. value.mean()."
                )
            value = at_least_float32(value.detach()).reshape([])
        return {"total": value * size, "count": size}


def divide(total: Tensor | float, count: Tensor | float) -> float:
    """The quotient as a number; nan for 0/0, inf for x/0.

    Example:
        >>> divide(1.0, 4), divide(0.0, 0)
        (0.25, nan)
    """
    above, below = float(total), float(count)
    if below == 0:
        return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
    return above / below


def at_least_float32(values: Tensor) -> Tensor:
    """Floats whose sum neither overflows nor is coarse: float64 stays, all else becomes float32.

    Example:
        >>> import pyburn
        >>> at_least_float32(pyburn.ones(2, dtype=pyburn.float16)).dtype
        pyburn.float32
    """
    return values if values.dtype in (float32, float64) else values.to(float32)


def to_tensor(name: str, role: str, value: Any) -> Tensor:
    """A tensor without gradients, from a tensor, an array or numbers; `name` and `role` are for the error.

    Example:
        >>> to_tensor("accuracy", "target", [0, 1])
        tensor([0, 1])
    """
    if isinstance(value, Tensor):
        return value.detach()
    if value is None:
        raise TypeError(
            f"{name}: there is no {role} to judge; where the model has a training_step or validation_step itself, let "
            'it return {"loss": loss, "output": output, "target": target}.'
        )
    try:
        return as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{name}: {role} is a {type(value).__name__}, but this metric takes a tensor; pick the tensor of it in a "
            "function (output, target) -> value, or in a subclass that overrides observe()."
        ) from None


def samples_of(*values: Any) -> int:
    """How many samples the first tensor or list has.

    Example:
        >>> samples_of(None, [1, 2, 3])
        3
    """
    for value in values:
        if isinstance(value, Tensor):
            return value.shape[0] if value.ndim else 1
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping)):
            return len(value)
    return 1


def _tensors(found: State) -> list[Tensor]:
    values = [item for value in found.values() for item in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, Tensor)]


def _settled(found: State) -> State:
    """The same statistics on the CPU, where sums of floats are float64 and of integers int64."""
    return {key: _widened(value) for key, value in found.items()}


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [item.cpu() if isinstance(item, Tensor) else item for item in value]
    if not isinstance(value, Tensor):
        return value
    if not value.ndim:
        return value.item()  # adding numbers takes a tenth of the time of adding tensors
    return value.cpu().to(float64 if value.is_floating_point() else int64)


def _sum_of(name: str, old: Any, new: Any) -> Any:
    if isinstance(new, str):
        if old != new:
            raise ValueError(
                f"{name}: this batch is {new}, but the batches before were {old}; call reset() in between."
            )
        return old
    if isinstance(new, Tensor) and isinstance(old, Tensor) and old.shape != new.shape:
        raise ValueError(
            f"{name}: this batch has {list(new.shape)} statistics, but the batches before had {list(old.shape)}; all "
            "batches need the same number of classes or outputs: call reset() in between, or give num_classes."
        )
    return old + new


def _packed(value: Any) -> Any:
    """A copy whose wide sums are bytes: a checkpoint may be loaded to a device that has no float64 and int64."""
    if isinstance(value, Tensor) and value.dtype in _WIDE.values():
        kind = next(name for name, dtype in _WIDE.items() if dtype == value.dtype)
        return {kind: value.detach().contiguous().reshape([-1]).view(uint8).clone(), "shape": list(value.shape)}
    return _copied(value)


def _unpacked(value: Any) -> Any:
    """What `_packed` was given, on the CPU."""
    if isinstance(value, dict) and "shape" in value:
        kind = next(name for name in value if name in _WIDE)
        return value[kind].cpu().clone().view(_WIDE[kind]).reshape(value["shape"])
    if isinstance(value, list):
        return [item.cpu() if isinstance(item, Tensor) else item for item in _copied(value)]
    return _copied(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (Tensor, bool, int, float, str))


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    return {key: _copied(item) for key, item in value.items()} if isinstance(value, dict) else value


def joined(values: list[Tensor]) -> Tensor:
    """One tensor of the batches in a list.

    Example:
        >>> import pyburn
        >>> joined([pyburn.tensor([1]), pyburn.tensor([2, 3])])
        tensor([1, 2, 3])
    """
    return values[0] if len(values) == 1 else cat(values)
