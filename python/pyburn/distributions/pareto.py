"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.exponential import Exponential
from pyburn.distributions.transformed_distribution import TransformedDistribution
from pyburn.distributions.transforms import AffineTransform, ExpTransform
from pyburn.distributions.utils import broadcast_all


class Pareto(TransformedDistribution):
    """Numbers above `scale` whose density falls with a power.

    Args:
        scale: The least value.
        alpha: The shape.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Pareto(1.0, 2.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}
    _spread = ("scale", "alpha")

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return (a * self.scale / (a - 1)).masked_fill(self.alpha <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return (self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))).masked_fill(self.alpha <= 2, math.inf)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
