"""Functions around the gamma function: incomplete ones, zeta, and the multivariate one."""

from __future__ import annotations

import math
from typing import Any

from pyburn._core import Tensor, _stand_for, float64
from pyburn.autograd import Function, no_grad
from pyburn.ops import arange
from pyburn.ops._methods import write_out
from pyburn.special._wide import pair, select

__all__ = ["gammainc", "gammaincc", "multigammaln", "zeta"]

_MOST = 20000


def _values(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    """P(a, x) or Q(a, x), computed in double precision on the CPU."""
    if a.is_cpu:
        return a._incomplete_gamma(x, upper)
    return a.cpu()._incomplete_gamma(x.cpu(), upper).to(x.device)


class _Incomplete(Function):
    """Has a gradient with respect to `x`; torch has none with respect to `a` either."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor, upper: bool) -> Tensor:
        ctx.upper = upper
        ctx.save_for_backward(a, x)
        return _values(a, x, upper)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        a, x = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            raise NotImplementedError(
                "the derivative of gammainc and gammaincc with respect to their first argument is not there; "
                "detach it, or use Gamma(...).rsample() for gradients of samples."
            )
        density = (-x + (a - 1) * x.log() - a.lgamma()).exp()
        return None, -grad * density if ctx.upper else grad * density, None


def _incomplete(name: str, input: Tensor, other: Tensor, upper: bool) -> Tensor:
    a, x = pair(input, other, name)
    if a.requires_grad or x.requires_grad:
        result: Tensor = _Incomplete.apply(a, x, upper)
        return result
    return _values(a, x, upper)


def _need_tensors(op: str, *values: object) -> None:
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(f"{op}(): both arguments must be Tensor, not {type(value).__name__}")


def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function.

    Args:
        input: The shape, not negative.
        other: Up to where the integral goes, not negative.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.special.gammainc(pyburn.tensor([1.0]), pyburn.tensor([1.0]))
        tensor([0.6321])
    """
    _need_tensors("gammainc", input, other)
    return write_out(out, _incomplete("gammainc", input, other, False))


def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function; arguments as `gammainc`.

    Example:
        >>> import pyburn
        >>> pyburn.special.gammaincc(pyburn.tensor([1.0]), pyburn.tensor([1.0]))
        tensor([0.3679])
    """
    _need_tensors("gammaincc", input, other)
    return write_out(out, _incomplete("gammaincc", input, other, True))


# B_2j / (2 j)!, the coefficients of the Euler-Maclaurin formula.
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
)


@no_grad()
def _zeta(s: Tensor, q: Tensor) -> Tensor:
    """The Hurwitz zeta function in double precision: some terms, and the Euler-Maclaurin formula for the rest."""
    negative = q <= 0
    whole = q == q.floor()
    odd = negative & ~whole & (s != s.floor())
    valid = (s > 1) & ~(negative & whole) & ~odd & s.isfinite() & q.isfinite()
    s_, q_ = s.masked_fill(~valid, 2.0), q.masked_fill(~valid, 1.0)
    lowest = q_.amin().item() if q_.numel() else 1.0
    count = 10 + min(_MOST, max(0, math.ceil(-lowest)))
    total = q_ * 0
    for k in range(count):
        total = total + (q_ + k).pow(-s_)
    w = q_ + count
    power = w.pow(-s_)
    total = total + power * w / (s_ - 1) + 0.5 * power
    rising, below = s_, w
    for j, coefficient in enumerate(_EULER_MACLAURIN):
        total = total + coefficient * rising * power / below
        rising = rising * (s_ + 2 * j + 1) * (s_ + 2 * j + 2)
        below = below * w * w
    edge = select((s == 1) | ((s > 1) & negative & whole), math.inf, math.nan)
    # So far out only the first term counts, and the corrections are none of a number.
    far = (s > 1e4) & (q > 0) & q.isfinite()
    total, valid = select(far, q.masked_fill(~far, 1.0).pow(-s), total), valid | far
    return select(valid, total, select((q.isinf()) & (q > 0) & (s > 1), 0.0, edge))


class _Zeta(Function):
    """Has a gradient with respect to the second argument, as torch's."""

    @staticmethod
    def forward(ctx: Any, s: Tensor, q: Tensor) -> Tensor:
        ctx.save_for_backward(s, q)
        return _zeta(s.to("cpu", float64), q.to("cpu", float64)).to(q.device, q.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        s, q = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            raise NotImplementedError(
                "the derivative of zeta with respect to its first argument is not there; detach it."
            )
        return None, grad * -s * zeta(s + 1.0, q)


def zeta(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function, the sum of `(k + q) ** -x` over all `k` from 0 on.

    Args:
        input: The exponent `x`.
        other: What is added, `q`; 1 gives Riemann's zeta function.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.special.zeta(pyburn.tensor([2.0]), 1.0)
        tensor([1.6449])
    """
    s, q = pair(input, other, "zeta")
    return write_out(out, _Zeta.apply(s, q))


def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    Args:
        input: Numbers above `(p - 1) / 2`.
        p: The dimension.
        out: A tensor to write the result into.

    Raises:
        RuntimeError: `p` is below 1.

    Example:
        >>> import pyburn
        >>> pyburn.special.multigammaln(pyburn.tensor([2.0]), 2)
        tensor([0.4516])
    """
    if p < 1:
        raise RuntimeError("mvlgamma: p has to be greater than or equal to 1")
    from pyburn.special._wide import floating

    x = floating(input)
    halves = arange(p, dtype=x.dtype, device=x.device) / 2
    total = (x.reshape(-1, 1) - halves).lgamma().sum(1).reshape(x.shape) + p * (p - 1) / 4 * math.log(math.pi)
    return write_out(out, _stand_for(total, "MvlgammaBackward0", (input,), (input,)))
