"""The F-distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.gamma import Gamma
from pyburn.distributions.utils import broadcast_all, is_number


class FisherSnedecor(Distribution):
    """The ratio of two mean squares of normal numbers.

    Args:
        df1: The degrees of freedom above.
        df2: The degrees of freedom below.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.FisherSnedecor(1.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(Size() if is_number(df1, df2) else self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        above = Gamma(self.df1 * 0.5, self.df1, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 * 0.5, self.df2, validate_args=False).rsample(sample_shape)
        tiny = finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return constant + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
