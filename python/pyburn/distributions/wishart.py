"""The Wishart distribution of positive definite matrices."""

# Sums of numbers and tensors are Any to mypy, and nearly every formula here is one.
# mypy: no-warn-return-any
from __future__ import annotations

import math
import warnings
from typing import Any

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.distributions import constraints
from pyburn.distributions.chi2 import Chi2
from pyburn.distributions.distribution import Shape
from pyburn.distributions.exp_family import ExponentialFamily
from pyburn.distributions.multivariate_normal import _factor, half_log_det
from pyburn.distributions.utils import lazy_property
from pyburn.ops import arange, broadcast_shapes, diag_embed, eye, randn, tensor, where


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    return (x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors with a common covariance.

    Args:
        df: The degrees of freedom, more than the number of rows minus one.
        covariance_matrix: The covariance; or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Wishart(3.0, pyburn.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        named = (
            ("covariance_matrix", covariance_matrix),
            ("precision_matrix", precision_matrix),
            ("scale_tril", scale_tril),
        )
        given = [(name, matrix) for name, matrix in named if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        degrees = df if isinstance(df, Tensor) else tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = broadcast_shapes(matrix.shape[:-2], degrees.shape)
        self.df = degrees.expand(batch) if isinstance(df, Tensor) else degrees
        rows = matrix.shape[-1]
        if (self.df <= rows - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {rows - 1}.")
        if (self.df < rows).any():
            text = "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim."
            warnings.warn(text, stacklevel=2)
        setattr(self, name, matrix.expand([*batch, -1, -1]))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    @property
    def arg_constraints(self) -> Any:
        """What each parameter must be."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        whole = [*batch_shape, *self.event_shape]
        new.df = self.df.expand(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(whole)
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand(whole))
        ExponentialFamily.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        one = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        return one.cholesky_solve(factor).expand([*self._batch_shape, *self._event_shape])

    @property
    def _degrees(self) -> Tensor:
        return self.df.reshape([*self.df.shape, 1, 1])

    @property
    def mean(self) -> Tensor:
        return self._degrees * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._degrees - self.covariance_matrix.shape[-1] - 1
        return where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        sizes = covariance.diagonal(dim1=-2, dim2=-1)
        return self._degrees * (covariance.pow(2) + sizes.unsqueeze(-1) * sizes.unsqueeze(-2))

    def _draw(self, sample_shape: Shape) -> Tensor:
        """Samples by Bartlett's decomposition."""
        rows = self._event_shape[-1]
        shape = Size([*sample_shape, *self._batch_shape, rows, rows])
        factor = self._unbroadcasted_scale_tril
        fewer = arange(rows, dtype=factor.dtype, device=factor.device)
        diagonal = Chi2(self.df.expand(self._batch_shape).unsqueeze(-1) - fewer).rsample(sample_shape).sqrt()
        lower = randn(shape, dtype=factor.dtype, device=factor.device).tril(-1) + diag_embed(
            diagonal.clamp(min=finfo(factor.dtype).tiny)
        )
        root = factor @ lower
        return root @ root.mT

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        """Samples; those that rounding made singular are drawn anew, `max_try_correction` times at most."""
        tries = (3 if len(self._batch_shape) else 10) if max_try_correction is None else max_try_correction
        sample = self._draw(sample_shape)
        for _ in range(tries):
            good = self.support.check(sample)
            if good.all():
                break
            sample = where(good.reshape([*good.shape, 1, 1]), sample, self._draw(sample_shape))
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        from pyburn.linalg import slogdet
        from pyburn.special import multigammaln

        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = value.cholesky_solve(factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + half_log_det(factor))
            - multigammaln(nu / 2, p)
            + (nu - p - 1) / 2 * slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        from pyburn.special import multigammaln

        nu, p = self.df, self._event_shape[-1]
        volume = (p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
        return volume + multigammaln(nu / 2, p) - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2
