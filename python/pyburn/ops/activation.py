"""Activation functions with the signatures of torch.nn.functional; those of torch itself are exported."""

from __future__ import annotations

import warnings

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import inplace as _inplace
from pyburn.ops._methods import need_float, need_real, write_out

__all__ = [
    "celu",
    "celu_",
    "hardshrink",
    "log_softmax",
    "prelu",
    "relu",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "softmax",
    "threshold",
    "threshold_",
]

METHODS = ("prelu", "hardshrink", "rrelu_")

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def _finish(op: str, input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """The result, written into `input` where that is asked for."""
    if not inplace:
        return result
    input._check_inplace(op)
    return input._assign(op, result)


def _dim(op: str, input: Tensor, dim: int | None) -> int:
    """The given dimension; torch's old guess, with its warning, where there is none."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {op} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)` of each element.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.relu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([0.0000, 0.5000, 4.0000])
    """
    return input.relu_() if inplace else input.relu()


def _clipped(op: str, input: Tensor, low: float, high: float, inplace: bool) -> Tensor:
    """The elements inside the bounds; integers stay integers."""
    if not input.is_floating_point():
        return _finish(op, input, input.clamp(int(low), int(high)), inplace)
    return input._hardtanh_(op, low, high) if inplace else input._hardtanh(low, high)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The elements clipped to the range from 0 to 6.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.relu6(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([0.0000, 0.5000, 4.0000])
    """
    return _clipped("relu6_", input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` above zero, `negative_slope * x` below.

    Args:
        input: The tensor.
        negative_slope: The slope below zero.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.leaky_relu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.0200,  0.5000,  4.0000])
    """
    return _finish("leaky_relu_", input, input._leaky_relu(negative_slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above zero, `alpha * (exp(x) - 1)` below.

    Args:
        input: The tensor.
        alpha: Where it levels off below zero.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.elu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.8647,  0.5000,  4.0000])
    """
    return _finish("elu_", input, input._elu(alpha, 1.0, 1.0), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that deep networks keep zero mean and unit variance.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.selu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-1.5202,  0.5254,  4.2028])
    """
    return _finish("selu_", input, input._elu(_SELU_ALPHA, _SELU_SCALE, 1.0), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above zero, `alpha * (exp(x / alpha) - 1)` below.

    Args:
        input: The tensor.
        alpha: Where it levels off below zero.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.celu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.8647,  0.5000,  4.0000])
    """
    return _finish("celu_", input, input._elu(alpha, 1.0, 1.0 / alpha), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)` of each element.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.silu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.2384,  0.3112,  3.9281])
    """
    return _finish("silu_", input, input._silu(), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))` of each element.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.mish(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.2525,  0.3752,  3.9974])
    """
    return _finish("mish_", input, input._mish(), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A sigmoid made of straight lines.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.hardsigmoid(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([0.1667, 0.5833, 1.0000])
    """
    return _finish("hardsigmoid_", input, input._hardsigmoid(), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)` of each element.

    Args:
        input: The tensor.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.hardswish(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.3333,  0.2917,  4.0000])
    """
    return _finish("hardswish_", input, input._hardswish(), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The elements clipped to the range from `min_val` to `max_val`.

    Args:
        input: The tensor.
        min_val: The lower bound.
        max_val: The upper bound.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.hardtanh(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val cannot be greater than max_val, got {min_val} and {max_val}")
    return _clipped("hardtanh_", input, min_val, max_val, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` above the threshold, `value` elsewhere.

    Args:
        input: The tensor.
        threshold: What an element must exceed to stay.
        value: What the others become.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.threshold(pyburn.tensor([-2.0, 0.5, 4.0]), 1.0, 20.0)
        tensor([20., 20.,  4.])
    """
    if not input.is_floating_point():
        threshold, value = int(threshold), int(value)
    # As torch does, 16-bit floats are compared with the number itself, not with what is left of it in 16 bits.
    wide = input.float() if input.dtype in (_core.float16, _core.bfloat16) else input
    result = _core._where(wide <= threshold, value, input)
    return _finish("threshold_", input, _core._stand_for(result, "ThresholdBackward0", (input,), (input,)), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the probability that a normal variable is below `x`.

    Args:
        input: The tensor.
        approximate: `"tanh"` for the approximation, `"none"` for the exact function.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.gelu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.0455,  0.3457,  3.9999])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("gelu: approximate argument must be either none or tanh.")
    return input._gelu(approximate == "tanh")


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))` of each element.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.sigmoid(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([0.1192, 0.6225, 0.9820])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.tanh(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.9640,  0.4621,  0.9993])
    """
    return input.tanh()


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid of each element.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.logsigmoid(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-2.1269, -0.4741, -0.0181])
    """
    return input._logsigmoid()


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, a smooth `relu`.

    Args:
        input: The tensor.
        beta: How sharp the bend is.
        threshold: Above it, `beta * x` is taken as linear.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.softplus(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([0.1269, 0.9741, 4.0181])
    """
    return input._softplus(beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)` of each element.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.softsign(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.6667,  0.3333,  0.8000])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)` of each element.

    Args:
        input: The tensor.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.tanhshrink(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-1.0360,  0.0379,  3.0007])
    """
    return input - input.tanh()


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements, those with `|x| <= lambd` as zero.

    Args:
        input: The tensor.
        lambd: What an element must exceed to stay.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.hardshrink(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-2.,  0.,  4.])
    """
    _core._check_number(lambd, input.dtype)
    return input._shrink(lambd, False)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements moved by `lambd` towards zero, at most onto it.

    Args:
        input: The tensor.
        lambd: How far to move.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.softshrink(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-1.5000,  0.0000,  3.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambda must be greater or equal to 0, but found to be {lambd}.")
    return input._shrink(lambd, True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` above zero, `weight * x` below, with one weight for all or one per channel.

    Args:
        input: The tensor.
        weight: The slope below zero: one number, or one per channel (dimension 1).

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.prelu(pyburn.tensor([-2.0, 0.5, 4.0]), pyburn.tensor([0.25]))
        tensor([-0.5000,  0.5000,  4.0000])
    """
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() >= 2 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                f"prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if input.dim() >= 2:
        weight = weight.reshape(1, -1, *[1] * (input.dim() - 2))
    elif weight.dim() == 1 and input.dim() == 0:
        weight = weight.reshape(())
    plain = _core._leaking(input, weight)
    if plain is not None:
        return plain
    result = _core._where(input > 0, input, input * weight)
    return _core._stand_for(result, "PreluKernelBackward0", (input, weight), (input, weight))


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A `leaky_relu` whose slope is drawn for each element in training, and their mean otherwise.

    Args:
        input: The tensor.
        lower: The least slope.
        upper: The greatest slope.
        training: Whether to draw slopes.
        inplace: Whether to write the result into `input`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.rrelu(pyburn.tensor([-2.0, 0.5, 4.0]))
        tensor([-0.4583,  0.5000,  4.0000])
    """
    if lower > upper:
        raise RuntimeError(f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower}, {upper}")
    if not training:
        return _finish("rrelu_", input, input._leaky_relu((lower + upper) / 2), inplace)
    # torch draws only for the elements that need a slope, in float64.
    steep = input.detach() <= 0
    drawn = steep.new_empty((int(steep.sum().item()),), dtype=_core.float64).uniform_(lower, upper)
    slopes = input.detach().new_ones(input.shape).masked_scatter(steep, drawn.to(input.dtype))
    result = _core._where(input > 0, input, input * slopes)
    result = _core._stand_for(result, "RreluWithNoiseBackward0", (input,), (input,))
    return _finish("rrelu_", input, result, inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second.

    Args:
        input: The tensor.
        dim: The dimension that is halved.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.glu(pyburn.tensor([1.0, 2.0, 0.0, 1.0]))
        tensor([0.5000, 1.4621])
    """
    need_real("glu", input)
    need_float("glu", input)
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    return input._glu(dim % input.dim())


def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: _core.dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements as positive numbers that sum to one along `dim`.

    Args:
        input: The tensor.
        dim: The dimension that sums to one.
        _stacklevel: Ignored; torch has it for its warning.
        dtype: What to convert to first.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.softmax(pyburn.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    return write_out(out, input.softmax(_dim("softmax", input, dim), dtype))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _core.dtype | None = None) -> Tensor:
    """The softmax of the negated elements.

    Args:
        input: The tensor.
        dim: The dimension that sums to one.
        _stacklevel: Ignored; torch has it for its warning.
        dtype: What to convert to first.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.softmin(pyburn.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.6652, 0.2447, 0.0900])
    """
    return (-input).softmax(_dim("softmin", input, dim), dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: _core.dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The logarithm of the softmax along `dim`.

    Args:
        input: The tensor.
        dim: The dimension that sums to one.
        _stacklevel: Ignored; torch has it for its warning.
        dtype: What to convert to first.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.log_softmax(pyburn.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([-2.4076, -1.4076, -0.4076])
    """
    return write_out(out, input.log_softmax(_dim("log_softmax", input, dim), dtype))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random sample of the relaxed one-hot distribution with these logits.

    Args:
        logits: Unnormalised log probabilities.
        tau: The temperature; near zero, samples are near one-hot.
        hard: Whether samples are exactly one-hot, with the gradient of the soft ones.
        eps: Ignored; torch keeps it for old code.
        dim: The dimension that sums to one.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import activation
        >>> activation.gumbel_softmax(pyburn.zeros(3), hard=True).sum()
        tensor(1.)
    """
    noise = -logits.detach().new_empty(logits.shape).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = soft.detach().clone().zero_().scatter_(dim, index, 1.0)
    # The value is one-hot, the gradient that of the soft sample.
    return one_hot - soft.detach() + soft


relu_ = _inplace("relu", relu)
leaky_relu_ = _inplace("leaky_relu", leaky_relu)
elu_ = _inplace("elu", elu)
selu_ = _inplace("selu", selu)
celu_ = _inplace("celu", celu)
rrelu_ = _inplace("rrelu", rrelu)
hardtanh_ = _inplace("hardtanh", hardtanh)
threshold_ = _inplace("threshold", threshold)
