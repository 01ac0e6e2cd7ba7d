"""The base of Keras's optimizers: a `pyburn.optim.Optimizer` that is made before there are weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pyburn import nn, ops, optim
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras._naming import snake_case
from pyburn.keras._registry import serialize_keras_object
from pyburn.keras.optimizers.schedules import LearningRateSchedule

__all__ = ["Optimizer"]

_SHARED = (
    "weight_decay",
    "clipnorm",
    "global_clipnorm",
    "clipvalue",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "loss_scale_factor",
    "gradient_accumulation_steps",
)


class _Rate(float):
    """A learning rate with the words of Keras's variable: `assign`, `numpy`, `value`."""

    _owner: Any = None

    def assign(self, value: Any) -> None:
        """Nothing; the optimizer's rate is `value` from now on."""
        self._owner.learning_rate = float(value)

    def numpy(self) -> Any:
        """The rate as numpy's number."""
        return ops.tensor(float(self)).numpy()

    @property
    def value(self) -> Tensor:
        """The rate as a tensor."""
        return ops.tensor(float(self))


class _Steps(int):
    """A number of steps with the words of Keras's variable: `assign`, `numpy`, `value`."""

    _owner: Any = None

    def assign(self, value: Any) -> None:
        """Nothing; the optimizer counts on from `value`."""
        self._owner.iterations = int(value)

    def numpy(self) -> Any:
        """The number as numpy's."""
        return ops.tensor(int(self)).numpy()

    @property
    def value(self) -> Tensor:
        """The number as a tensor."""
        return ops.tensor(int(self))


class Optimizer(optim.Optimizer):
    """Changes weights by their gradients: a subclass says in `update_step` how.

    Args:
        learning_rate: A number, a schedule, or a function without arguments.
        weight_decay: How much of a weight, times the rate, is taken away at each step.
        clipnorm: The largest norm of each gradient.
        clipvalue: The largest size of each number in a gradient.
        global_clipnorm: The largest norm of all gradients together.
        use_ema: Whether a moving average of the weights is kept, which takes their place when `fit` ends.
        ema_momentum: How much of the average stays at each step.
        ema_overwrite_frequency: After how many steps the average takes the weights' place; None only at the end.
        loss_scale_factor: The factor that losses are multiplied and gradients divided by.
        gradient_accumulation_steps: How many steps' gradients make one change.
        name: Its name.
        **kwargs: Nothing else is known.
    """

    _settings: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("is_legacy_optimizer", None)
        kwargs.pop("jit_compile", None)
        if kwargs:
            raise ValueError(f"{type(self).__name__}: unknown arguments {sorted(kwargs)}")
        if sum(each is not None for each in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(f"{type(self).__name__}: only one of clipnorm, clipvalue and global_clipnorm can be set")
        self.name = name or snake_case(type(self).__name__)
        self.weight_decay, self.clipnorm, self.clipvalue = weight_decay, clipnorm, clipvalue
        self.global_clipnorm, self.use_ema, self.ema_momentum = global_clipnorm, use_ema, ema_momentum
        self.ema_overwrite_frequency, self.loss_scale_factor = ema_overwrite_frequency, loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        if isinstance(learning_rate, dict):
            learning_rate = _schedule(learning_rate)
        self._schedule = learning_rate if callable(learning_rate) else None
        if isinstance(learning_rate, str):
            raise ValueError(
                f"{type(self).__name__}: learning_rate is {learning_rate!r}, but must be a number or a schedule"
            )
        self.defaults: dict[str, Any] = {"lr": 0.0 if self._schedule else float(learning_rate)}
        self.state = defaultdict(dict)
        self.param_groups = [{"params": [], **self.defaults}]
        self._make_hook_tables()
        self.iterations = 0
        self.built = False
        self._undecayed: tuple[set[int], list[str]] = (set(), [])
        self._waiting: list[Tensor | None] = []
        self._seen = 0
        self._averages: dict[Tensor, Tensor] = {}

    def build(self, variables: Iterable[Tensor]) -> None:
        """Nothing; these weights are optimized from now on."""
        self.param_groups[0]["params"] = list(variables)
        self.built = True

    def _rate(self) -> float:
        if self._schedule is None:
            return float(self.param_groups[0]["lr"])
        if isinstance(self._schedule, LearningRateSchedule):
            return float(self._schedule(self._iterations))
        return float(self._schedule())

    @property
    def learning_rate(self) -> Any:
        """The rate of the next step; setting a number or a schedule replaces it."""
        rate = _Rate(self._rate())
        rate._owner = self
        return rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._schedule = value if callable(value) else None
        if self._schedule is None:
            self.param_groups[0]["lr"] = float(value)

    lr = learning_rate

    @property
    def iterations(self) -> Any:
        """How many steps were taken."""
        steps = _Steps(self._iterations)
        steps._owner = self
        return steps

    @iterations.setter
    def iterations(self, value: Any) -> None:
        self._iterations = int(value)

    @property
    def variables(self) -> list[Tensor]:
        """What the optimizer remembers of the weights."""
        return [value for kept in self.state.values() for value in kept.values() if isinstance(value, Tensor)]

    def exclude_from_weight_decay(
        self, var_list: Iterable[Tensor] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Nothing; these weights are not decayed (weights, or parts of the names that they have)."""
        self._undecayed = ({id(each) for each in var_list or ()}, list(var_names or ()))

    def scale_loss(self, loss: Any) -> Any:
        """The loss that gradients are computed of."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def step(self, closure: Any = None) -> Any:
        """What `closure` gave, or None; the weights have taken one step by their `.grad`."""
        loss = None if closure is None else closure()
        variables = self.param_groups[0]["params"]
        self.apply([each.grad for each in variables], variables)
        return loss

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Tensor]]) -> int:
        """The number of steps so far; the weights of the pairs have taken one more."""
        pairs = list(grads_and_vars)
        self.apply([grad for grad, _ in pairs], [weight for _, weight in pairs])
        return self._iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Tensor] | None = None) -> None:
        """Nothing; the weights have taken one step by these gradients."""
        variables = list(self.param_groups[0]["params"] if trainable_variables is None else trainable_variables)
        if not self.built:
            self.build(variables)
        with no_grad():
            found = self._accumulated(list(grads))
            if found is None:
                return
            pairs = [(weight, grad) for weight, grad in zip(variables, found, strict=True) if grad is not None]
            rate = self._rate()
            self.param_groups[0]["lr"] = rate
            if pairs:
                self._decay(pairs, rate)
                self._update([weight for weight, _ in pairs], self._clipped([grad for _, grad in pairs]), rate)
            self._iterations += 1
            if self.use_ema:
                self._average(variables)

    def _accumulated(self, grads: list[Any]) -> list[Any] | None:
        steps = self.gradient_accumulation_steps
        if self.loss_scale_factor is not None:
            grads = [None if grad is None else grad / self.loss_scale_factor for grad in grads]
        if not steps or steps == 1:
            return grads
        self._waiting = self._waiting or [None] * len(grads)
        self._waiting = [
            grad if kept is None else (kept if grad is None else kept + grad)
            for kept, grad in zip(self._waiting, grads, strict=True)
        ]
        self._seen += 1
        if self._seen % steps:
            return None
        whole, self._waiting = [None if grad is None else grad / steps for grad in self._waiting], []
        return whole

    def _clipped(self, grads: list[Tensor]) -> list[Tensor]:
        if self.clipvalue is not None:
            return [ops.clamp(grad, -self.clipvalue, self.clipvalue) for grad in grads]
        if self.clipnorm is not None:
            return [grad * ops.clamp(self.clipnorm / ops.clamp(_norm([grad]), min=1e-30), max=1.0) for grad in grads]
        if self.global_clipnorm is not None:
            factor = ops.clamp(self.global_clipnorm / ops.clamp(_norm(grads), min=1e-30), max=1.0)
            return [grad * factor for grad in grads]
        return grads

    def _decay(self, pairs: list[tuple[Tensor, Tensor]], rate: float) -> None:
        if not self.weight_decay:
            return
        ids, names = self._undecayed
        for weight, _ in pairs:
            called = str(getattr(weight, "path", ""))
            if id(weight) not in ids and not any(part in called for part in names):
                weight.mul_(1.0 - self.weight_decay * rate)

    def _update(self, variables: list[Tensor], grads: list[Tensor], rate: float) -> None:
        """Nothing; the weights have changed. A subclass with a native twin uses it here."""
        for weight, grad in zip(variables, grads, strict=True):
            self.update_step(grad, weight, rate)

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        """Nothing; one weight has taken its step. Every subclass says how."""
        raise NotImplementedError(f"{type(self).__name__}: an optimizer must define update_step")

    def _kept(self, variable: Tensor, name: str, value: float = 0.0) -> Tensor:
        """What is remembered of a weight under `name`, in its shape."""
        kept = self.state[variable]
        if name not in kept:
            kept[name] = ops.full_like(variable.detach(), value)
        found: Tensor = kept[name]
        return found

    def add_variable_from_reference(
        self, reference_variable: Tensor, name: str | None = None, initializer: Any = "zeros"
    ) -> Tensor:
        """Something to remember of a weight in its shape, for optimizers of one's own: zeros, or ones."""
        places = self.state[reference_variable]
        value = 1.0 if initializer == "ones" else 0.0
        return self._kept(reference_variable, name or f"variable_{len(places)}", value)

    def add_optimizer_variables(
        self, trainable_variables: Iterable[Tensor], name: Any, initializer: Any = "zeros"
    ) -> Any:
        """For each name, something to remember of each weight; a list of lists where several names are given."""
        names = [name] if isinstance(name, str) else list(name)
        firsts = [initializer] * len(names) if isinstance(initializer, str) else list(initializer)
        weights = list(trainable_variables)
        made = [
            [self.add_variable_from_reference(weight, each, first) for weight in weights]
            for each, first in zip(names, firsts, strict=True)
        ]
        return made[0] if isinstance(name, str) else made

    def assign(self, variable: Tensor, value: Any) -> None:
        """Nothing; the weight has this value."""
        with no_grad():
            variable.copy_(value)

    def assign_add(self, variable: Tensor, value: Any) -> None:
        """Nothing; the weight is larger by this."""
        with no_grad():
            variable.add_(value)

    def assign_sub(self, variable: Tensor, value: Any) -> None:
        """Nothing; the weight is smaller by this."""
        with no_grad():
            variable.sub_(value)

    def _get_variable_index(self, variable: Tensor) -> int:
        """The place of a weight among those that are optimized."""
        return [id(each) for each in self.param_groups[0]["params"]].index(id(variable))

    def _average(self, variables: Sequence[Tensor]) -> None:
        for weight in variables:
            if weight not in self._averages:
                self._averages[weight] = weight.detach().clone()
            else:
                self._averages[weight].lerp_(weight.detach(), 1.0 - self.ema_momentum)
        every = self.ema_overwrite_frequency
        if every and self._iterations % every == 0:
            self.finalize_variable_values(variables)

    def finalize_variable_values(self, var_list: Sequence[Tensor]) -> None:
        """Nothing; with `use_ema`, the weights are their averages."""
        if self.use_ema:
            with no_grad():
                for weight in var_list:
                    if weight in self._averages:
                        weight.copy_(self._averages[weight])

    def state_dict(self) -> dict[str, Any]:
        """What the optimizer remembers, as `load_state_dict` takes it."""
        return super().state_dict() | {"iterations": self._iterations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the optimizer remembers what `state_dict` gave."""
        self.iterations = int(state_dict.get("iterations", 0))
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "iterations"})

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same optimizer."""
        rate = serialize_keras_object(self._schedule) if self._schedule is not None else self._rate()
        config: dict[str, Any] = {"name": self.name, "learning_rate": rate}
        return config | {name: getattr(self, name) for name in (*_SHARED, *self._settings)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """The optimizer that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        named = {"learning_rate": self._rate(), **{name: getattr(self, name) for name in self._settings}}
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in named.items())})"


def _schedule(config: dict[str, Any]) -> Any:
    from pyburn.keras._registry import deserialize_keras_object

    return deserialize_keras_object(config, None, "optimizers.schedules")


def _norm(grads: list[Tensor]) -> Tensor:
    return nn.utils.get_total_norm(grads)
