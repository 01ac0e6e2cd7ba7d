"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.exponential import Exponential
from pyburn.distributions.transformed_distribution import TransformedDistribution
from pyburn.distributions.transforms import AffineTransform, PowerTransform
from pyburn.distributions.utils import broadcast_all, euler_constant
from pyburn.ops import ones_like


class Weibull(TransformedDistribution):
    """Powers of exponentially distributed numbers.

    Args:
        scale: The scale.
        concentration: The shape.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Weibull(2.0, 1.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _spread = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        k = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * k).lgamma().exp() - (2 * (1 + k).lgamma()).exp())

    def entropy(self) -> Tensor:
        k = self.concentration_reciprocal
        return euler_constant * (1 - k) + (self.scale * k).log() + 1
