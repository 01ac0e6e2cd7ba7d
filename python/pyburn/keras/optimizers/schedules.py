"""Learning rates that change with the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn.keras._registry import Configured, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]


class LearningRateSchedule(Configured):
    """A rate for each step: a subclass has `__call__(step)`."""

    def __call__(self, step: Any) -> Any:
        """The rate of that step."""
        raise NotImplementedError(f"{type(self).__name__}: a schedule must define __call__(step)")


class ExponentialDecay(LearningRateSchedule):
    """`rate * decay_rate ** (step / decay_steps)`, in stairs with `staircase`.

    Example:
        >>> ExponentialDecay(1.0, decay_steps=10, decay_rate=0.5)(20)
        0.25
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def __call__(self, step: Any) -> Any:
        passed = float(step) / self.decay_steps
        return self.initial_learning_rate * self.decay_rate ** (math.floor(passed) if self.staircase else passed)


class InverseTimeDecay(LearningRateSchedule):
    """`rate / (1 + decay_rate * step / decay_steps)`, in stairs with `staircase`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def __call__(self, step: Any) -> Any:
        passed = float(step) / self.decay_steps
        return self.initial_learning_rate / (1 + self.decay_rate * (math.floor(passed) if self.staircase else passed))


class PiecewiseConstantDecay(LearningRateSchedule):
    """One rate up to and with each boundary, and a last one after all."""

    def __init__(self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant") -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                f"PiecewiseConstantDecay: {len(boundaries)} boundaries need {len(boundaries) + 1} values, "
                f"but got {len(values)}"
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        return self.values[sum(float(step) > boundary for boundary in self.boundaries)]


class PolynomialDecay(LearningRateSchedule):
    """From one rate to another along a power of the steps left."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def __call__(self, step: Any) -> Any:
        step, total = float(step), float(self.decay_steps)
        if self.cycle:
            total *= max(1.0, math.ceil(step / total))
        left = 1 - min(step, total) / total
        return (self.initial_learning_rate - self.end_learning_rate) * left**self.power + self.end_learning_rate


class CosineDecay(LearningRateSchedule):
    """A half wave of a cosine down to `alpha` times the rate, after a straight way up where there are warmup steps."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.alpha, self.name = (
            initial_learning_rate,
            decay_steps,
            alpha,
            name,
        )
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def __call__(self, step: Any) -> Any:
        step, start, top = float(step), self.initial_learning_rate, self.initial_learning_rate
        if self.warmup_target is not None:
            top = self.warmup_target
            if step < self.warmup_steps:
                return start + (top - start) * step / self.warmup_steps
            step -= self.warmup_steps
        share = min(step, self.decay_steps) / self.decay_steps
        return top * ((1 - self.alpha) * 0.5 * (1 + math.cos(math.pi * share)) + self.alpha)


class CosineDecayRestarts(LearningRateSchedule):
    """Half waves of a cosine one after the other, each `t_mul` times as long and `m_mul` times as high."""

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        self.initial_learning_rate, self.first_decay_steps = initial_learning_rate, first_decay_steps
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def __call__(self, step: Any) -> Any:
        done = float(step) / self.first_decay_steps
        if self.t_mul == 1.0:
            wave = math.floor(done)
            share = done - wave
        else:
            wave = math.floor(math.log(1.0 - done * (1.0 - self.t_mul)) / math.log(self.t_mul))
            share = (done - (1.0 - self.t_mul**wave) / (1.0 - self.t_mul)) / self.t_mul**wave
        high = self.m_mul**wave
        return self.initial_learning_rate * (
            (1 - self.alpha) * 0.5 * high * (1 + math.cos(math.pi * share)) + self.alpha
        )


serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule that `serialize` described."""
    return _deserialize(config, custom_objects, "optimizers.schedules")
