"""Functions of one tensor, element by element."""

from __future__ import annotations

import math

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn._typeinfo import finfo
from pyburn.ops._methods import inplace, scalar_type, write_out, write_outs
from pyburn.ops.matrices.recorded import Backward, link

__all__ = [
    "abs",
    "absolute",
    "ceil",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "frexp",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logit",
    "nan_to_num",
    "neg",
    "negative",
    "polygamma",
    "positive",
    "reciprocal",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sqrt",
    "square",
    "trunc",
]

METHODS = ("sgn", "positive", "logit", "frexp", "nan_to_num", "absolute", "negative", "fix", "polygamma_")
INPLACE = ("round", "sgn", "logit", "nan_to_num", "absolute", "negative", "fix")


def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.abs(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([1.5000, 0.5000, 2.5000])
    """
    return write_out(out, input.abs(), input)


def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of each element: -1, 0 or 1.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sign(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-1.,  1.,  1.])
    """
    return write_out(out, input.sign(), input)


def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element with its sign turned over.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.neg(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([ 1.5000, -0.5000, -2.5000])
    """
    return write_out(out, input.neg(), input)


def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.square(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([2.2500, 0.2500, 6.2500])
    """
    return write_out(out, input.square(), input)


def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sqrt(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([0.7071, 1.0000, 2.0000])
    """
    return write_out(out, input.sqrt(), input)


def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.rsqrt(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([1.4142, 1.0000, 0.5000])
    """
    return write_out(out, input.rsqrt(), input)


def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.reciprocal(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([2.0000, 1.0000, 0.2500])
    """
    return write_out(out, input.reciprocal(), input)


def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.ceil(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-1.,  1.,  3.])
    """
    return write_out(out, input.ceil(), input)


def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.floor(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-2.,  0.,  2.])
    """
    return write_out(out, input.floor(), input)


def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integer part of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.trunc(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-1.,  0.,  2.])
    """
    return write_out(out, input.trunc(), input)


def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part of each element, with its sign.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.frac(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-0.5000,  0.5000,  0.5000])
    """
    return write_out(out, input.frac(), input)


def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """E to the power of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.exp(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 1.6487, 2.7183])
    """
    return write_out(out, input.exp(), input)


def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Two to the power of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.exp2(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 1.4142, 2.0000])
    """
    return write_out(out, input.exp2(), input)


def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1` of each element, accurate near zero.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.expm1(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.6487, 1.7183])
    """
    return write_out(out, input.expm1(), input)


def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.log(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([-0.6931,  0.0000,  1.3863])
    """
    return write_out(out, input.log(), input)


def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of each element to base two.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.log2(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([-1.,  0.,  2.])
    """
    return write_out(out, input.log2(), input)


def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of each element to base ten.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.log10(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([-0.3010,  0.0000,  0.6021])
    """
    return write_out(out, input.log10(), input)


def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)` of each element, accurate near zero.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.log1p(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4055, 0.6931])
    """
    return write_out(out, input.log1p(), input)


def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.erf(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5205, 0.8427])
    """
    return write_out(out, input.erf(), input)


def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.erfc(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 0.4795, 0.1573])
    """
    return write_out(out, input.erfc(), input)


def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.erfinv(pyburn.tensor([-0.5, 0.0, 0.5]))
        tensor([-0.4769,  0.0000,  0.4769])
    """
    return write_out(out, input.erfinv(), input)


def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of gamma.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.lgamma(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([0.5724, 0.0000, 1.7918])
    """
    return write_out(out, input.lgamma(), input)


def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.digamma(pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([-1.9635, -0.5772,  1.2561])
    """
    return write_out(out, input.digamma(), input)


def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / (1 + exp(-x))` of each element.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sigmoid(pyburn.tensor([0.0, 0.5, 1.0]))
        tensor([0.5000, 0.6225, 0.7311])
    """
    return write_out(out, input.sigmoid(), input)


def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of each element: `sign` for real numbers, the number of size one in the same direction for complex ones.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sgn(pyburn.tensor([-1.5, 0.5, 2.5]))
        tensor([-1.,  1.,  1.])
    """
    result = input._sgn() if input.is_complex() else input.sign()
    return write_out(out, _core._stand_for(result, "SgnBackward0", (input,), (input,), True), input)


def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest number, halves to the even one.

    Args:
        input: The tensor.
        decimals: How many decimal places to keep; negative values round to tens, hundreds and so on.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.round(pyburn.tensor([0.5, 1.5, -2.6]))
        tensor([ 0.,  2., -3.])
        >>> pyburn.round(pyburn.tensor([0.1234]), decimals=2)
        tensor([0.1200])
    """
    return write_out(out, input.round(decimals=decimals), input)


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma`.

    Args:
        n: How often to differentiate.
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.polygamma(1, pyburn.tensor([0.5, 1.0, 4.0]))
        tensor([4.9348, 1.6449, 0.2838])
    """
    return write_out(out, input.polygamma(n), input)


def polygamma_(self: Tensor, n: int) -> Tensor:
    """In-place form of :func:`pyburn.polygamma`: writes the result into this tensor and returns it."""
    return inplace("polygamma", Tensor.polygamma)(self, n)


def positive(input: Tensor) -> Tensor:
    """The tensor itself; booleans are refused.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> pyburn.positive(pyburn.tensor([-1.0, 2.0]))
        tensor([-1.,  2.])
    """
    return +input


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, the inverse of `sigmoid`.

    Args:
        input: The tensor.
        eps: Elements are first brought into `[eps, 1 - eps]`; None leaves them.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logit(pyburn.tensor([0.25, 0.5]))
        tensor([-1.0986,  0.0000])
    """
    if input.is_complex():
        raise _core.DTypeError(f"logit: not implemented for '{scalar_type(input.dtype)}'")
    if not input.is_floating_point():
        input = input.to(_core.get_default_dtype())
    # Halves are computed with as float32, and rounded once.
    half = input.dtype.itemsize == 2
    plain = input.detach().float() if half else input.detach()
    x = plain if eps is None else plain.clamp(eps, 1.0 - eps)
    if eps is not None and eps > 0.5:
        # torch looks at the lower bound first, its clamp at the upper one.
        x = x.masked_fill(plain < eps, eps)
    result = (x / (1.0 - x)).log()
    result = result.to(input.dtype) if half else result

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (x,), (grad,) = context.saved, context.grads
        if grad is None:
            return (None,)
        slope = grad / (x * (1.0 - x))
        if eps is None or eps < 0:
            return (slope.masked_fill((x < 0) | (x > 1), math.nan),)
        return (slope.masked_fill((x < eps) | (x > 1.0 - eps), 0.0),)

    link("LogitBackward0", [input], [result], [input], rule)
    return write_out(out, result, input)


def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> return_types.frexp:
    """Mantissa in `[0.5, 1)` and exponent of each element, as `(mantissa, exponent)`.

    Args:
        input: The tensor.
        out: Two tensors to write the results into.

    Example:
        >>> import pyburn
        >>> pyburn.frexp(pyburn.tensor([1.0, 6.0]))[0]
        tensor([0.5000, 0.7500])
    """
    return return_types.frexp(write_outs(out, input._frexp()))


def nan_to_num(
    input: Tensor,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements with NaN and infinities replaced by numbers.

    Args:
        input: The tensor.
        nan: What NaN becomes.
        posinf: What infinity becomes; by default the dtype's largest number.
        neginf: What minus infinity becomes; by default the dtype's lowest number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.nan_to_num(pyburn.tensor([float("nan"), float("inf"), 1.0]), posinf=9.0)
        tensor([0., 9., 1.])
    """
    if not input.is_floating_point():
        return write_out(out, input.clone(), input)
    done = _core._nan_to_num(input, nan, posinf, neginf)
    if done is not None:
        return write_out(out, done, input)
    limits = finfo(input.dtype)

    def rounded(value: float) -> float:
        return value if -limits.max <= value <= limits.max else value * math.inf

    plain = input.detach()
    x = plain._hardtanh(limits.min, limits.max)
    if posinf is not None:
        x = _core._where(plain.isposinf(), rounded(posinf), x)
    if neginf is not None:
        x = _core._where(plain.isneginf(), rounded(neginf), x)
    # Only on a CPU do comparisons tell NaN; a row to choose from is read faster than one number.
    number = plain >= plain if plain.is_cpu else plain.isnan().logical_not()
    x = _core._where(number, x, plain.new_full(plain.shape[-1:], rounded(nan)))
    if input.requires_grad:
        x = _core._where(input.isfinite(), input, x)
    return write_out(out, _core._stand_for(x, "NanToNumBackward0", (input,), (input,)), input)


absolute = abs
negative = neg
fix = trunc
