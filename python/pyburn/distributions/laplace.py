"""The Laplace distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all, is_number
from pyburn.ops import empty


class Laplace(Distribution):
    """Numbers around `loc` whose distance from it is exponentially distributed.

    Args:
        loc: The mean.
        scale: The mean distance.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Laplace(0.0, 1.0).variance
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(Size() if is_number(loc, scale) else self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = empty(shape, dtype=self.loc.dtype, device=self.loc.device).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
