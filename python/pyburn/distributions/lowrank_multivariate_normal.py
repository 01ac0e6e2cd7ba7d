"""The multivariate normal distribution with a covariance of low rank."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.multivariate_normal import half_log_det, mahalanobis
from pyburn.distributions.normal import standard_normal
from pyburn.distributions.utils import lazy_property
from pyburn.ops import broadcast_tensors, eye


def _with_one(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance `cov_factor @ cov_factor.T + diag(cov_diag)`.

    Args:
        loc: The mean.
        cov_factor: The factor of low rank.
        cov_diag: The diagonal.
        validate_args: See `Distribution`.
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        from pyburn.distributions import _linalg as linalg

        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        events = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != events:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {events[0]} x m")
        if cov_diag.shape[-1:] != events:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {events}")
        wide = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        self.loc, self.cov_factor, self.cov_diag = wide[0][..., 0], wide[1], wide[2][..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        self._capacitance_tril = linalg.cholesky(_with_one(scaled @ cov_factor))
        super().__init__(self.loc.shape[:-1], events, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    def _whole(self) -> list[int]:
        return [*self._batch_shape, *self._event_shape, *self._event_shape]

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        both = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return both.expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        from pyburn.distributions import _linalg as linalg

        # The matrix between the roots of the diagonal has no eigenvalue below 1.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        factor: Tensor = root * linalg.cholesky(_with_one(scaled @ scaled.mT))
        return factor.expand(self._whole())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return (factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()).expand(self._whole())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inner = self._solved()
        return (self._unbroadcasted_cov_diag.reciprocal().diag_embed() - inner.mT @ inner).expand(self._whole())

    def _solved(self) -> Tensor:
        from pyburn.distributions import _linalg as linalg

        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        result: Tensor = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return result

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, x: Tensor) -> Tensor:
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        inner = mahalanobis(self._capacitance_tril, (scaled @ x.unsqueeze(-1)).squeeze(-1))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - inner

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        first = standard_normal([*shape[:-1], self.cov_factor.shape[-1]], self.loc)
        second = standard_normal(shape, self.loc)
        along = (self._unbroadcasted_cov_factor @ first.unsqueeze(-1)).squeeze(-1)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * second

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = self._distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        half = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return half.expand(self._batch_shape)
