"""torch's numbers whose value a compiler does not know yet: there are none, so the functions are Python's own."""

from __future__ import annotations

import math
from typing import Any

from pyburn._absent import absent_class

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
]

_WHY = ("pyburn does not trace programs", "use a plain number")

SymBool: Any = absent_class("SymBool", *_WHY)
SymFloat: Any = absent_class("SymFloat", *_WHY)
SymInt: Any = absent_class("SymInt", *_WHY)


def sym_float(a: Any) -> float:
    """The number as a float.

    Example:
        >>> sym_float(2)
        2.0
    """
    return float(a)


def sym_int(a: Any) -> int:
    """The number rounded towards zero.

    Example:
        >>> sym_int(-2.5)
        -2
    """
    whole: int = math.trunc(a)
    return whole


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` where `b` holds, else `f`.

    Example:
        >>> sym_ite(True, 1, 2)
        1
    """
    return t if b else f


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float when one of them is.

    Example:
        >>> sym_max(1, 2.0)
        2.0
    """
    larger = max(a, b)
    return float(larger) if isinstance(a, float) or isinstance(b, float) else larger


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float when one of them is.

    Example:
        >>> sym_min(1, 2.0)
        1.0
    """
    smaller = min(a, b)
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


def sym_not(a: Any) -> bool:
    """Whether `a` does not hold.

    Example:
        >>> sym_not(True)
        False
    """
    return not a


def sym_sum(args: Any) -> Any:
    """The sum of numbers.

    Example:
        >>> sym_sum([1, 2])
        3
    """
    return sum(args)
