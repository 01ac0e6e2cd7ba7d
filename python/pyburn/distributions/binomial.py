"""The binomial distribution."""

# Sums of numbers and tensors are Any to mypy, and nearly every formula here is one.
# mypy: no-warn-return-any
from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor, float64
from pyburn._size import Size
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions._gamma_sampling import _draw
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from pyburn.ops import arange, rand, where


@no_grad()
def draw_binomial(count: Tensor, probs: Tensor) -> Tensor:
    """Numbers of successes; large counts are halved by an order statistic, which is beta distributed."""
    n, p = count.to(float64), probs.to(float64)
    result = n * 0
    while bool((n > 32).any()):
        large = n > 32
        middle = (n / 2).floor() + 1
        first, second = _draw(middle), _draw((n + 1 - middle).clamp(min=1))
        x = first / (first + second)
        below = x <= p
        result = where(large & below, result + middle, result)
        next_n = where(below, n - middle, middle - 1)
        next_p = where(below, (p - x) / (1 - x), p / x)
        n, p = where(large, next_n, n), where(large, next_p.clamp(min=0, max=1), p)
    most = int(n.amax().item()) if n.numel() else 0
    trials = rand([most, *n.shape], dtype=float64, device=n.device) < p
    tries = arange(most, device=n.device, dtype=float64).view([-1] + [1] * n.dim()) < n
    return (result + (trials & tries).to(float64).sum(0)).to(count.dtype)


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
