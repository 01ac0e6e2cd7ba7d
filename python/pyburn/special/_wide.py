"""How the functions here compute: in double precision on the CPU, with results of the input's dtype and device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor, float64, get_default_dtype
from pyburn.autograd import Function, no_grad
from pyburn.ops import as_tensor, broadcast_tensors, result_type, where
from pyburn.ops._methods import write_out


def floating(value: Any, like: Any = None) -> Tensor:
    """`value` as a tensor of a floating dtype; numbers take the device of `like`."""
    if not isinstance(value, Tensor):
        device = like.device if isinstance(like, Tensor) else None
        dtype = like.dtype if isinstance(like, Tensor) and like.is_floating_point() else get_default_dtype()
        return as_tensor(value, dtype=dtype, device=device)
    if value.is_complex():
        raise TypeError(f"special: this function takes real numbers, but the dtype is {value.dtype}.")
    return value if value.is_floating_point() else value.to(get_default_dtype())


def pair(one: Any, two: Any, name: str) -> tuple[Tensor, Tensor]:
    """Both arguments as floating tensors of one dtype and shape."""
    if not isinstance(one, Tensor) and not isinstance(two, Tensor):
        raise TypeError(f"{name}: one of the arguments must be a Tensor, but both are numbers.")
    dtype = result_type(one, two)
    if dtype.is_complex:
        raise TypeError(f"{name}: this function takes real numbers, but the dtype is {dtype}.")
    wanted = dtype if dtype.is_floating_point else get_default_dtype()
    like = one if isinstance(one, Tensor) else two
    made = [
        value.to(wanted) if isinstance(value, Tensor) else as_tensor(value, dtype=wanted, device=like.device)
        for value in (one, two)
    ]
    first, second = broadcast_tensors(*made)
    return first, second


def clenshaw(t: Tensor, coefficients: Sequence[float]) -> Tensor:
    """The sum of Chebyshev polynomials with these coefficients, at `t` between -1 and 1."""
    return t._clenshaw(coefficients)


class _Elementwise(Function):
    """A function of one tensor with a known derivative: `slope(x)` of the input, or `slope(x, y)` of the result too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, compute: Any, slope: Any) -> Tensor:
        y = compute(x.to("cpu", float64)).to(x.device, x.dtype)
        ctx.slope = slope
        ctx.save_for_backward(*(x, y)[: slope.__code__.co_argcount])
        return y  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.slope(*ctx.saved_tensors), None, None


def elementwise(
    input: Any,
    compute: Callable[[Tensor], Tensor],
    slope: Callable[[Tensor], Tensor] | Callable[[Tensor, Tensor], Tensor] | None,
    out: Tensor | None = None,
) -> Tensor:
    """`compute` of each element, in double precision; `slope` None means that it has no gradient.

    Args:
        input: The tensor.
        compute: The function, of a double tensor on the CPU.
        slope: Its derivative, of the input, or of the input and the result, written with functions that have gradients.
        out: A tensor to write the result into.
    """
    x = floating(input)
    if slope is None:
        if x.requires_grad:
            x = x.detach()
        with no_grad():
            return write_out(out, compute(x.to("cpu", float64)).to(x.device, x.dtype))
    result: Tensor = _Elementwise.apply(x, compute, slope)
    return write_out(out, result)


def select(condition: Tensor, one: Any, two: Any) -> Tensor:
    """`where`, typed."""
    result: Tensor = where(condition, one, two)
    return result
