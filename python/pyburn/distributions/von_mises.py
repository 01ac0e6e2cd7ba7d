"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor, float64
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all
from pyburn.ops import rand, where, zeros


class VonMises(Distribution):
    """Angles around `loc`.

    Args:
        loc: The most likely angle.
        concentration: How near the angles are to it.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.VonMises(pyburn.tensor(0.0), pyburn.tensor(1.0)).log_prob(pyburn.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        from pyburn import special

        if self._validate_args:
            self._validate_sample(value)
        # log I0(k) = log(exp(-k) I0(k)) + k, without overflow.
        log_i0 = special.i0e(self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_i0

    @no_grad()
    def sample(self, sample_shape: Shape = ()) -> Tensor:
        # Best and Fisher's rejection (1979), in double precision as torch does.
        shape = self._extended_shape(sample_shape)
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        x = zeros(shape, dtype=float64, device=self.loc.device)
        done = x > 0
        while not done.all():
            u1, u2, u3 = rand([3, *shape], dtype=float64, device=self.loc.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        angle = (x + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi
        return angle.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        from pyburn import special

        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)
