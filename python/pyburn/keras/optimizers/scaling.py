"""An optimizer around another one that keeps small gradients of float16 from becoming zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras._registry import deserialize_keras_object, serialize_keras_object
from pyburn.keras.optimizers.base import Optimizer

__all__ = ["LossScaleOptimizer"]


class LossScaleOptimizer(Optimizer):
    """Scales the loss up and its gradients down again, by a factor that grows until something is no number.

    Args:
        inner_optimizer: The optimizer that changes the weights.
        initial_scale: The first factor.
        dynamic_growth_steps: After how many good steps the factor is doubled.
        name: Its name.
        **kwargs: Nothing else is known.
    """

    def __init__(
        self,
        inner_optimizer: Any,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(0.0, name=name, **kwargs)
        self.inner_optimizer = inner_optimizer
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        self.dynamic_scale, self._good = float(initial_scale), 0

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's rate."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.inner_optimizer.learning_rate = value

    def build(self, variables: Iterable[Tensor]) -> None:
        super().build(variables)
        self.inner_optimizer.build(self.param_groups[0]["params"])
        self.state = self.inner_optimizer.state

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the factor."""
        return loss * self.dynamic_scale

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Tensor] | None = None) -> None:
        variables = list(self.param_groups[0]["params"] if trainable_variables is None else trainable_variables)
        if not self.built:
            self.build(variables)
        scaled = [None if grad is None else grad / self.dynamic_scale for grad in grads]
        if all(grad is None or bool(ops.isfinite(grad).all()) for grad in scaled):
            self.inner_optimizer.apply(scaled, variables)
            self._good += 1
            if self._good >= self.dynamic_growth_steps:
                self._good, self.dynamic_scale = 0, self.dynamic_scale * 2.0
        else:
            # The weights stay: this step is lost.
            self._good, self.dynamic_scale = 0, self.dynamic_scale / 2.0
        self._iterations += 1

    def finalize_variable_values(self, var_list: Sequence[Tensor]) -> None:
        """Nothing; with `use_ema`, the weights are their averages."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inner_optimizer": serialize_keras_object(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """The optimizer that `get_config` described."""
        inner = deserialize_keras_object(config["inner_optimizer"], custom_objects, "optimizers")
        return cls(inner, **{name: value for name, value in config.items() if name != "inner_optimizer"})
