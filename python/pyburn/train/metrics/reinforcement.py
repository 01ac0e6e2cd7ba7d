"""Metrics of agents: the return and length of their episodes, and how much they explore."""

from __future__ import annotations

from typing import Any

from pyburn._core import ShapeError, Tensor
from pyburn.ops import ones_like, where, zeros_like
from pyburn.train.metrics.base import Accumulated, Mean, State, at_least_float32, divide, to_tensor

__all__ = ["EpisodeLength", "EpisodeReturn", "ExplorationRate"]


class EpisodeReturn(Accumulated):
    """The mean return of the episodes that ended since `reset()`; nan before the first has ended.

    `update(reward, done)` takes one step: numbers, or tensors of one value per environment.

    Args:
        discount: The factor by which each later reward counts less.
        carry: Whether episodes under way go on across `reset()`: True for training whose epochs end in the middle of
            them, False where the environments start anew.

    Example:
        >>> import pyburn
        >>> returns = EpisodeReturn()
        >>> returns.update(pyburn.tensor([1.0, 2.0]), pyburn.tensor([False, True]))
        >>> returns.update(pyburn.tensor([1.0, 5.0]), pyburn.tensor([True, False]))
        >>> returns.compute()
        2.0
    """

    name = "episode_return"
    higher_is_better: bool | None = True

    def __init__(self, discount: float = 1.0, *, carry: bool = False, name: str | None = None) -> None:
        self.discount = discount
        self.carry = carry
        self.name = name or self.name
        self._running: Tensor | None = None
        self._factor: Tensor | None = None
        super().__init__()

    def reset(self) -> None:
        """Forgets the episodes that ended, and those under way unless they carry on."""
        super().reset()
        if not self.carry:
            self._running = self._factor = None

    def state_dict(self) -> State:
        """The sums over the episodes that ended, and those under way."""
        return super().state_dict() | {"running": _copy(self._running), "factor": _copy(self._factor)}

    def load_state_dict(self, state: Any) -> None:
        """Goes on from what `state_dict()` gave."""
        super().load_state_dict({key: value for key, value in state.items() if key not in ("running", "factor")})
        self._running, self._factor = _copy(state["running"]), _copy(state["factor"])

    def _gain(self, reward: Tensor) -> Tensor:
        return reward

    def _statistics(self, output: Any, target: Any) -> State:
        reward = at_least_float32(to_tensor(self.name, "reward", output)).reshape([-1])
        done = to_tensor(self.name, "done", target).reshape([-1]) != 0
        if reward.shape != done.shape or (self._running is not None and self._running.shape != reward.shape):
            known = "" if self._running is None else f", and {self._running.numel()} episodes are under way"
            raise ShapeError(
                f"{self.name}: {reward.numel()} rewards and {done.numel()} ends{known}; expected one of each per "
                "environment: call reset() when their number changes."
            )
        if self._running is None or self._factor is None:
            self._running, self._factor = zeros_like(reward), ones_like(reward)
        running, factor = self._running.to(reward.device), self._factor.to(reward.device)
        running = running + factor * self._gain(reward)
        self._running = where(done, 0.0, running)
        self._factor = where(done, 1.0, factor * self.discount)
        return {"total": where(done, running, 0.0).sum(), "count": done.sum()}

    def _value(self, state: State) -> float | Tensor:
        return divide(state["total"], state["count"])


class EpisodeLength(EpisodeReturn):
    """The mean number of steps of the episodes that ended since `reset()`; nan before the first has ended.

    `update(reward, done)` takes one step, as `EpisodeReturn` does.

    Example:
        >>> length = EpisodeLength()
        >>> for done in (False, False, True):
        ...     length.update(0.5, done)
        >>> length.compute()
        3.0
    """

    name = "episode_length"
    higher_is_better = None

    def __init__(self, *, carry: bool = False, name: str | None = None) -> None:
        super().__init__(carry=carry, name=name)

    def _gain(self, reward: Tensor) -> Tensor:
        return ones_like(reward)


class ExplorationRate(Mean):
    """The mean of the exploration rates, or of flags that say which actions were explored.

    Example:
        >>> rate = ExplorationRate()
        >>> rate.update(0.5)
        >>> rate.update(0.25)
        >>> rate.compute()
        0.375
    """

    name = "exploration_rate"

    def update(self, output: Any, target: Any = None) -> None:
        """Takes a rate, or one flag per action, into account."""
        super().update(output, target)

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        rates = at_least_float32(to_tensor(self.name, "output", output))
        return rates.sum(), rates.numel()


def _copy(value: Tensor | None) -> Tensor | None:
    return None if value is None else value.detach().clone()
