"""The binomial distribution."""

# Sums of numbers and tensors are Any to mypy, and nearly every formula here is one.
# mypy: no-warn-return-any
from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor, float64
from pyburn._size import Size
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from pyburn.ops import arange, rand, tensor


def _uniform() -> float:
    return float(rand((), dtype=float64, device="cpu").item())


def _by_waiting(count: float, prob: float) -> float:
    """Successes counted by the trials between them, for few of them."""
    log_miss, trials, found = math.log1p(-prob), 0.0, 0.0
    while True:
        trials += math.ceil(math.log(_uniform()) / log_miss)
        if trials > count:
            return found
        found += 1.0


def _tail(k: float) -> float:
    """What Stirling's formula leaves of the logarithm of a factorial."""
    return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))


def _by_rejection(count: float, prob: float) -> float:
    """Transformed rejection with squeeze (Hoermann, 1993: BTRS), for many."""
    spread = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    middle, odds = math.floor((count + 1) * prob), prob / (1 - prob)
    while True:
        u, v = _uniform() - 0.5, _uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * prob + 0.5) if us else -1
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return float(k)
        if k < 0 or k > count or v == 0:
            continue
        bound = (middle + 0.5) * math.log((middle + 1) / (odds * (count - middle + 1)))
        bound += (count + 1) * math.log((count - middle + 1) / (count - k + 1))
        bound += (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        bound += _tail(middle) + _tail(count - middle) - _tail(k) - _tail(count - k)
        if math.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b)) <= bound:
            return float(k)


def _draw_one(count: float, prob: float) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - _draw_one(count, 1 - prob)
    return _by_rejection(count, prob) if count * prob >= 10 else _by_waiting(count, prob)


@no_grad()
def draw_binomial(count: Tensor, probs: Tensor) -> Tensor:
    """Numbers of successes, one after the other from torch's own stream."""
    if bool((probs.isnan() | count.isnan()).any()):
        return count * probs
    pairs = zip(count.flatten().tolist(), probs.flatten().tolist(), strict=True)
    drawn = tensor([_draw_one(float(n), float(p)) for n, p in pairs], dtype=count.dtype, device=count.device)
    return drawn.reshape(count.shape)


class Binomial(Distribution):
    """How many of `total_count` independent trials succeed.

    Args:
        total_count: How many trials there are.
        probs: The probability of success; or
        logits: its log-odds.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Binomial(4, pyburn.tensor(0.5)).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return draw_binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        logits = self.logits
        normalizer = n * logits.clamp(min=0) + n * (-logits.abs()).exp().log1p()
        return ways + value * logits - normalizer

    def entropy(self) -> Tensor:
        total = int(self.total_count.amax().item())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.amax().item())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view([-1] + [1] * len(self._batch_shape))
        return values.expand([-1, *self._batch_shape]) if expand else values
