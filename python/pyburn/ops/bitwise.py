"""Logic on bits and on truth values."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.ops._methods import write_out
from pyburn.ops.arithmetic import Number, _tensor

__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "gcd",
    "lcm",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]

INPLACE = (
    "bitwise_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
)


def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits turned over; the truth value of booleans.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_not(pyburn.tensor([5, 6, 7]))
        tensor([-6, -7, -8])
    """
    return write_out(out, input.bitwise_not(), input)


def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_and(pyburn.tensor([5, 6, 7]), 2)
        tensor([0, 2, 2])
    """
    return write_out(out, _tensor(input, other).bitwise_and(other), input, other)


def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in one or both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_or(pyburn.tensor([5, 6, 7]), 2)
        tensor([7, 6, 7])
    """
    return write_out(out, _tensor(input, other).bitwise_or(other), input, other)


def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in one but not both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_xor(pyburn.tensor([5, 6, 7]), 2)
        tensor([7, 4, 5])
    """
    return write_out(out, _tensor(input, other).bitwise_xor(other), input, other)


def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`, bits that leave the type lost.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_left_shift(pyburn.tensor([5, 6, 7]), 2)
        tensor([20, 24, 28])
    """
    return write_out(out, _tensor(input, other).bitwise_left_shift(other), input, other)


def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input / 2 ** other` rounded down.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_right_shift(pyburn.tensor([5, 6, 7]), 2)
        tensor([1, 1, 1])
    """
    return write_out(out, _tensor(input, other).bitwise_right_shift(other), input, other)


def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor.

    Args:
        input: The tensor.
        other: The other tensor of integers.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.gcd(pyburn.tensor([5, 6, 7]), pyburn.tensor([10, 9, 7]))
        tensor([5, 3, 7])
    """
    return write_out(out, input.gcd(other), input, other)


def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple.

    Args:
        input: The tensor.
        other: The other tensor of integers.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.lcm(pyburn.tensor([5, 6, 7]), pyburn.tensor([10, 9, 7]))
        tensor([10, 18,  7])
    """
    return write_out(out, input.lcm(other), input, other)


def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where both differ from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_and(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([ True, False, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_and(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_and(other), input, other)


def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where at least one differs from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_or(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([ True,  True, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_or(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_or(other), input, other)


def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where exactly one differs from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_xor(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([False,  True, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_xor(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_xor(other), input, other)


def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are zero.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_not(pyburn.tensor([True, True, False]))
        tensor([False, False,  True])
    """
    return write_out(out, input.logical_not(), input)
