"""torch's in-place functions, `torch.relu_(x)` and its kin: each calls the method of its name."""

from __future__ import annotations

from collections.abc import Callable

from pyburn._core import Tensor

_NAMES = [
    "abs_",
    "acos_",
    "acosh_",
    "addmv_",
    "arccos_",
    "arccosh_",
    "arcsin_",
    "arcsinh_",
    "arctan_",
    "arctanh_",
    "asin_",
    "asinh_",
    "atan_",
    "atanh_",
    "ceil_",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "clip_",
    "cos_",
    "cosh_",
    "deg2rad_",
    "detach_",
    "erf_",
    "erfc_",
    "exp2_",
    "exp_",
    "expm1_",
    "fill_",
    "fix_",
    "floor_",
    "frac_",
    "gcd_",
    "lcm_",
    "ldexp_",
    "log10_",
    "log1p_",
    "log2_",
    "log_",
    "logit_",
    "nan_to_num_",
    "neg_",
    "negative_",
    "rad2deg_",
    "reciprocal_",
    "resize_as_",
    "round_",
    "rsqrt_",
    "sigmoid_",
    "sin_",
    "sinc_",
    "sinh_",
    "sqrt_",
    "square_",
    "tan_",
    "tanh_",
    "trunc_",
    "xlogy_",
    "zero_",
]

__all__ = ["fill", *_NAMES]


def fill(input: Tensor, value: Tensor | bool | int | float) -> Tensor:
    """A tensor like `input` with `value` everywhere, which may be a tensor of one element.

    Example:
        >>> import pyburn
        >>> pyburn.fill(pyburn.zeros(2), 3)
        tensor([3., 3.])
    """
    return input.clone().fill_(value)


def _function(name: str) -> Callable[..., Tensor]:
    """The function form of an in-place method."""

    def write(input: Tensor, *args: object, **kwargs: object) -> Tensor:
        result: Tensor = getattr(Tensor, name)(input, *args, **kwargs)
        return result

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"Function form of :meth:`Tensor.{name}`: writes into `input` and returns it."
    return write


globals().update({name: _function(name) for name in _NAMES})
