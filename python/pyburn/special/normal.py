"""The normal distribution's functions and their relatives."""

from __future__ import annotations

import math

from pyburn._core import Tensor
from pyburn.ops._methods import write_out
from pyburn.special import _tables as tables
from pyburn.special._wide import clenshaw, elementwise, pair, select

__all__ = ["entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "xlog1py"]

_ROOT_2PI = math.sqrt(2 * math.pi)


def _erfcx(x: Tensor) -> Tensor:
    a = x.abs()
    scaled = clenshaw((a - 3.75) / (a + 3.75), tables.ERFCX) / (1 + 2 * a)
    scaled = select(a > 1e8, 1 / (math.sqrt(math.pi) * a), scaled)
    return select(x < 0, 2 * (x * x).exp() - scaled, scaled)


def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x ** 2) * erfc(x)`, without overflow for large `x`.

    Example:
        >>> import pyburn
        >>> pyburn.special.erfcx(pyburn.tensor([0.0, 1.0]))
        tensor([1.0000, 0.4276])
    """
    return elementwise(input, _erfcx, lambda x, y: 2.0 * x * y - 2.0 / math.sqrt(math.pi), out)


def _ndtr(x: Tensor) -> Tensor:
    return 0.5 * (-x / math.sqrt(2)).erfc()


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cumulative distribution function of the standard normal distribution.

    Example:
        >>> import pyburn
        >>> pyburn.special.ndtr(pyburn.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8413])
    """
    # Of a copy, as torch's is of a scaled one: the input may be written to afterwards.
    own = input.clone() if isinstance(input, Tensor) and input.requires_grad else input
    return elementwise(own, _ndtr, lambda x: (-x * x / 2).exp() / _ROOT_2PI, out)


def _log_ndtr(x: Tensor) -> Tensor:
    low = x.clamp(max=-1)
    left = (_erfcx(-low / math.sqrt(2)) / 2).log() - low * (low / 2)
    return select(x < -1, left, (-0.5 * (x.clamp(min=-1) / math.sqrt(2)).erfc()).log1p())


def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`.

    Example:
        >>> import pyburn
        >>> pyburn.special.log_ndtr(pyburn.tensor([0.0, -10.0]))
        tensor([ -0.6931, -53.2313])
    """

    def slope(x: Tensor, y: Tensor) -> Tensor:
        return 2.0 / erfcx(-x / math.sqrt(2)) / _ROOT_2PI

    return elementwise(input, _log_ndtr, slope, out)


def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `ndtr`.

    Example:
        >>> import pyburn
        >>> pyburn.special.ndtri(pyburn.tensor([0.0, 0.25, 0.5, 1.0]))
        tensor([   -inf, -0.6745,  0.0000,     inf])
    """
    return elementwise(input, lambda x: x._ndtri(), lambda x, y: _ROOT_2PI * (y * y / 2).exp(), out)


def _entr(x: Tensor) -> Tensor:
    positive = x > 0
    value = -x * x.masked_fill(~positive, 1.0).log()
    return select(x.isnan(), x, select(positive, value, select(x == 0, 0.0, -math.inf)))


def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-x * log(x)` of positive numbers, 0 of 0 and minus infinity of negative ones.

    Example:
        >>> import pyburn
        >>> pyburn.special.entr(pyburn.tensor([0.0, 0.5]))
        tensor([0.0000, 0.3466])
    """
    return elementwise(input, _entr, lambda x: -x.log() - 1, out)


def xlog1py(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """`input * log1p(other)`, and 0 where `input` is 0.

    Example:
        >>> import pyburn
        >>> pyburn.special.xlog1py(pyburn.tensor([0.0, 1.0]), pyburn.tensor([-1.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
    x, y = pair(input, other, "xlog1py")
    return write_out(out, x._xlog1py(y), x, y)
