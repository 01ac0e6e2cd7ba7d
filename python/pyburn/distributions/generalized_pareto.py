"""The generalized Pareto distribution, of what exceeds a threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all
from pyburn.ops import isclose, rand, where, zeros_like


class GeneralizedPareto(Distribution):
    """Numbers above `loc`, with a tail as heavy as `concentration` says; 0 is the exponential distribution.

    Args:
        loc: The smallest value.
        scale: The unit of the excess.
        concentration: The weight of the tail.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _is_exponential(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is zero, and the concentration with ones there."""
        zero = isclose(self.concentration, zeros_like(self.concentration))
        return zero, where(zero, 1.0, self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        excess = (value - self.loc) / self.scale
        zero, shape = self._is_exponential()
        power = 1 / shape + 1
        curved = where(power == 0, power, power * (shape * excess).log1p())
        return -self.scale.log() - where(zero, excess, curved)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        excess = (value - self.loc) / self.scale
        zero, shape = self._is_exponential()
        return where(zero, -excess, -(shape * excess).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of at most `value`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._is_exponential()
        rest = (-value).log1p()
        return where(zero, self.loc - self.scale * rest, self.loc + self.scale / shape * (-shape * rest).expm1())

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        value = self.loc + self.scale / (1 - where(finite, self.concentration, 0.5))
        return where(finite, value, math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        shape = where(finite, self.concentration, 0.25)
        return where(finite, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From `loc` upwards, and for light tails up to an end."""
        end = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)
