"""Functions that fill a tensor with first values, in place and outside of autograd."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from pyburn._core import Generator, Tensor
from pyburn.autograd import no_grad
from pyburn.ops import empty_like, randperm
from pyburn.ops.matrices.norms import vector_norm

_FIXED_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled to keep the variance.

    Args:
        nonlinearity: The name of a layer or activation in `pyburn.nn.functional`.
        param: The negative slope of "leaky_relu", 0.01 when left out.

    Raises:
        ValueError: The name is not known or `param` not a number.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.calculate_gain("relu")
        1.4142135623730951
    """
    if nonlinearity in _FIXED_GAINS:
        return _FIXED_GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if isinstance(param, bool) or not isinstance(param, int | float | None):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """`tensor`, filled with numbers spread evenly from `a` to `b`.

    Example:
        >>> import pyburn
        >>> bool((pyburn.nn.init.uniform_(pyburn.empty(9), 2.0, 3.0) >= 2.0).all())
        True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """`tensor`, filled from the normal distribution of `mean` and `std`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.normal_(pyburn.empty(2), mean=1.0, std=0.0)
        tensor([1., 1.])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """`tensor`, filled from the normal distribution of `mean` and `std` cut off at `a` and `b`.

    Example:
        >>> import pyburn
        >>> bool((pyburn.nn.init.trunc_normal_(pyburn.empty(99), a=-0.1, b=0.1).abs() <= 0.1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    # Where much of the distribution lies inside, drawing from it and rejecting the rest is cheap; else
    # candidates are spread evenly and accepted as often as the density says. torch draws likewise.
    likely = below(b) - below(a) > 0.3
    peak = ((max(a, min(mean, b)) - mean) / std) ** 2

    def draw(values: Tensor) -> tuple[Tensor, Tensor]:
        if likely:
            values.normal_(mean, std, generator=generator)
            return values, (values < a) | (values > b)
        values.uniform_(a, b, generator=generator)
        density = (((values - mean) / std).square() - peak) * -0.5
        return values, empty_like(values).uniform_(generator=generator).log() > density

    if tensor.device.type == "meta":
        return tensor
    with no_grad():
        # Numbers are drawn in an order that depends on the strides: first into `tensor` itself, as torch does.
        result, refused = draw(tensor.detach())
        while bool(refused.any()):
            values, again = draw(empty_like(result))
            result = values.where(refused, result)
            refused = refused & again
        return tensor.copy_(result)


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Generator | None = None) -> Tensor:
    return normal_(tensor, mean, std, generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None = None
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """`tensor`, filled with `val`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.constant_(pyburn.empty(2), 3.0)
        tensor([3., 3.])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """`tensor`, filled with ones.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.ones_(pyburn.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """`tensor`, filled with zeros.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.zeros_(pyburn.empty(2))
        tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The matrix `tensor`, filled with the identity.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.eye_(pyburn.empty(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1.0)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The convolution weight `tensor`, filled so that each group passes its channels through unchanged.

    Example:
        >>> import pyburn
        >>> pyburn.nn.init.dirac_(pyburn.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    middle = [size // 2 for size in tensor.shape[2:]]
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *middle)] = 1.0
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input, of a weight."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """`tensor`, filled evenly within `gain * sqrt(6 / (fan_in + fan_out))` of 0.

    Example:
        >>> import pyburn
        >>> bool((pyburn.nn.init.xavier_uniform_(pyburn.empty(3, 3)).abs() <= 1.0).all())
        True
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """`tensor`, filled from a normal distribution of deviation `gain * sqrt(2 / (fan_in + fan_out))`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.init.xavier_normal_(pyburn.empty(3, 2)).shape)
        (3, 2)
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """`tensor`, filled evenly within `gain * sqrt(3 / fan)` of 0.

    Args:
        tensor: A weight of at least two dimensions.
        a: The negative slope when `nonlinearity` is "leaky_relu".
        mode: "fan_in" to keep the variance forwards, "fan_out" backwards.
        nonlinearity: What follows the layer.
        generator: Where the random numbers come from.

    Example:
        >>> import pyburn
        >>> bool((pyburn.nn.init.kaiming_uniform_(pyburn.empty(4, 6)).abs() <= 1.0).all())
        True
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """`tensor`, filled from a normal distribution of deviation `gain / sqrt(fan)`.

    The arguments are those of `kaiming_uniform_`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.init.kaiming_normal_(pyburn.empty(4, 6)).shape)
        (4, 6)
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """`tensor`, filled so that as a matrix (first dimension against the rest) it is orthogonal times `gain`.

    Example:
        >>> import pyburn
        >>> q = pyburn.nn.init.orthogonal_(pyburn.empty(2, 2))
        >>> bool(((q @ q.T - pyburn.eye(2)).abs() < 1e-5).all())
        True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q = _orthonormal(flat.t() if rows < columns else flat)
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


def _orthonormal(matrix: Tensor) -> Tensor:
    """The Q of QR with a positive diagonal in R: unlike plain Q it is spread evenly over all rotations."""
    q = matrix.clone()
    for k in range(matrix.shape[1]):
        column, basis = matrix[:, k], q[:, :k]
        # Gram-Schmidt twice: the second pass takes off what rounding left in the first.
        for _ in range(2):
            column = column - basis @ (basis.t() @ column)
        q[:, k] = column / vector_norm(column)
    return q


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """The matrix `tensor`, filled from a normal distribution with the part `sparsity` of each column zero.

    Example:
        >>> import pyburn
        >>> int((pyburn.nn.init.sparse_(pyburn.empty(4, 1), 0.5) == 0).sum())
        2
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            order = randperm(rows, generator=generator)
            tensor[order[:zeros], column] = 0.0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    old, new = function.__name__[:-1], function.__name__

    def alias(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    alias.__name__ = old
    alias.__doc__ = f"The older name of `{new}`."
    return alias


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
