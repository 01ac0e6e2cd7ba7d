"""Keras's optimizers with Keras's formulas and defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pyburn import ops, optim
from pyburn._core import Tensor
from pyburn.keras.optimizers.base import Optimizer

__all__ = [
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lamb",
    "Lion",
    "Nadam",
    "RMSprop",
]


class _Twin(Optimizer):
    """An optimizer whose step a native one of `pyburn.optim` takes."""

    _inner: optim.Optimizer | None = None

    def _make(self, variables: list[Tensor]) -> optim.Optimizer:
        raise NotImplementedError

    def build(self, variables: Iterable[Tensor]) -> None:
        super().build(variables)
        given = self.param_groups[0]["params"]
        self._inner = self._make(given) if given else None
        if self._inner is not None:
            # One memory for both: what is saved and loaded is what the native step uses.
            self._inner.state = self.state

    def _before(self, group: dict[str, Any], rate: float) -> None:
        group["lr"] = rate

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        if self._inner is not None:
            self._inner.state = self.state

    def _update(self, variables: list[Tensor], grads: list[Tensor], rate: float) -> None:
        if self._inner is None:
            self.build(variables)
        if self._inner is None:
            return
        group = self._inner.param_groups[0]
        self._before(group, rate)
        wanted = group["params"]
        kept = [(weight, weight.grad) for weight in variables]
        for weight, grad in zip(variables, grads, strict=True):
            weight.grad = grad
        group["params"] = variables
        try:
            self._inner.step()
        finally:
            group["params"] = wanted
            for weight, old in kept:
                weight.grad = old


class SGD(_Twin):
    """`w -= rate * gradient`, with momentum where it is given.

    Example:
        >>> import pyburn
        >>> w = pyburn.nn.Parameter(pyburn.ones(1))
        >>> SGD(0.1).apply([pyburn.tensor([2.0])], [w]); w.data
        tensor([0.8000])
    """

    _settings = ("momentum", "nesterov")

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError(f"SGD: momentum is {momentum}, but must be between 0 and 1")
        self.momentum, self.nesterov = momentum, nesterov
        self._last_rate: float | None = None

    def _make(self, variables: list[Tensor]) -> optim.Optimizer:
        return optim.SGD(variables, 0.1, self.momentum, nesterov=self.nesterov and self.momentum > 0)

    def _before(self, group: dict[str, Any], rate: float) -> None:
        # Keras's velocity has the rates of its steps in it, torch's has not: a new rate rescales it.
        if self.momentum and self._last_rate not in (None, rate) and rate:
            for kept in self.state.values():
                if kept.get("momentum_buffer") is not None:
                    kept["momentum_buffer"].mul_((self._last_rate or 0.0) / rate)
        if rate or self._last_rate is None:
            self._last_rate = rate
        group["lr"] = rate


class Adam(_Twin):
    """Adam with Keras's epsilon, which is not divided by the bias correction as torch's is."""

    _settings = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def _make(self, variables: list[Tensor]) -> optim.Optimizer:
        return optim.Adam(variables, 0.1, (self.beta_1, self.beta_2), self.epsilon, amsgrad=self.amsgrad)

    def _before(self, group: dict[str, Any], rate: float) -> None:
        group["lr"] = rate
        group["eps"] = self.epsilon / math.sqrt(1.0 - self.beta_2 ** (self._iterations + 1))


class AdamW(Adam):
    """Adam whose weights decay by `weight_decay` times the rate."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **kwargs)


class RMSprop(Optimizer):
    """Gradients over the root of their running mean square."""

    _settings = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        square = self._kept(variable, "velocity").mul_(self.rho).addcmul_(gradient, gradient, value=1 - self.rho)
        below = square
        if self.centered:
            mean = self._kept(variable, "average_gradient").lerp_(gradient, 1 - self.rho)
            below = square - mean * mean
        change = learning_rate * gradient / ops.sqrt(below + self.epsilon)
        if self.momentum > 0:
            change = self._kept(variable, "momentum").mul_(self.momentum).add_(change)
        variable.sub_(change)


class Adagrad(Optimizer):
    """Gradients over the root of the sum of their squares."""

    _settings = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        total = self._kept(variable, "accumulator", self.initial_accumulator_value).addcmul_(gradient, gradient)
        variable.sub_(learning_rate * gradient / ops.sqrt(total + self.epsilon))


class Adadelta(Optimizer):
    """Steps whose size follows the sizes of the steps before."""

    _settings = ("rho", "epsilon")

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        squares = self._kept(variable, "accumulated_grad").mul_(self.rho)
        squares.addcmul_(gradient, gradient, value=1 - self.rho)
        changes = self._kept(variable, "accumulated_delta")
        change = -ops.sqrt(changes + self.epsilon) * gradient / ops.sqrt(squares + self.epsilon)
        changes.mul_(self.rho).addcmul_(change, change, value=1 - self.rho)
        variable.add_(learning_rate * change)


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square."""

    _settings = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        mean = self._kept(variable, "m").lerp_(gradient, 1 - self.beta_1)
        largest = self._kept(variable, "u").mul_(self.beta_2)
        largest.copy_(ops.maximum(largest, ops.abs(gradient)))
        rate = learning_rate / (1 - self.beta_1 ** (self._iterations + 1))
        variable.sub_(rate * mean / (largest + self.epsilon))


class Nadam(Optimizer):
    """Adam with Nesterov's momentum."""

    _settings = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self._product = 1.0
        self._counted = 0

    def _momentum(self, step: int) -> float:
        return self.beta_1 * (1.0 - 0.5 * 0.96**step)

    def product_of(self, steps: int) -> float:
        """The product of the momenta of so many steps; after a file was read it is computed anew."""
        if steps < self._counted:
            self._counted, self._product = 0, 1.0
        while self._counted < steps:
            self._counted += 1
            self._product *= self._momentum(self._counted)
        return self._product

    def _update(self, variables: list[Tensor], grads: list[Tensor], rate: float) -> None:
        self.product_of(self._iterations + 1)
        super()._update(variables, grads, rate)

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        step = self._iterations + 1
        now, following = self._momentum(step), self._momentum(step + 1)
        mean = self._kept(variable, "m").lerp_(gradient, 1 - self.beta_1)
        square = self._kept(variable, "v").lerp_(gradient * gradient, 1 - self.beta_2)
        ahead = following * mean / (1 - self._product * following) + (1 - now) * gradient / (1 - self._product)
        below = ops.sqrt(square / (1 - self.beta_2**step)) + self.epsilon
        variable.sub_(learning_rate * ahead / below)


class Lion(Optimizer):
    """Steps of one size in the direction of the sign of a running mean."""

    _settings = ("beta_1", "beta_2")

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        mean = self._kept(variable, "m")
        variable.sub_(learning_rate * ops.sign(mean * self.beta_1 + gradient * (1.0 - self.beta_1)))
        mean.mul_(self.beta_2).add_(gradient, alpha=1.0 - self.beta_2)


class Lamb(Optimizer):
    """Adam whose steps are scaled, weight by weight, to the norm of the weight."""

    _settings = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        step = self._iterations + 1
        mean = self._kept(variable, "m").lerp_(gradient, 1 - self.beta_1)
        square = self._kept(variable, "v").lerp_(gradient * gradient, 1 - self.beta_2)
        below = ops.sqrt(square / (1 - self.beta_2**step)) + self.epsilon
        change = mean / (1 - self.beta_1**step) / below
        own, size = float(variable.norm()), float(change.norm())
        ratio = own / size if own > 0 and size > 0 else 1.0
        variable.sub_(ratio * change * learning_rate)


class Ftrl(Optimizer):
    """Follow the regularized leader, for large sparse models."""

    _settings = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.learning_rate_power, self.initial_accumulator_value = learning_rate_power, initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        total = self._kept(variable, "accumulator", self.initial_accumulator_value)
        line = self._kept(variable, "linear")
        l2 = self.l2_regularization_strength + self.beta / (2.0 * learning_rate)
        shrunk = gradient + 2 * self.l2_shrinkage_regularization_strength * variable
        grown = total + gradient * gradient
        power = -self.learning_rate_power
        line.add_(shrunk - (grown**power - total**power) / learning_rate * variable)
        slope = grown**power / learning_rate + 2 * l2
        l1 = self.l1_regularization_strength
        variable.copy_((ops.clamp(line, -l1, l1) - line) / slope)
        total.copy_(grown)


class Adafactor(Optimizer):
    """Adam with the mean squares of rows and columns only, for large matrices."""

    _settings = ("beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, *args, **kwargs)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        step = self._iterations + 1
        rate = min(learning_rate, 1 / math.sqrt(step)) if self.relative_step else learning_rate
        rate *= max(self.epsilon_2, float(ops.sqrt((variable * variable).mean())))
        beta = 1 - step**self.beta_2_decay
        square = gradient * gradient + self.epsilon_1
        if variable.dim() >= 2:
            kept = self.state[variable]
            rows = kept.setdefault("r", ops.zeros_like(square.mean(-1)))
            columns = kept.setdefault("c", ops.zeros_like(square.mean(-2)))
            rows.lerp_(square.mean(-1), 1 - beta)
            columns.lerp_(square.mean(-2), 1 - beta)
            mean = (rows / rows.mean(-1, keepdim=True)).unsqueeze(-1) * columns.unsqueeze(-2)
        else:
            mean = self._kept(variable, "v").lerp_(square, 1 - beta)
        change = gradient / ops.sqrt(mean)
        size = float(ops.sqrt((change * change).mean()))
        variable.sub_(rate * change / max(1.0, size / self.clip_threshold))
