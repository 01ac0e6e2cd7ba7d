"""torch.distributions.kl: how much two distributions differ."""

# Sums of numbers and tensors are Any to mypy, and nearly every formula here is one.
# mypy: no-warn-return-any
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import grad
from pyburn.distributions.bernoulli import Bernoulli
from pyburn.distributions.beta import Beta
from pyburn.distributions.binomial import Binomial
from pyburn.distributions.categorical import Categorical
from pyburn.distributions.cauchy import Cauchy
from pyburn.distributions.continuous_bernoulli import ContinuousBernoulli
from pyburn.distributions.dirichlet import Dirichlet
from pyburn.distributions.distribution import Distribution
from pyburn.distributions.exp_family import ExponentialFamily
from pyburn.distributions.exponential import Exponential
from pyburn.distributions.gamma import Gamma
from pyburn.distributions.geometric import Geometric
from pyburn.distributions.gumbel import Gumbel
from pyburn.distributions.half_normal import HalfNormal
from pyburn.distributions.independent import Independent
from pyburn.distributions.laplace import Laplace
from pyburn.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from pyburn.distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from pyburn.distributions.normal import Normal
from pyburn.distributions.one_hot_categorical import OneHotCategorical
from pyburn.distributions.pareto import Pareto
from pyburn.distributions.poisson import Poisson
from pyburn.distributions.transformed_distribution import TransformedDistribution
from pyburn.distributions.uniform import Uniform
from pyburn.distributions.utils import euler_constant, sum_rightmost
from pyburn.ops import broadcast_shapes, full_like
from pyburn.ops.activation import softplus

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
_TABLE: dict[tuple[type, type], Divergence] = {}
# Under the name by which other libraries read it.
_KL_REGISTRY = _TABLE
_FOUND: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """A decorator: the function gives the divergence between two kinds of distributions.

    Example:
        >>> import pyburn
        >>> from pyburn.distributions import Normal, kl_divergence, register_kl
        >>> class Mine(Normal):
        ...     pass
        >>> @register_kl(Mine, Mine)
        ... def kl_mine(p, q):
        ...     return p.loc - q.loc
        >>> kl_divergence(Mine(2.0, 1.0), Mine(1.0, 1.0))
        tensor(1.)
    """
    for kind in (type_p, type_q):
        # As in torch any class will do: other libraries have base classes of their own.
        if not isinstance(kind, type):
            raise TypeError(f"Expected a subclass of Distribution but got {kind}")

    def decorator(function: Divergence) -> Divergence:
        _TABLE[type_p, type_q] = function
        _FOUND.clear()
        return function

    return decorator


def _look_up(type_p: type, type_q: type) -> Divergence | None:
    """The function of the nearest base classes of both, the first argument's counting more."""
    for p in type_p.__mro__:
        for q in type_q.__mro__:
            if (p, q) in _TABLE:
                return _TABLE[p, q]
    return None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence: the mean of `log p(x) - log q(x)` over samples of `p`.

    Raises:
        NotImplementedError: No formula is known for these two.

    Example:
        >>> import pyburn
        >>> from pyburn.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    kinds = (type(p), type(q))
    if kinds not in _FOUND:
        _FOUND[kinds] = _look_up(*kinds)
    function = _FOUND[kinds]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} and q type {kinds[1].__name__}; "
            "use (p.log_prob(x) - q.log_prob(x)).mean() over samples, or register_kl."
        )
    return function(p, q)


def _infinite(like: Tensor) -> Tensor:
    return full_like(like, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    two = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + two.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _beta_beta(p: Any, q: Any) -> Tensor:
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    gammas = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    gammas = gammas - (p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma())
    one = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    two = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return gammas + one + two + (sum_q - sum_p) * sum_p.digamma()


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    result: Tensor = (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)
    return result


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    result: Tensor = t.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)
    return result


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_continuous(p: Any, q: Any) -> Tensor:
    one = p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + (-p.probs).log1p()
    result: Tensor = one - q._cont_bern_log_norm() - (-q.probs).log1p()
    return result


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    sums = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    result: Tensor = sums + ((a - b) * (a.digamma() - a.sum(-1).digamma().unsqueeze(-1))).sum(-1)
    return result


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    result: Tensor = -ratio.log() + ratio - 1
    return result


@register_kl(ExponentialFamily, ExponentialFamily)
def _family_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    mine = [value.detach().requires_grad_() for value in p._natural_params]
    normalizer = p._log_normalizer(*mine)
    slopes = grad(normalizer.sum(), mine, create_graph=True)
    result: Tensor = q._log_normalizer(*q._natural_params) - normalizer
    for one, other, slope in zip(mine, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((other - one) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    result: Tensor = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return result + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Any, q: Any) -> Tensor:
    ratio, there, here = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    last = (there + (1 + ratio).lgamma() - here).exp()
    result: Tensor = -ratio.log() - there + here + ratio * euler_constant + last - (1 + euler_constant)
    return result


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - (-q.probs).log1p() / p.probs - q.logits
    return result


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: Any, q: Any) -> Tensor:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    result: Tensor = -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1
    return result


def _trace_square(matrix: Tensor) -> Tensor:
    return matrix.pow(2).sum([-2, -1])


def _triangular(factor: Tensor, right: Tensor) -> Tensor:
    """The inverse of a lower triangular factor times `right`, batches broadcast."""
    from pyburn.distributions import _linalg as linalg

    batch = broadcast_shapes(factor.shape[:-2], right.shape[:-2])
    wide = factor.expand([*batch, *factor.shape[-2:]])
    result: Tensor = linalg.solve_triangular(wide, right.expand([*batch, *right.shape[-2:]]), upper=False)
    return result


def _same_events(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _mvn_mvn(p: Any, q: Any) -> Tensor:
    _same_events(p, q)
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _trace_square(_triangular(other, mine)) + mahalanobis(other, q.loc - p.loc)
    return half_log_det(other) - half_log_det(mine) + 0.5 * (spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_low(p: Any, q: Any) -> Tensor:
    _same_events(p, q)
    inner = q._solved()
    diag_p, factor_p, diag_q = p._unbroadcasted_cov_diag, p._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    spread = (diag_p / diag_q).sum(-1) + _trace_square(factor_p * diag_q.rsqrt().unsqueeze(-1))
    spread = spread - _trace_square(inner * diag_p.sqrt().unsqueeze(-2)) - _trace_square(inner @ factor_p)
    result: Tensor = 0.5 * (q._log_det() - p._log_det() + spread + q._distance(q.loc - p.loc) - p.event_shape[0])
    return result


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _mvn_low(p: Any, q: Any) -> Tensor:
    _same_events(p, q)
    factor = p._unbroadcasted_scale_tril
    spread = _trace_square(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    spread = spread - _trace_square(q._solved() @ factor)
    result: Tensor = q._log_det() - 2 * half_log_det(factor) + spread + q._distance(q.loc - p.loc)
    return 0.5 * (result - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_mvn(p: Any, q: Any) -> Tensor:
    _same_events(p, q)
    other = q._unbroadcasted_scale_tril
    spread = _trace_square(_triangular(other, p._unbroadcasted_cov_factor))
    spread = spread + _trace_square(_triangular(other, p._unbroadcasted_cov_diag.sqrt().diag_embed()))
    result: Tensor = 2 * half_log_det(other) - p._log_det() + spread + mahalanobis(other, q.loc - p.loc)
    return 0.5 * (result - p.event_shape[0])


@register_kl(Normal, Normal)
def _normal_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    result: Tensor = 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    return result


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: Any, q: Any) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result: Tensor = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Any, q: Any) -> Tensor:
    result: Tensor = p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("No KL is known for distributions with different transforms or event shapes.")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Any, q: Any) -> Tensor:
    result: Tensor = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("No KL is known for Independent distributions of different dimensions.")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Any, q: Any) -> Tensor:
    t = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    result: Tensor = t - (4 * p.scale * q.scale).log()
    return result
