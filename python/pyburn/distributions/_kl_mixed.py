"""Divergences between distributions of different kinds."""

from __future__ import annotations

import math
from typing import Any

from pyburn._core import Tensor
from pyburn.distributions.bernoulli import Bernoulli
from pyburn.distributions.beta import Beta
from pyburn.distributions.binomial import Binomial
from pyburn.distributions.continuous_bernoulli import ContinuousBernoulli
from pyburn.distributions.exponential import Exponential
from pyburn.distributions.gamma import Gamma
from pyburn.distributions.gumbel import Gumbel
from pyburn.distributions.kl import register_kl
from pyburn.distributions.laplace import Laplace
from pyburn.distributions.normal import Normal
from pyburn.distributions.pareto import Pareto
from pyburn.distributions.poisson import Poisson
from pyburn.distributions.uniform import Uniform
from pyburn.distributions.utils import euler_constant
from pyburn.ops import full_like, where

# Samples of the first lie where the second has none.
_BEYOND: dict[type, tuple[tuple[type, ...], str]] = {
    Beta: ((Pareto,), "concentration1"),
    ContinuousBernoulli: ((Pareto,), "probs"),
    Exponential: ((Beta, ContinuousBernoulli, Pareto, Uniform), "rate"),
    Gamma: ((Beta, ContinuousBernoulli, Pareto, Uniform), "concentration"),
    Gumbel: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Laplace: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Normal: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Pareto: ((Beta, ContinuousBernoulli, Uniform), "scale"),
    Poisson: ((Bernoulli, Binomial), "rate"),
}


def _register_infinite(first: type, second: type, name: str) -> None:
    register_kl(first, second)(lambda p, q: full_like(getattr(p, name), math.inf))


for _first, (_seconds, _name) in _BEYOND.items():
    for _second in _seconds:
        _register_infinite(_first, _second, _name)


def _x_log_x(x: Tensor) -> Tensor:
    return x.xlogy(x)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - (p.probs * q.rate.log() - q.rate)
    return result


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return result


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - q.rate.log() + q.rate * p.mean
    return result


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    slope = (q.concentration - 1) * (p.concentration1.digamma() - total.digamma())
    result: Tensor = -p.entropy() + constant - slope + q.rate * p.concentration1 / total
    return result


@register_kl(Beta, Normal)
def _beta_normal(p: Any, q: Any) -> Tensor:
    mean, square = p.mean, q.scale.pow(2)
    spread = 0.5 * (p.variance + mean.pow(2)) - q.loc * mean + q.loc.pow(2) * 0.5
    result: Tensor = -p.entropy() + 0.5 * (square * 2 * math.pi).log() + spread / square
    return result


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > 0.0) | (q.high < 1.0), math.inf)


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_exponential(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - q.rate.log() + q.rate * p.mean
    return result


@register_kl(ContinuousBernoulli, Normal)
def _continuous_normal(p: Any, q: Any) -> Tensor:
    constant = 0.5 * (math.log(2.0 * math.pi) + (q.loc / q.scale).square()) + q.scale.log()
    spread = (p.variance + p.mean.square() - 2.0 * q.loc * p.mean) / (2.0 * q.scale.square())
    result: Tensor = -p.entropy() + constant + spread
    return result


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return where((q.low >= 0.0) | (q.high <= 1.0), full_like(result, math.inf), result)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio, a = q.rate / p.rate, q.concentration
    result: Tensor = -a * ratio.log() + ratio + a.lgamma() + a * euler_constant - (1 + euler_constant)
    return result


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    result: Tensor = product.log() - 1 - ratio + ratio.exp() * product / (product + 1) + product.reciprocal()
    return result


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Tensor:
    square, rate = q.scale.pow(2), p.rate.pow(2)
    spread = (rate.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / square
    result: Tensor = 0.5 * (rate * square * 2 * math.pi).log() - 1 + spread
    return result


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    result: Tensor = -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate
    return result


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, ratio, a = p.rate * q.scale, q.loc / q.scale, p.concentration
    first = (a - 1) * a.digamma() - a.lgamma() - a + product.log() + a / product
    result: Tensor = first + ratio.exp() * (1 + product.reciprocal()).pow(-a) - ratio
    return result


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Tensor:
    square, rate, a = q.scale.pow(2), p.rate.pow(2), p.concentration
    first = 0.5 * (rate * square * 2 * math.pi).log() - a - a.lgamma() + (a - 1) * a.digamma()
    spread = 0.5 * (a.pow(2) + a) / rate - q.loc * a / p.rate + 0.5 * q.loc.pow(2)
    result: Tensor = first + spread / square
    return result


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    moved = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    result: Tensor = -(ratio / math.sqrt(2 * math.pi)).log() + spread + moved - (euler_constant + 1)
    return result


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Tensor:
    square = q.scale.pow(2)
    ratio = p.scale.pow(2) / square
    result: Tensor = -0.5 * (2 * ratio / math.pi).log() + ratio + 0.5 * (p.loc - q.loc).pow(2) / square - 1
    return result


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    here, there, ratio = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    last = (-here + 0.5 * ratio + there).exp()
    result: Tensor = -ratio.log() * 0.5 + here - there + last - 0.5 * (1 + math.log(2 * math.pi))
    return result


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    moved = p.loc - q.loc
    ratio = moved / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + moved * (math.sqrt(0.5) * ratio).erf()
    result: Tensor = -(p.scale / q.scale).log() + near / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))
    return result


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    last = p.alpha * product / (p.alpha - 1)
    result: Tensor = (p.alpha / product).log() - p.alpha.reciprocal() + last - 1
    return result.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    common = p.scale.log() + p.alpha.reciprocal()
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    last = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result: Tensor = p.alpha.log() - common + constant + (1 - q.concentration) * common + last - 1
    return result.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    square, common = 2 * q.scale.pow(2), p.scale / (p.alpha - 1)
    spread = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    first = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    result: Tensor = first - p.alpha.reciprocal() + spread / square - 1
    return result.masked_fill(p.alpha <= 2, math.inf)


def _mean_log(p: Any) -> Tensor:
    """The mean of the logarithm of a uniform number."""
    width = p.high - p.low
    result: Tensor = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    return result


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    width, a, b = p.high - p.low, q.concentration1, q.concentration0
    other = (b - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    constant = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result: Tensor = other + constant - width.log() - (a - 1) * _mean_log(p)
    return result.masked_fill((p.high > 1.0) | (p.low < 0.0), math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return where((p.high >= 1.0) | (p.low <= 0.0), full_like(result, math.inf), result)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    result: Tensor = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < 0.0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    last = (1 - q.concentration) * _mean_log(p) + q.rate * (p.high + p.low) / 2
    result: Tensor = -(p.high - p.low).log() + constant + last
    return result.masked_fill(p.low < 0.0, math.inf)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    common, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    result: Tensor = common.log() + 0.5 * (high + low) - common * ((-high).exp() - (-low).exp())
    return result


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    spread = width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    result: Tensor = (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * spread / q.scale.pow(2)
    return result


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    first = (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    result: Tensor = _mean_log(p) * (q.alpha + 1) - first
    return result.masked_fill(p.low < q.scale, math.inf)
