"""Writes python/pyburn/special/_tables.py: Chebyshev coefficients of Bessel, Airy and error functions, by mpmath.

Run by hand when a table must change: `python tools/special_tables.py > python/pyburn/special/_tables.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 40
TERMS = 90
# Coefficients below this part of the largest are left out.
LEAST = mp.mpf("2e-18")


def coefficients(f: Callable[[Any], Any]) -> list[str]:
    """The Chebyshev coefficients of `f` on [-1, 1], the first one halved."""
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / TERMS) for k in range(TERMS)]
    values = [f(node) for node in nodes]
    found = []
    for j in range(TERMS):
        total = mp.fsum(value * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / TERMS) for k, value in enumerate(values))
        found.append(2 * total / TERMS)
    found[0] /= 2
    largest = max(abs(c) for c in found)
    while len(found) > 1 and abs(found[-1]) < LEAST * largest:
        found.pop()
    return [mp.nstr(c, 20) for c in found]


def on(low: float, high: float, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`f` of a variable between `low` and `high`, as a function on [-1, 1]."""
    return lambda t: f(mp.mpf(low) + (mp.mpf(high) - low) * (t + 1) / 2)


def asymptotic(order: int, which: int) -> Callable[[Any], Any]:
    """The amplitude of the cosine (0) or x times that of the sine (1) of a Bessel function, of (8 / x)^2."""

    def f(u: Any) -> Any:
        x = 8 / mp.sqrt(max(u, mp.mpf("1e-30")))
        angle = x - (2 * order + 1) * mp.pi / 4
        root = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        if which == 0:
            return root * (j * mp.cos(angle) + y * mp.sin(angle))
        return root * (y * mp.cos(angle) - j * mp.sin(angle)) * x

    return f


def airy_wave(which: int) -> Callable[[Any], Any]:
    """The amplitudes of Ai(-x) for x >= 2, of 1 / zeta^2."""

    def f(u: Any) -> Any:
        zeta = 1 / mp.sqrt(max(u, mp.mpf("1e-30")))
        x = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
        root = mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
        angle = zeta + mp.pi / 4
        a, b = mp.airyai(-x), mp.airybi(-x)
        if which == 0:
            return root * (a * mp.sin(angle) + b * mp.cos(angle))
        return root * (b * mp.sin(angle) - a * mp.cos(angle)) * zeta

    return f


def airy_decay(u: Any) -> Any:
    """What is left of Ai(x) for x >= 2 without its exponential, of 1 / zeta."""
    zeta = 1 / max(u, mp.mpf("1e-12"))
    x = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25") * mp.exp(zeta) * mp.airyai(x)


def scaled_erfc(t: Any) -> Any:
    """(1 + 2 x) exp(x^2) erfc(x) of (x - 3.75) / (x + 3.75)."""
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def root_of(u: Any) -> Any:
    """The square root, a little above 0 at 0."""
    return mp.sqrt(max(u, mp.mpf("1e-40")))


def tables() -> dict[str, Callable[[Any], Any]]:
    """The functions by the names of their tables."""

    def k0_small(u: Any) -> Any:
        x = root_of(u)
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)

    def k1_small(u: Any) -> Any:
        x = root_of(u)
        return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))

    def y0_small(u: Any) -> Any:
        x = root_of(u)
        return mp.bessely(0, x) - 2 / mp.pi * mp.log(x / 2) * mp.besselj(0, x)

    def y1_small(u: Any) -> Any:
        x = root_of(u)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x / 2) * mp.besselj(1, x) - 1 / x)) / x

    def large(f: Callable[[Any, Any], Any], order: int, sign: int) -> Callable[[Any], Any]:
        def g(u: Any) -> Any:
            x = 1 / max(u, mp.mpf("1e-6"))
            return mp.sqrt(x) * mp.exp(sign * x) * f(order, x)

        return g

    return {
        "I0E_SMALL": on(0, 8, lambda x: mp.exp(-x) * mp.besseli(0, x)),
        "I0E_LARGE": on(0, 0.125, large(mp.besseli, 0, -1)),
        "I1E_SMALL": on(0, 8, lambda x: mp.exp(-x) * (mp.besseli(1, x) / x if x else mp.mpf("0.5"))),
        "I1E_LARGE": on(0, 0.125, large(mp.besseli, 1, -1)),
        "K0_SMALL": on(0, 4, k0_small),
        "K0_LARGE": on(0, 0.5, large(mp.besselk, 0, 1)),
        "K1_SMALL": on(0, 4, k1_small),
        "K1_LARGE": on(0, 0.5, large(mp.besselk, 1, 1)),
        "J0_SMALL": on(0, 64, lambda u: mp.besselj(0, root_of(u))),
        "J1_SMALL": on(0, 64, lambda u: mp.besselj(1, root_of(u)) / root_of(u)),
        "Y0_SMALL": on(0, 64, y0_small),
        "Y1_SMALL": on(0, 64, y1_small),
        "P0": on(0, 1, asymptotic(0, 0)),
        "Q0": on(0, 1, asymptotic(0, 1)),
        "P1": on(0, 1, asymptotic(1, 0)),
        "Q1": on(0, 1, asymptotic(1, 1)),
        "AIRY_SMALL": on(-2, 2, mp.airyai),
        "AIRY_DECAY": on(0, 0.5303300858899107, airy_decay),
        "AIRY_SIN": on(0, 0.28125, airy_wave(0)),
        "AIRY_COS": on(0, 0.28125, airy_wave(1)),
        "ERFCX": scaled_erfc,
    }


def main() -> None:
    """Prints the module."""
    print('"""Generated by tools/special_tables.py: Chebyshev coefficients on [-1, 1]."""\n')
    print("# ruff: noqa: E501")
    for name, f in tables().items():
        print(f"{name} = (")
        for value in coefficients(f):
            print(f"    {float(value)!r},")
        print(")")


if __name__ == "__main__":
    main()
