"""Functions of angles and their hyperbolic relatives, element by element."""

from __future__ import annotations

import math

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import write_out

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]

METHODS = ("deg2rad", "rad2deg", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
INPLACE = ("deg2rad", "rad2deg", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")


def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sin(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4794, 0.8415])
    """
    return write_out(out, input.sin(), input)


def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.cos(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 0.8776, 0.5403])
    """
    return write_out(out, input.cos(), input)


def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.tan(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5463, 1.5574])
    """
    return write_out(out, input.tan(), input)


def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine each element is.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.asin(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5236, 1.5708])
    """
    return write_out(out, input.asin(), input)


def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine each element is.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.acos(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.5708, 1.0472, 0.0000])
    """
    return write_out(out, input.acos(), input)


def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent each element is.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.atan(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4636, 0.7854])
    """
    return write_out(out, input.atan(), input)


def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sinh(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5211, 1.1752])
    """
    return write_out(out, input.sinh(), input)


def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.cosh(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 1.1276, 1.5431])
    """
    return write_out(out, input.cosh(), input)


def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.tanh(pyburn.tensor([-1.0, 0.5, 1.0]))
        tensor([-0.7616,  0.4621,  0.7616])
    """
    return write_out(out, input.tanh(), input)


def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.asinh(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4812, 0.8814])
    """
    return write_out(out, input.asinh(), input)


def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.acosh(pyburn.tensor([1.0, 1.5, 2.0]))
        tensor([0.0000, 0.9624, 1.3170])
    """
    return write_out(out, input.acosh(), input)


def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.atanh(pyburn.tensor([-0.5, 0.0, 0.5]))
        tensor([-0.5493,  0.0000,  0.5493])
    """
    return write_out(out, input.atanh(), input)


def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(pi x) / (pi x)` of each element, one at zero.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sinc(pyburn.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
    """
    return write_out(out, input.sinc(), input)


def _need_real(op: str, input: Tensor) -> None:
    if input.is_complex():
        raise _core.DTypeError(f"{op} is not supported for complex tensors.")


def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in radians, from degrees.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.deg2rad(pyburn.tensor([180.0, -90.0]))
        tensor([ 3.1416, -1.5708])
    """
    _need_real("deg2rad", input)
    return write_out(out, input * (math.pi / 180.0), input)


def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in degrees, from radians.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.rad2deg(pyburn.tensor([3.1416, -1.5708]))
        tensor([180.0004, -90.0002])
    """
    _need_real("rad2deg", input)
    return write_out(out, input * (180.0 / math.pi), input)


arcsin = asin
arccos = acos
arctan = atan
arcsinh = asinh
arccosh = acosh
arctanh = atanh
