"""What counts as one whole number where an argument may also be a sequence of them."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["is_integer"]


def is_integer(value: object) -> TypeIs[int]:
    """Whether it is an integer, numpy's included; a tensor of one element is none.

    Example:
        >>> is_integer(3), is_integer((3,)), is_integer(3.0)
        (True, False, False)
    """
    return type(value) is int or isinstance(value, Integral)
