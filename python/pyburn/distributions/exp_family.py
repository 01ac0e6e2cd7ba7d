"""Distributions of an exponential family."""

# Sums of numbers and tensors are Any to mypy, and nearly every formula here is one.
# mypy: no-warn-return-any
from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import grad
from pyburn.distributions.distribution import Distribution
from pyburn.distributions.utils import sum_rightmost


class ExponentialFamily(Distribution):
    """A distribution whose density is `h(x) exp(x . theta - F(theta))`: a subclass gives theta and F."""

    _mean_carrier_measure: Any = None

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not give its natural parameters.")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not give its log normalizer.")

    def entropy(self) -> Tensor:
        """The entropy, from the gradient of the log normalizer."""
        if self._mean_carrier_measure is None:
            raise NotImplementedError(f"{type(self).__name__} has no entropy in closed form.")
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for p, slope in zip(params, slopes, strict=True):
            result = result - sum_rightmost(p * slope, len(self.event_shape)).reshape([*self._batch_shape])
        return result
