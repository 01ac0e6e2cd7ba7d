"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.distributions import constraints
from pyburn.distributions._gamma_sampling import standard_gamma
from pyburn.distributions.distribution import Shape
from pyburn.distributions.exp_family import ExponentialFamily
from pyburn.distributions.utils import broadcast_all, is_number
from pyburn.ops import as_tensor, xlogy


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: The shape, often called alpha.
        rate: One over the scale, often called beta.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _spread = ("concentration", "rate")
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        shape = Size() if is_number(concentration, rate) else self.concentration.shape
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=finfo(value.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        from pyburn import special

        if self._validate_args:
            self._validate_sample(value)
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
