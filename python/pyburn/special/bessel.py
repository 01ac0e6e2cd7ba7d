"""Bessel and Airy functions, by Chebyshev sums on a few intervals."""

from __future__ import annotations

import math

from pyburn._core import Tensor
from pyburn.special import _tables as tables
from pyburn.special._wide import clenshaw, elementwise, select

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]


# The least number above zero.
_LEAST = 5e-324


def _reach(a: Tensor, bound: float) -> bool:
    """Whether a number lies beyond the bound; where none does, the sums for such need not be made."""
    return bool((a > bound).any())


def _i0e(x: Tensor) -> Tensor:
    a = x.abs()
    small = clenshaw(a.clamp(max=8) / 4 - 1, tables.I0E_SMALL)
    if not _reach(a, 8):
        return small
    inverse = 1 / a.clamp(min=8)
    return select(a <= 8, small, clenshaw(inverse * 16 - 1, tables.I0E_LARGE) * inverse.sqrt())


def _i1e(x: Tensor) -> Tensor:
    a = x.abs()
    small = clenshaw(a.clamp(max=8) / 4 - 1, tables.I1E_SMALL)
    if not _reach(a, 8):
        return small * x
    inverse = 1 / a.clamp(min=8)
    large = clenshaw(inverse * 16 - 1, tables.I1E_LARGE) * inverse.sqrt()
    return select(a <= 8, small * x, large.copysign(x))


def _i0(x: Tensor) -> Tensor:
    return _i0e(x) * x.abs().exp()


def _i1(x: Tensor) -> Tensor:
    return _i1e(x) * x.abs().exp()


def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, times `exp(-|x|)`.

    Example:
        >>> import pyburn
        >>> pyburn.special.i0e(pyburn.tensor([0.0, 1.0]))
        tensor([1.0000, 0.4658])
    """
    return elementwise(input, _i0e, lambda x, y: i1e(x) - x.sgn() * y, out)


def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    Example:
        >>> import pyburn
        >>> pyburn.special.i0(pyburn.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
    """
    return elementwise(input, _i0, lambda x: i1(x), out)


def _over(y: Tensor, x: Tensor) -> Tensor:
    """`y / x`, and 1/2 at 0, where both Bessel functions of order 1 have that slope."""
    zero = x == 0
    return select(zero, 0.5, y / x.masked_fill(zero, 1.0))


def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, times `exp(-|x|)`.

    Example:
        >>> import pyburn
        >>> pyburn.special.i1e(pyburn.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2079])
    """
    return elementwise(input, _i1e, lambda x, y: i0e(x) - y * x.sgn() - _over(y, x), out)


def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    Example:
        >>> import pyburn
        >>> pyburn.special.i1(pyburn.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652])
    """
    return elementwise(input, _i1, lambda x, y: i0(x) - _over(y, x), out)


def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `i0`.

    Example:
        >>> import pyburn
        >>> pyburn.special.modified_bessel_i0(pyburn.tensor([1.0]))
        tensor([1.2661])
    """
    return elementwise(input, _i0, lambda x: modified_bessel_i1(x), out)


def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `i1`.

    Example:
        >>> import pyburn
        >>> pyburn.special.modified_bessel_i1(pyburn.tensor([1.0]))
        tensor([0.5652])
    """
    return elementwise(input, _i1, lambda x, y: modified_bessel_i0(x) - _over(y, x), out)


def _k_edges(x: Tensor, value: Tensor) -> Tensor:
    return select(x < 0, math.nan, select(x == 0, math.inf, value))


def _k0(x: Tensor, scaled: bool) -> Tensor:
    a = x.clamp(min=_LEAST, max=2)
    small = clenshaw(a * a / 2 - 1, tables.K0_SMALL) - (a.log() - math.log(2)) * _i0(a)
    small = small * a.exp() if scaled else small
    if not _reach(x, 2):
        return _k_edges(x, small)
    inverse = 1 / x.clamp(min=2)
    large = clenshaw(inverse * 4 - 1, tables.K0_LARGE) * inverse.sqrt()
    large = large if scaled else large * (-x.clamp(min=2)).exp()
    return _k_edges(x, select(x <= 2, small, large))


def _k1(x: Tensor, scaled: bool) -> Tensor:
    a = x.clamp(min=_LEAST, max=2)
    small = clenshaw(a * a / 2 - 1, tables.K1_SMALL) / a + (a.log() - math.log(2)) * _i1(a)
    small = small * a.exp() if scaled else small
    if not _reach(x, 2):
        return _k_edges(x, small)
    inverse = 1 / x.clamp(min=2)
    large = clenshaw(inverse * 4 - 1, tables.K1_LARGE) * inverse.sqrt()
    large = large if scaled else large * (-x.clamp(min=2)).exp()
    return _k_edges(x, select(x <= 2, small, large))


def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0.

    Example:
        >>> import pyburn
        >>> pyburn.special.modified_bessel_k0(pyburn.tensor([1.0]))
        tensor([0.4210])
    """
    return elementwise(input, lambda x: _k0(x, False), lambda x: -modified_bessel_k1(x), out)


def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1.

    Example:
        >>> import pyburn
        >>> pyburn.special.modified_bessel_k1(pyburn.tensor([1.0]))
        tensor([0.6019])
    """
    return elementwise(input, lambda x: _k1(x, False), lambda x, y: -modified_bessel_k0(x) - y / x, out)


def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `modified_bessel_k0`, times `exp(x)`.

    Example:
        >>> import pyburn
        >>> pyburn.special.scaled_modified_bessel_k0(pyburn.tensor([1.0]))
        tensor([1.1445])
    """
    return elementwise(input, lambda x: _k0(x, True), None, out)


def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `modified_bessel_k1`, times `exp(x)`.

    Example:
        >>> import pyburn
        >>> pyburn.special.scaled_modified_bessel_k1(pyburn.tensor([1.0]))
        tensor([1.6362])
    """
    return elementwise(input, lambda x: _k1(x, True), None, out)


def _wave(a: Tensor, order: int) -> tuple[Tensor, Tensor, Tensor]:
    """The amplitudes of cosine and sine of a Bessel function from 8 on, and the angle."""
    p_table, q_table = (tables.P0, tables.Q0) if order == 0 else (tables.P1, tables.Q1)
    t = 2 * (8 / a) ** 2 - 1
    root = (2 / (math.pi * a)).sqrt()
    return root * clenshaw(t, p_table), root * clenshaw(t, q_table) / a, a - (2 * order + 1) * math.pi / 4


def _j0(x: Tensor) -> Tensor:
    a = x.abs()
    low = a.clamp(max=8)
    # The sum is off in its last digit where the function is as good as its first two terms.
    small = select(a < 1e-4, 1 - a * a / 4, clenshaw(low * low / 32 - 1, tables.J0_SMALL))
    if not _reach(a, 8):
        return small
    p, q, angle = _wave(a.clamp(min=8), 0)
    return select(a <= 8, small, p * angle.cos() - q * angle.sin())


def _j1(x: Tensor) -> Tensor:
    a = x.abs()
    low = a.clamp(max=8)
    small = clenshaw(low * low / 32 - 1, tables.J1_SMALL)
    if not _reach(a, 8):
        return small * x
    p, q, angle = _wave(a.clamp(min=8), 1)
    large = p * angle.cos() - q * angle.sin()
    return select(a <= 8, small * x, select(x < 0, -large, large))


def _y_edges(x: Tensor, value: Tensor) -> Tensor:
    return select(x < 0, math.nan, select(x == 0, -math.inf, value))


def _y0(x: Tensor) -> Tensor:
    a = x.clamp(min=_LEAST, max=8)
    small = clenshaw(a * a / 32 - 1, tables.Y0_SMALL) + 2 / math.pi * (a.log() - math.log(2)) * _j0(a)
    if not _reach(x, 8):
        return _y_edges(x, small)
    p, q, angle = _wave(x.clamp(min=8), 0)
    return _y_edges(x, select(x <= 8, small, p * angle.sin() + q * angle.cos()))


def _y1(x: Tensor) -> Tensor:
    a = x.clamp(min=_LEAST, max=8)
    small = clenshaw(a * a / 32 - 1, tables.Y1_SMALL) * a + 2 / math.pi * ((a.log() - math.log(2)) * _j1(a) - 1 / a)
    if not _reach(x, 8):
        return _y_edges(x, small)
    p, q, angle = _wave(x.clamp(min=8), 1)
    return _y_edges(x, select(x <= 8, small, p * angle.sin() + q * angle.cos()))


def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0.

    Example:
        >>> import pyburn
        >>> pyburn.special.bessel_j0(pyburn.tensor([0.0, 1.0]))
        tensor([1.0000, 0.7652])
    """
    return elementwise(input, _j0, lambda x: -bessel_j1(x), out)


def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1.

    Example:
        >>> import pyburn
        >>> pyburn.special.bessel_j1(pyburn.tensor([0.0, 1.0]))
        tensor([0.0000, 0.4401])
    """
    return elementwise(input, _j1, lambda x, y: bessel_j0(x) - _over(y, x), out)


def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0.

    Example:
        >>> import pyburn
        >>> pyburn.special.bessel_y0(pyburn.tensor([1.0]))
        tensor([0.0883])
    """
    return elementwise(input, _y0, lambda x: -bessel_y1(x), out)


def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1.

    Example:
        >>> import pyburn
        >>> pyburn.special.bessel_y1(pyburn.tensor([1.0]))
        tensor([-0.7812])
    """
    return elementwise(input, _y1, lambda x, y: bessel_y0(x) - y / x, out)


def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind of order 0, `sin(x) / x`.

    Example:
        >>> import pyburn
        >>> pyburn.special.spherical_bessel_j0(pyburn.tensor([0.0, 1.0]))
        tensor([1.0000, 0.8415])
    """

    def compute(x: Tensor) -> Tensor:
        square = x * x
        near = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110))))
        near = near + square**6 / 6227020800
        far = x.sin() / x.masked_fill(x == 0, 1.0)
        return select(x.isinf(), 0.0, select(x.abs() < 0.5, near, far))

    return elementwise(input, compute, None, out)


def _airy(x: Tensor) -> Tensor:
    middle = clenshaw(x.clamp(min=-2, max=2) / 2, tables.AIRY_SMALL)
    a = x.abs().clamp(min=2)
    zeta = 2 / 3 * a * a.sqrt()
    fourth = a.sqrt().sqrt()
    decay = clenshaw(2 / zeta / 0.5303300858899107 - 1, tables.AIRY_DECAY)
    decay = decay * (-zeta).exp() / (2 * math.sqrt(math.pi) * fourth)
    t = 2 / zeta**2 / 0.28125 - 1
    angle = zeta + math.pi / 4
    wave = clenshaw(t, tables.AIRY_SIN) * angle.sin() - clenshaw(t, tables.AIRY_COS) / zeta * angle.cos()
    wave = wave / (math.sqrt(math.pi) * fourth)
    return select(x.isinf(), math.nan, select(x > 2, decay, select(x < -2, wave, middle)))


def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai.

    Example:
        >>> import pyburn
        >>> pyburn.special.airy_ai(pyburn.tensor([0.0]))
        tensor([0.3550])
    """
    return elementwise(x, _airy, None, out)
