"""Arithmetic of two tensors or numbers, with broadcasting and type promotion."""

from __future__ import annotations

import functools
from typing import Literal

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import alpha_between, numbers_between, write_out

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "arctan2",
    "atan2",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "copysign",
    "div",
    "divide",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "ldexp",
    "lerp",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "nextafter",
    "pow",
    "remainder",
    "rsub",
    "sub",
    "subtract",
    "true_divide",
    "xlogy",
]

METHODS = (
    "true_divide",
    "float_power",
    "ldexp",
    "lerp",
    "addcmul",
    "addcdiv",
    "clamp_min",
    "clamp_max",
    "subtract",
    "multiply",
    "divide",
    "arctan2",
    "clip",
)
INPLACE = (
    "true_divide",
    "float_power",
    "ldexp",
    "lerp",
    "addcmul",
    "addcdiv",
    "clamp_min",
    "clamp_max",
    "subtract",
    "multiply",
    "divide",
    "arctan2",
    "clip",
)

Number = bool | int | float


def _tensor(value: Tensor | Number, like: Tensor | Number) -> Tensor:
    """`value` as a tensor, next to `like`: numbers may stand on either side of an op."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(like, Tensor):
        return _core._tensor(value, None, None, False)
    # A number takes the dtype of the result: in float32 it would lose digits next to float64.
    wanted = _core.result_type(value, like)
    exact = wanted if wanted in (_core.float64, _core.complex128) else None
    made = _core._tensor(value, exact, like.device, False)
    if made.dtype == wanted or like.dim() > 0:
        return made
    # Next to a tensor of rank 0 it is the number that gives way, where it fits.
    converted = made._to_dtype(wanted)
    return converted if isinstance(value, (float, complex)) or converted.item() == value else made


def _one_tensor(op: str, input: object, other: object) -> None:
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"{op}(): one of the two arguments must be a Tensor, got {input!r} and {other!r}")


def _two_tensors(op: str, input: object, other: object) -> None:
    for position, value in enumerate((input, other), 1):
        if not isinstance(value, Tensor):
            raise TypeError(f"{op}(): argument {position} must be a Tensor, not {type(value).__name__}")


@alpha_between
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`, with broadcasting and type promotion.

    Args:
        input: The tensor.
        other: A tensor or number.
        alpha: Multiplies `other`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.add(pyburn.tensor([1.0, 2.0, 3.0]), 10)
        tensor([11., 12., 13.])
    """
    if out is not None and alpha == 1 and _core._binary_out("add", input, other, out):
        return out
    x = _tensor(input, other)
    return write_out(out, x.add(other) if alpha == 1 else x.add(other, alpha=alpha), input, other)


@alpha_between
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        alpha: Multiplies `other`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.sub(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([-3.,  7.,  1.])
    """
    if out is not None and alpha == 1 and _core._binary_out("sub", input, other, out):
        return out
    x = _tensor(input, other)
    return write_out(out, x.sub(other) if alpha == 1 else x.sub(other, alpha=alpha), input, other)


def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`.

    Args:
        input: The tensor.
        other: A tensor or number.
        alpha: Multiplies `input`.

    Example:
        >>> import pyburn
        >>> pyburn.rsub(pyburn.tensor([1.0, 2.0, 3.0]), 10)
        tensor([9., 8., 7.])
    """
    return input.rsub(other) if alpha == 1 else input.rsub(other, alpha=alpha)


def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The product.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.mul(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([  4., -10.,   6.])
    """
    if out is not None and _core._binary_out("mul", input, other, out):
        return out
    return write_out(out, _tensor(input, other).mul(other), input, other)


def div(
    input: Tensor | Number,
    other: Tensor | Number,
    *,
    rounding_mode: Literal["trunc", "floor"] | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The quotient; integers give floats unless a rounding mode is given.

    Args:
        input: The tensor.
        other: A tensor or number.
        rounding_mode: `"trunc"` rounds towards zero, `"floor"` down.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.div(pyburn.tensor([1.0, 2.0, 3.0]), 2)
        tensor([0.5000, 1.0000, 1.5000])
        >>> pyburn.div(pyburn.tensor([7, -7, 5]), 2, rounding_mode="floor")
        tensor([ 3, -4,  2])
    """
    if out is not None and rounding_mode is None and _core._binary_out("div", input, other, out):
        return out
    return write_out(out, _tensor(input, other).div(other, rounding_mode=rounding_mode), input, other)


def true_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient as floats.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.true_divide(pyburn.tensor([7, -7, 5]), 2)
        tensor([ 3.5000, -3.5000,  2.5000])
    """
    return write_out(out, _tensor(input, other).div(other), input, other)


def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.floor_divide(pyburn.tensor([7, -7, 5]), 2)
        tensor([ 3, -4,  2])
    """
    return write_out(out, _tensor(input, other).floor_divide(other), input, other)


def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The rest of the division, with the sign of `other` (Python's `%`).

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.remainder(pyburn.tensor([7, -7, 5]), 3)
        tensor([1, 2, 2])
    """
    _one_tensor("remainder", input, other)
    return write_out(out, _tensor(input, other).remainder(other), input, other)


def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The rest of the division, with the sign of `input` (C's `fmod`).

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fmod(pyburn.tensor([7, -7, 5]), 3)
        tensor([ 1, -1,  2])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"fmod(): argument 1 must be a Tensor, not {type(input).__name__}")
    return write_out(out, input.fmod(other), input, other)


def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`.

    Args:
        input: The tensor.
        exponent: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.pow(pyburn.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        >>> pyburn.pow(2, pyburn.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 8.])
    """
    _one_tensor("pow", input, exponent)
    return write_out(out, _tensor(input, exponent).pow(exponent), input, exponent)


def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`, computed in float64.

    Args:
        input: The tensor.
        exponent: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.float_power(pyburn.tensor([1, 2]), 2)
        tensor([1., 4.], dtype=pyburn.float64)
    """
    _one_tensor("float_power", input, exponent)
    wide = _core.complex128 if _core.result_type(input, exponent).is_complex else _core.float64
    base = input._to_dtype(wide) if isinstance(input, Tensor) else _core._tensor(input, wide, None, False)
    power = exponent._to_dtype(wide) if isinstance(exponent, Tensor) else exponent
    return write_out(out, base.pow(power), input, exponent)


def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two; NaN where either is.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.maximum(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([4., 2., 3.])
    """
    _two_tensors("maximum", input, other)
    return write_out(out, input.maximum(other), input, other)


def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two; NaN where either is.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.minimum(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([ 1., -5.,  2.])
    """
    _two_tensors("minimum", input, other)
    return write_out(out, input.minimum(other), input, other)


def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two; where one is NaN, the other.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fmax(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([4., 2., 3.])
    """
    _two_tensors("fmax", input, other)
    return write_out(out, input.fmax(other), input, other)


def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two; where one is NaN, the other.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fmin(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([ 1., -5.,  2.])
    """
    _two_tensors("fmin", input, other)
    return write_out(out, input.fmin(other), input, other)


def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (`other`, `input`), from -pi to pi.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.atan2(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([0.2450, 2.7611, 0.9828])
    """
    _two_tensors("atan2", input, other)
    return write_out(out, input.atan2(other), input, other)


def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input ** 2 + other ** 2)` without overflow.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.hypot(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([4.1231, 5.3852, 3.6056])
    """
    return write_out(out, input.hypot(other), input, other)


def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next float after `input` in the direction of `other`.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.nextafter(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([1.0000, 2.0000, 3.0000])
    """
    return write_out(out, input.nextafter(other), input, other)


def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))` without overflow.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logaddexp(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([4.0486, 2.0009, 3.3133])
    """
    return write_out(out, input.logaddexp(other), input, other)


def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log2(2 ** input + 2 ** other)` without overflow.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logaddexp2(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([4.1699, 2.0112, 3.5850])
    """
    return write_out(out, input.logaddexp2(other), input, other)


def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The size of `input` with the sign of `other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.copysign(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]))
        tensor([ 1., -2.,  3.])
    """
    return write_out(out, input.copysign(other), input, other)


def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, zero where `input` is.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.xlogy(pyburn.tensor([1.0, 2.0, 3.0]), 2.0)
        tensor([0.6931, 1.3863, 2.0794])
    """
    _one_tensor("xlogy", input, other)
    return write_out(out, _tensor(input, other).xlogy(other), input, other)


def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Zero below zero, one above, `values` at zero.

    Args:
        input: The tensor.
        values: What the result is where `input` is zero.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.heaviside(pyburn.tensor([-1.5, 0.0, 2.0]), pyburn.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return write_out(out, input.heaviside(values), input, values)


def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.ldexp(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([1, 2, 3]))
        tensor([ 2.,  8., 24.])
    """
    _two_tensors("ldexp", input, other)
    factor = 2.0**other
    # Only the result is looked at for the exponent's gradient.
    scaled = (input.clone() if other.requires_grad else input) * factor
    if input.is_floating_point() and not other.is_floating_point():
        scaled = scaled.to(input.dtype)  # a 16-bit float stays one beside whole exponents
    return write_out(out, _core._stand_for(scaled, "LdexpBackward0", (input, other), (other,), True), input, other)


def lerp(input: Tensor, end: Tensor, weight: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """The point at `weight` of the way from `input` to `end`.

    Args:
        input: The tensor.
        end: Where a weight of one leads.
        weight: A number or a tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.lerp(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([4.0, -5.0, 2.0]), 0.5)
        tensor([ 2.5000, -1.5000,  2.5000])
    """
    if out is None and isinstance(input, Tensor):
        fused = _core._combined("lerp", input, end, weight, 1, False)
        if fused is not None:
            return fused
    # The other way round than usual, so that the result lies in memory as `input` does.
    back = input - end
    if isinstance(weight, Tensor):
        near = weight.abs() < 0.5
        between = _core._where(near, input, end) - back * _core._where(near, weight, weight - 1)
        # The ends are looked at only for the weight's gradient.
        kept = (weight, input, end) if weight.requires_grad else (weight,)
        between = _core._stand_for(between, "LerpBackward1", (input, end, weight), kept)
        return write_out(out, between, input, end, weight)
    _core._check_number(weight, back.dtype)
    # From the nearer end, so that a weight of one gives `end` exactly.
    between = input - back * weight if abs(weight) < 0.5 else back * (1 - weight) + end
    return write_out(out, _core._stand_for(between, "LerpBackward0", (input, end)), input, end, weight)


def _kind(dtype: _core.dtype) -> int:
    """The rank of a dtype's kind: a kind that is higher wins, whatever the number of dimensions."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype != _core.bool)


def _widened(*tensors: Tensor) -> tuple[_core.dtype | None, tuple[Tensor, ...]]:
    """The operands in the dtype that torch computes in, and the dtype of the result where that is another one.

    Halves are rounded once, at the end, and operands of less precision than the result are not multiplied in it.
    """
    dtypes = [[x.dtype for x in tensors if (x.dim() == 0) is scalar] for scalar in (False, True)]
    parts = [functools.reduce(_core.promote_types, part) for part in dtypes if part]
    wanted = parts[0] if len(parts) == 1 or _kind(parts[0]) >= _kind(parts[1]) else _core.promote_types(*parts)
    half = wanted in (_core.float16, _core.bfloat16)
    wide = _core.float32 if half else wanted
    if _kind(wide) < 2:
        return None, tensors
    return wanted if half else None, tuple(x if x.dtype == wide else x._to_dtype(wide) for x in tensors)


@numbers_between("value")
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 * tensor2`.

    Args:
        input: The tensor.
        tensor1: The first factor.
        tensor2: The second factor.
        value: Multiplies the product.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1.0, 2.0, 3.0])
        >>> pyburn.addcmul(x, x, pyburn.tensor([4.0, -5.0, 2.0]), value=0.5)
        tensor([ 3., -3.,  6.])
    """
    if tensor1.is_sparse or tensor2.is_sparse:
        raise NotImplementedError("addcmul does not take sparse tensors; call .to_dense() first.")
    if out is None and (fused := _core._combined("addcmul", input, tensor1, tensor2, value, False)) is not None:
        return fused
    result, (input, tensor1, tensor2) = _widened(input, tensor1, tensor2)
    product = tensor1 * tensor2
    if isinstance(value, float) and not (product.is_floating_point() or product.is_complex()):
        # torch multiplies integers by integers only.
        value = int(value)
    _core._check_number(value, product.dtype)
    total = input + (product if value == 1 else product * value)
    return write_out(out, total if result is None else total._to_dtype(result), input, tensor1, tensor2)


@numbers_between("value")
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 / tensor2`.

    Args:
        input: The tensor.
        tensor1: What is divided.
        tensor2: What it is divided by.
        value: Multiplies the quotient.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1.0, 2.0, 3.0])
        >>> pyburn.addcdiv(x, x, pyburn.tensor([4.0, -5.0, 2.0]), value=0.5)
        tensor([1.1250, 1.8000, 3.7500])
    """
    if not any(kind.is_floating_point or kind.is_complex for kind in (tensor1.dtype, tensor2.dtype)):
        raise RuntimeError("addcdiv: integer division is not supported; convert tensor1 or tensor2 to a float dtype")
    if out is None and (fused := _core._combined("addcdiv", input, tensor1, tensor2, value, False)) is not None:
        return fused
    result, (input, tensor1, tensor2) = _widened(input, tensor1, tensor2)
    quotient = tensor1 / tensor2
    _core._check_number(value, quotient.dtype)
    total = input + (quotient if value == 1 else quotient * value)
    return write_out(out, total if result is None else total._to_dtype(result), input, tensor1, tensor2)


def clamp(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements brought into the range from `min` to `max`.

    Args:
        input: The tensor.
        min: The lower bound; None for none.
        max: The upper bound; None for none.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.clamp(pyburn.tensor([4.0, -5.0, 2.0]), -1, 3)
        tensor([ 3., -1.,  2.])
    """
    return write_out(out, input.clamp(min, max), input, min, max)


def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The elements, those below `min` replaced by it.

    Args:
        input: The tensor.
        min: The lower bound.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.clamp_min(pyburn.tensor([4.0, -5.0, 2.0]), 0)
        tensor([4., 0., 2.])
    """
    return write_out(out, input.clamp(min), input, min)


def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The elements, those above `max` replaced by it.

    Args:
        input: The tensor.
        max: The upper bound.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.clamp_max(pyburn.tensor([4.0, -5.0, 2.0]), 3)
        tensor([ 3., -5.,  2.])
    """
    return write_out(out, input.clamp(None, max), input, max)


subtract = sub
multiply = mul
divide = div
arctan2 = atan2
clip = clamp

for _name in ("add", "add_", "sub", "sub_"):
    setattr(Tensor, _name, alpha_between(getattr(Tensor, _name)))
