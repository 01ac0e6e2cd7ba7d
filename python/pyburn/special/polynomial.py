"""Orthogonal polynomials, by their recurrences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, float64
from pyburn.autograd import no_grad
from pyburn.ops._methods import write_out
from pyburn.special._wide import pair, select

__all__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]

Step = Callable[[Tensor, Tensor, Tensor, int], Tensor]
# One step for each degree: more than this would seem to hang.
_MOST_STEPS = 100_000


def _chebyshev_step(x: Tensor, q: Tensor, p: Tensor, k: int) -> Tensor:
    return (x + x) * q - p


def _recurrence(x: Tensor, n: Tensor, first: Tensor, step: Step, most: int | None = None) -> Tensor:
    """The polynomial of degree `n` from those of degree 0 (one), 1 and the step to the next."""
    p, q = x * 0 + 1, first
    result = select(n < 0, 0.0, select(n == 0, p, first))
    highest = float(n.amax().item()) if n.numel() else 0.0
    last = highest if most is None else min(highest, most)
    for k in range(1, int(min(last, _MOST_STEPS))):
        p, q = q, step(x, q, p, k)
        result = select(n == k + 1, q, result)
        if k % 256 == 0 and bool(q.isnan().all().item()):
            return select(n > k, math.nan, result)
    if last > _MOST_STEPS:
        raise ValueError(
            f"a polynomial of degree {highest:.0f} takes as many steps; degrees up to {_MOST_STEPS} are computed"
        )
    return result


def _prepared(input: Any, n: Any, name: str) -> tuple[Tensor, Tensor]:
    x, degree = pair(input, n, name)
    return x.detach(), degree.detach().trunc()


def _sign(n: Tensor) -> Tensor:
    """1 for even numbers, -1 for odd ones."""
    return 1 - 2 * (n % 2)


def _near(x: Tensor) -> Tensor:
    """An angle whose cosine is `x`, 0 beyond."""
    return x.clamp(min=-1, max=1).acos()


@no_grad()
def _chebyshev(x: Tensor, n: Tensor, kind: str) -> Tensor:
    """By the recurrence for small degrees and outside of [-1, 1], else by trigonometry; in [-1, 1] ends exactly."""
    inside = x.abs() < 1
    trigonometric = inside & (n > (6 if kind == "t" else 8))
    angle = _near(x.to(float64)) if x.device.type == "cpu" else _near(x)
    degree = n.to(angle.dtype)
    odd_end = 2 * n + 1
    if kind == "t":
        first, far = x, (degree * angle).cos()
        one, minus = n * 0 + 1, _sign(n)
    elif kind == "u":
        first, far = x + x, ((degree + 1) * angle).sin() / angle.sin()
        one, minus = n + 1, _sign(n) * (n + 1)
    elif kind == "v":
        first, far = x + x - 1, ((degree + 0.5) * angle).cos() / (angle / 2).cos()
        one, minus = n * 0 + 1, _sign(n) * odd_end
    else:
        first, far = x + x + 1, ((degree + 0.5) * angle).sin() / (angle / 2).sin()
        one, minus = odd_end, _sign(n)
    low = n.masked_fill(trigonometric | (x.abs() == 1), 0.0)
    result = _recurrence(x, low, first, _chebyshev_step)
    result = select(trigonometric, far.to(x.dtype), result)
    result = select(x == 1, one, select(x == -1, minus, result))
    return select(n < 0, 0.0, result)


def chebyshev_polynomial_t(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.chebyshev_polynomial_t(pyburn.tensor([0.5]), 3)
        tensor([-1.])
    """
    return write_out(out, _chebyshev(*_prepared(input, n, "chebyshev_polynomial_t"), "t"))


def chebyshev_polynomial_u(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.chebyshev_polynomial_u(pyburn.tensor([0.5]), 3)
        tensor([-1.])
    """
    return write_out(out, _chebyshev(*_prepared(input, n, "chebyshev_polynomial_u"), "u"))


def chebyshev_polynomial_v(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.chebyshev_polynomial_v(pyburn.tensor([0.5]), 1)
        tensor([0.])
    """
    return write_out(out, _chebyshev(*_prepared(input, n, "chebyshev_polynomial_v"), "v"))


def chebyshev_polynomial_w(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.chebyshev_polynomial_w(pyburn.tensor([0.5]), 1)
        tensor([2.])
    """
    return write_out(out, _chebyshev(*_prepared(input, n, "chebyshev_polynomial_w"), "w"))


def _shifted(input: Any, n: Any, kind: str) -> Tensor:
    x, degree = _prepared(input, n, f"shifted_chebyshev_polynomial_{kind}")
    return _chebyshev(x + x - 1, degree, kind)


def shifted_chebyshev_polynomial_t(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_t` on [0, 1].

    Example:
        >>> import pyburn
        >>> pyburn.special.shifted_chebyshev_polynomial_t(pyburn.tensor([0.75]), 3)
        tensor([-1.])
    """
    return write_out(out, _shifted(input, n, "t"))


def shifted_chebyshev_polynomial_u(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_u` on [0, 1].

    Example:
        >>> import pyburn
        >>> pyburn.special.shifted_chebyshev_polynomial_u(pyburn.tensor([0.75]), 3)
        tensor([-1.])
    """
    return write_out(out, _shifted(input, n, "u"))


def shifted_chebyshev_polynomial_v(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_v` on [0, 1].

    Example:
        >>> import pyburn
        >>> pyburn.special.shifted_chebyshev_polynomial_v(pyburn.tensor([0.75]), 1)
        tensor([0.])
    """
    return write_out(out, _shifted(input, n, "v"))


def shifted_chebyshev_polynomial_w(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_w` on [0, 1].

    Example:
        >>> import pyburn
        >>> pyburn.special.shifted_chebyshev_polynomial_w(pyburn.tensor([0.75]), 1)
        tensor([2.])
    """
    return write_out(out, _shifted(input, n, "w"))


@no_grad()
def _hermite(x: Tensor, n: Tensor, first: Tensor, step: Step) -> Tensor:
    # torch gives NaN where the numbers leave the dtype's range.
    limit = 512 if x.dtype == float64 else 128
    return select(n > limit, math.nan, _recurrence(x, n.clamp(max=limit), first, step))


def hermite_polynomial_h(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The physicists' Hermite polynomial of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.hermite_polynomial_h(pyburn.tensor([0.5]), 2)
        tensor([-1.])
    """
    x, degree = _prepared(input, n, "hermite_polynomial_h")
    return write_out(out, _hermite(x, degree, x + x, lambda x, q, p, k: (x + x) * q - (k + k) * p))


def hermite_polynomial_he(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The probabilists' Hermite polynomial of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.hermite_polynomial_he(pyburn.tensor([2.0]), 2)
        tensor([3.])
    """
    x, degree = _prepared(input, n, "hermite_polynomial_he")
    return write_out(out, _hermite(x, degree, x, lambda x, q, p, k: x * q - k * p))


def laguerre_polynomial_l(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.laguerre_polynomial_l(pyburn.tensor([2.0]), 2)
        tensor([-1.])
    """
    x, degree = _prepared(input, n, "laguerre_polynomial_l")
    with no_grad():
        result = _recurrence(x, degree, 1 - x, lambda x, q, p, k: ((2 * k + 1 - x) * q - k * p) / (k + 1))
    return write_out(out, result)


def legendre_polynomial_p(input: Tensor | float, n: Tensor | int, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial of degree `n`.

    Example:
        >>> import pyburn
        >>> pyburn.special.legendre_polynomial_p(pyburn.tensor([1.0]), 3)
        tensor([1.])
    """
    x, degree = _prepared(input, n, "legendre_polynomial_p")
    with no_grad():
        result = _recurrence(x, degree, x, lambda x, q, p, k: ((2 * k + 1) * x * q - k * p) / (k + 1))
    return write_out(out, result)
