"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.transformed_distribution import TransformedDistribution
from pyburn.distributions.transforms import AffineTransform, PowerTransform
from pyburn.distributions.uniform import Uniform
from pyburn.distributions.utils import broadcast_all, euler_constant
from pyburn.ops import full_like


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, much as the beta distribution's, with a simple cdf.

    Args:
        concentration1: How strongly samples are drawn to 1.
        concentration0: How strongly to 0.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _spread = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero, one = full_like(self.concentration0, 0), full_like(self.concentration0, 1)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zero, one, validate_args=validate_args), transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        first = 1 + n / a
        return (b.log() + first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        # torch's formula, which is another one than the known ((a - 1) / (a b - 1))^(1 / a).
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
