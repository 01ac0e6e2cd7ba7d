"""Samples of the gamma distribution, with gradients with respect to its shape."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, float32, float64
from pyburn._typeinfo import finfo
from pyburn.autograd import Function, no_grad
from pyburn.ops import empty, empty_like, ones_like, randn, tensor, where

# Above this many, samples are drawn all at once instead of one by one as torch draws them.
_MANY = 1 << 16
# A third as torch has it here, whatever the dtype: the float32 next to it. It shows in the eighth digit of samples.
_THIRD = 0.3333333432674408


def _draw(concentration: Tensor, single: bool = False) -> Tensor:
    """Samples by Marsaglia and Tsang's rejection (2000), in torch's order on the CPU unless they are very many.

    Args:
        concentration: The shapes, in float64.
        single: Whether they were float32: torch then computes with the shape in float32, and with the rest in float64.
    """
    if concentration.device.type != "cpu" or concentration.numel() > _MANY:
        return _draw_together(concentration)
    number = empty(1, dtype=float64)
    cut = _single if single else float
    samples = [_draw_one(alpha, number, cut) for alpha in concentration.reshape(-1).tolist()]
    return tensor(samples, dtype=float64).reshape(concentration.shape)


def _single(value: float) -> float:
    """The nearest float32."""
    number: float = struct.unpack("f", struct.pack("f", value))[0]
    return number


def _draw_one(alpha: float, number: Tensor, cut: Callable[[float], float]) -> float:
    scale = 1.0
    if alpha == 0 or math.isnan(alpha):
        return alpha
    if alpha < 1:
        # A shape below 1 is raised by one, and the sample multiplied by a power of a uniform number.
        scale = (1.0 - number.uniform_().item()) ** cut(1.0 / alpha)
        alpha = cut(alpha + 1.0)
    d = cut(alpha - _THIRD)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = number.normal_().item()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - number.uniform_().item()
        if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _draw_together(concentration: Tensor) -> Tensor:
    """Samples of all elements at once; those that are refused are drawn anew."""
    small = concentration < 1
    alpha = where(small, concentration + 1, concentration)
    d = alpha - 1.0 / 3.0
    c = 1.0 / (9.0 * d).sqrt()
    result = d.clone()
    open_ = ones_like(d).bool()
    for _ in range(1000):
        x = randn(d.shape, dtype=d.dtype, device=d.device)
        v = (1.0 + c * x) ** 3
        u = empty_like(d).uniform_()
        accepted = (v > 0) & ((1 - u).log() < 0.5 * x * x + d - d * v + d * v.clamp(min=1e-300).log())
        result = where(open_ & accepted, d * v, result)
        open_ = open_ & ~accepted
        if not open_.any():
            break
    boost = (1 - empty_like(d).uniform_()).pow(1.0 / concentration.clamp(min=1e-30))
    return where(small, result * boost, result)


class _StandardGamma(Function):
    """Samples of Gamma(concentration, 1); backward by implicit reparameterisation (Figurnov and others, 2018)."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        value = _draw(concentration.to(float64), concentration.dtype == float32).to(concentration.dtype)
        value = value.clamp(min=finfo(concentration.dtype).tiny)
        ctx.save_for_backward(concentration, value)
        return value

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        concentration, value = ctx.saved_tensors
        return grad_output * standard_gamma_grad(concentration, value)


def standard_gamma(concentration: Tensor) -> Tensor:
    """Samples of Gamma(concentration, 1) that know their gradient."""
    result: Tensor = _StandardGamma.apply(concentration)
    return result


@no_grad()
def standard_gamma_grad(concentration: Tensor, value: Tensor) -> Tensor:
    """How a sample moves with the shape at a fixed probability: minus dF/da over the density.

    F is differentiated by central differences in double precision, on the side of the smaller tail.
    """
    from pyburn import special

    a, x = concentration.to(float64), value.to(float64)
    step = 1e-4 * a.clamp(max=1.0) + 1e-6 * a.clamp(min=1.0).sqrt()
    low, high = a - step, a + step
    lower = x < a
    change = where(
        lower,
        special.gammainc(high, x) - special.gammainc(low, x),
        special.gammaincc(low, x) - special.gammaincc(high, x),
    )
    log_density = (a - 1) * x.log() - x - a.lgamma()
    return (-(change / (2 * step)) / log_density.exp()).to(concentration.dtype)


# torch's private names of the two, which transforms of images call.
_standard_gamma = standard_gamma


def _sample_dirichlet(concentration: Tensor) -> Tensor:
    """Samples of a Dirichlet distribution over the last dimension, without gradients."""
    with no_grad():
        return dirichlet(concentration)


def dirichlet(concentration: Tensor) -> Tensor:
    """Samples of a Dirichlet distribution over the last dimension, computed in float64 as in torch, between 0 and 1."""
    parts = standard_gamma(concentration.to(float64))
    shares = (parts / parts.sum(-1, keepdim=True)).to(concentration.dtype)
    about = finfo(concentration.dtype)
    return shares.clamp(min=about.tiny, max=1 - about.eps / 2)
