"""Comparisons, tests of elements, and the choice between two tensors."""

from __future__ import annotations

from typing import Any, overload

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import scalar_type, truth_out, write_out

__all__ = [
    "allclose",
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "le",
    "less",
    "less_equal",
    "lt",
    "ne",
    "not_equal",
    "signbit",
    "where",
]

METHODS = (
    "isclose",
    "allclose",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "isreal",
    "signbit",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
)
INPLACE = ("eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal")

Number = bool | int | float
_INF = float("inf")


def _nowhere(input: Tensor) -> Tensor:
    """False everywhere."""
    return input != input


def eq(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where the two are equal.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.eq(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([False,  True, False])
    """
    return write_out(out, input.eq(other), input, other)


def ne(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where the two differ.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.ne(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([ True, False,  True])
    """
    return write_out(out, input.ne(other), input, other)


def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input` is less than `other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.lt(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([ True, False, False])
    """
    return write_out(out, input.lt(other), input, other)


def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input` is at most `other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.le(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([ True,  True, False])
    """
    return write_out(out, input.le(other), input, other)


def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input` is greater than `other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.gt(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([False, False,  True])
    """
    return write_out(out, input.gt(other), input, other)


def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input` is at least `other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.ge(pyburn.tensor([1, 2, 3]), pyburn.tensor([3, 2, 1]))
        tensor([False,  True,  True])
    """
    return write_out(out, input.ge(other), input, other)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether the two have the same shape and elements.

    Args:
        input: The tensor.
        other: The other tensor.

    Example:
        >>> import pyburn
        >>> pyburn.equal(pyburn.tensor([1, 2, 3]), pyburn.tensor([1, 2, 3]))
        True
    """
    return input.equal(other)


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`.

    Args:
        input: The tensor.
        other: The other tensor, of the same dtype.
        rtol: How far apart they may be in relation to `other`.
        atol: How far apart they may be besides.
        equal_nan: Whether NaN equals NaN.

    Example:
        >>> import pyburn
        >>> pyburn.isclose(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 2.1]))
        tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"isclose: {scalar_type(input.dtype)} did not match {scalar_type(other.dtype)}; convert one")
    if rtol < 0 or atol < 0:
        raise RuntimeError("isclose: rtol and atol must not be negative")
    close = input == other
    if not input.is_floating_point() and not input.is_complex():
        if rtol == 0 and atol == 0:
            return close
        if str(input.device) != "cpu":
            # Only the CPU has a float that holds every integer here.
            return isclose(input.cpu(), other.cpu(), rtol, atol).to(input.device)
        input, other = input._to_dtype(_core.float64), other._to_dtype(_core.float64)
    elif equal_nan:
        close = close | (input.isnan() & other.isnan())
    distance = (input - other).abs()
    # An infinite distance is never close, however large the allowance.
    return close | (distance.isfinite() & (distance <= atol + (rtol * other).abs()))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere.

    Args:
        input: The tensor.
        other: The other tensor, of the same dtype.
        rtol: How far apart they may be in relation to `other`.
        atol: How far apart they may be besides.
        equal_nan: Whether NaN equals NaN.

    Example:
        >>> import pyburn
        >>> pyburn.allclose(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 2.0 + 1e-9]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isnan(input: Tensor) -> Tensor:
    """Where the elements are NaN.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> pyburn.isnan(pyburn.tensor([1.0, float("inf"), float("-inf"), float("nan")]))
        tensor([False, False, False,  True])
    """
    return input.ne(input)


def isinf(input: Tensor) -> Tensor:
    """Where the elements are infinite.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> pyburn.isinf(pyburn.tensor([1.0, float("inf"), float("-inf"), float("nan")]))
        tensor([False,  True,  True, False])
    """
    if input.is_complex():
        return isinf(input.real) | isinf(input.imag)
    return input.abs() == _INF if input.is_floating_point() else _nowhere(input)


def isfinite(input: Tensor) -> Tensor:
    """Where the elements are neither infinite nor NaN.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> pyburn.isfinite(pyburn.tensor([1.0, float("inf"), float("-inf"), float("nan")]))
        tensor([ True, False, False, False])
    """
    if input.is_complex():
        return isfinite(input.real) & isfinite(input.imag)
    return input.abs() < _INF if input.is_floating_point() else _nowhere(input).logical_not()


def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are plus infinity.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.isposinf(pyburn.tensor([1.0, float("inf"), float("-inf"), float("nan")]))
        tensor([False,  True, False, False])
    """
    if input.is_complex():
        raise _core.DTypeError("isposinf does not support complex inputs.")
    truth_out("isposinf", out)
    return write_out(out, input == _INF if input.is_floating_point() else _nowhere(input), input)


def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are minus infinity.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.isneginf(pyburn.tensor([1.0, float("inf"), float("-inf"), float("nan")]))
        tensor([False, False,  True, False])
    """
    if input.is_complex():
        raise _core.DTypeError("isneginf does not support complex inputs.")
    truth_out("isneginf", out)
    return write_out(out, input == -_INF if input.is_floating_point() else _nowhere(input), input)


def isreal(input: Tensor) -> Tensor:
    """Where the elements are real numbers: everywhere but for complex tensors.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> pyburn.isreal(pyburn.tensor([1.0, 2.0]))
        tensor([True, True])
    """
    return input.imag == 0 if input.is_complex() else (input == input) | (input != input)


def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the sign is negative, that of zero included.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.signbit(pyburn.tensor([-1.0, -0.0, 2.0]))
        tensor([ True,  True, False])
    """
    truth_out("signbit", out)
    if not input.is_floating_point():
        return write_out(out, input < 0, input)
    return write_out(out, input.new_ones(()).copysign(input) < 0, input)


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None
) -> Tensor: ...
def where(
    condition: Tensor,
    input: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """`input` where the condition holds, `other` elsewhere.

    Args:
        condition: A boolean tensor.
        input: Values where the condition holds.
        other: Values elsewhere; without both, the indices where the condition holds.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.where(pyburn.tensor([True, False]), pyburn.tensor([1.0, 2.0]), 0.0)
        tensor([1., 0.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where: give both input and other, or neither")
    return write_out(out, _core._where(condition, input, other), condition, input, other)


greater = gt
greater_equal = ge
less = lt
less_equal = le
not_equal = ne
