"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.normal import standard_normal
from pyburn.distributions.utils import lazy_property
from pyburn.ops import broadcast_shapes, eye


def mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squared length of `x` after the inverse of a lower triangular factor."""
    from pyburn.distributions import _linalg as linalg

    shape = broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    size = factor.shape[-1]
    solved: Tensor = linalg.solve_triangular(
        factor.expand([*shape, size, size]), x.expand([*shape, size]).unsqueeze(-1), upper=False
    )
    return solved.squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors.

    Args:
        loc: The mean.
        covariance_matrix: The covariance; or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.MultivariateNormal(pyburn.zeros(2), scale_tril=pyburn.eye(2)).variance
        tensor([1., 1.])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            name: value
            for name, value in (
                ("covariance_matrix", covariance_matrix),
                ("precision_matrix", precision_matrix),
                ("scale_tril", scale_tril),
            )
            if value is not None
        }
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} matrix must be at least two-dimensional, with optional leading batch dimensions")
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand([*batch, -1, -1]))
        self.loc = loc.expand([*batch, -1])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _whole(self) -> list[int]:
        return [*self._batch_shape, *self._event_shape, *self._event_shape]

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._whole())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._whole())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        from pyburn.distributions import _linalg as linalg

        factor = self._unbroadcasted_scale_tril
        one = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device).expand(factor.shape)
        inverse = linalg.solve_triangular(factor, one, upper=False)
        return (inverse.mT @ inverse).expand(self._whole())

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand([*self._batch_shape, *self._event_shape])

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(factor)

    def entropy(self) -> Tensor:
        half = half_log_det(self._unbroadcasted_scale_tril)
        return (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half).expand(Size(self._batch_shape))


def _factor(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance."""
    if name == "scale_tril":
        return matrix
    from pyburn.distributions import _linalg as linalg

    if name == "covariance_matrix":
        factor: Tensor = linalg.cholesky(matrix)
        return factor
    # The factor of the inverse is the inverse of the factor, taken from the other end.
    flipped = linalg.cholesky(matrix.flip([-2, -1])).flip([-2, -1]).mT
    one = eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device).expand(matrix.shape)
    result: Tensor = linalg.solve_triangular(flipped, one, upper=False)
    return result
