"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.chi2 import Chi2
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.normal import standard_normal
from pyburn.distributions.utils import broadcast_all


class StudentT(Distribution):
    """Student's t-distribution.

    Args:
        df: The degrees of freedom.
        loc: The centre.
        scale: The width.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        result = self.scale.pow(2) * self.df / (self.df - 2)
        return result.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        z = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * x * (z / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        z = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - (half + 0.5).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - z

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        lbeta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        slope = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + slope + 0.5 * self.df.log() + lbeta
