"""Activations by name: what `activation="relu"` means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import nn, ops
from pyburn._core import Tensor
from pyburn.keras._registry import deserialize_keras_object, get_registered_object, serialize_keras_object
from pyburn.nn import functional

__all__ = [
    "celu",
    "deserialize",
    "elu",
    "exponential",
    "gelu",
    "get",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "serialize",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "swish",
    "tanh",
    "tanh_shrink",
    "threshold",
]


def linear(x: Tensor) -> Tensor:
    """`x` itself."""
    return x


def relu(x: Tensor, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """`x` where it is above the threshold, a slope below, at most `max_value`.

    Example:
        >>> import pyburn
        >>> relu(pyburn.tensor([-1.0, 3.0, 9.0]), negative_slope=0.5, max_value=6.0)
        tensor([-0.5000,  3.0000,  6.0000])
    """
    if negative_slope == 0.0 and threshold == 0.0:
        return functional.relu(x) if max_value is None else ops.clamp(x, 0.0, max_value)
    result = ops.where(x > threshold, x, negative_slope * (x - threshold))
    return result if max_value is None else ops.clamp(result, max=max_value)


def relu6(x: Tensor) -> Tensor:
    """`x` between 0 and 6."""
    return functional.relu6(x)


def leaky_relu(x: Tensor, negative_slope: float = 0.2) -> Tensor:
    """`x`, and a slope below zero."""
    return functional.leaky_relu(x, negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` above zero, `alpha * (exp(x) - 1)` below."""
    return functional.elu(x, alpha)


def selu(x: Tensor) -> Tensor:
    """The scaled ELU that keeps mean and variance."""
    return functional.selu(x)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """The ELU whose slope is continuous."""
    return functional.celu(x, alpha)


def gelu(x: Tensor, approximate: bool = False) -> Tensor:
    """`x` times the normal distribution's integral up to `x`."""
    return functional.gelu(x, approximate="tanh" if approximate else "none")


def silu(x: Tensor) -> Tensor:
    """`x * sigmoid(x)`."""
    return functional.silu(x)


swish = silu


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    return functional.glu(x, axis)


def hard_sigmoid(x: Tensor) -> Tensor:
    """`relu6(x + 3) / 6`."""
    return functional.hardsigmoid(x)


def hard_silu(x: Tensor) -> Tensor:
    """`x * hard_sigmoid(x)`."""
    return functional.hardswish(x)


hard_swish = hard_silu


def hard_tanh(x: Tensor) -> Tensor:
    """`x` between -1 and 1."""
    return functional.hardtanh(x)


def hard_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    """`x` where its size is above the threshold, else 0."""
    return functional.hardshrink(x, threshold)


def soft_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    """`x` moved towards zero by the threshold."""
    return functional.softshrink(x, threshold)


def tanh_shrink(x: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return functional.tanhshrink(x)


def threshold(x: Tensor, threshold: float, default_value: float) -> Tensor:
    """`x` where it is above the threshold, else the default value."""
    return functional.threshold(x, threshold, default_value)


def sigmoid(x: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return ops.sigmoid(x)


def log_sigmoid(x: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return functional.logsigmoid(x)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return ops.tanh(x)


def softmax(x: Tensor, axis: Any = -1) -> Tensor:
    """Numbers that are positive and sum to 1 along `axis` (or axes)."""
    if isinstance(axis, (tuple, list)):
        exponent = ops.exp(x - ops.amax(x, tuple(axis), keepdim=True))
        return exponent / exponent.sum(tuple(axis), keepdim=True)
    return functional.softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of the softmax."""
    return functional.log_softmax(x, axis)


def softplus(x: Tensor) -> Tensor:
    """`log(1 + exp(x))`."""
    return functional.softplus(x)


def softsign(x: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return functional.softsign(x)


def mish(x: Tensor) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return functional.mish(x)


def exponential(x: Tensor) -> Tensor:
    """`exp(x)`."""
    return ops.exp(x)


def squareplus(x: Tensor, b: float = 4) -> Tensor:
    """`(x + sqrt(x² + b)) / 2`."""
    return (x + ops.sqrt(x * x + b)) / 2


def sparse_plus(x: Tensor) -> Tensor:
    """0 below -1, `x` above 1, a parabola between."""
    return ops.where(x <= -1, ops.zeros_like(x), ops.where(x >= 1, x, (x + 1) ** 2 / 4))


def sparse_sigmoid(x: Tensor) -> Tensor:
    """0 below -1, 1 above 1, a line between."""
    return ops.clamp((x + 1) / 2, 0.0, 1.0)


def sparsemax(x: Tensor, axis: int = -1) -> Tensor:
    """The point of the simplex that is nearest to `x`: many of its numbers are 0."""
    ordered = ops.sort(x, dim=axis, descending=True).values
    total = ops.cumsum(ordered, axis)
    shape = [1] * x.dim()
    shape[axis] = x.shape[axis]
    count = ops.arange(1, x.shape[axis] + 1, dtype=x.dtype, device=x.device).reshape(shape)
    inside = (1 + count * ordered) > total
    size = inside.to(x.dtype).sum(axis, keepdim=True)
    cut = (ops.where(inside, ordered, ops.zeros_like(ordered)).sum(axis, keepdim=True) - 1) / size
    return functional.relu(x - cut)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: globals()[name] for name in __all__ if name not in ("deserialize", "get", "serialize")
}


def get(identifier: Any) -> Any:
    """The activation that `identifier` is, names or describes; None is `linear`.

    Example:
        >>> get("relu").__name__
        'relu'
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        found = get_registered_object(identifier) or _FUNCTIONS.get(identifier)
        if found is None:
            raise ValueError(
                f"activations: there is none called {identifier!r}; the names are {', '.join(sorted(_FUNCTIONS))}"
            )
        return found
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier, None, "activations")
    if callable(identifier) or isinstance(identifier, nn.Module):
        return identifier
    raise ValueError(f"activations: {identifier!r} is no name and cannot be called")


def serialize(activation: Any) -> Any:
    """The name of an activation, or the description of a layer that is one."""
    if activation is swish:
        return "silu"
    return serialize_keras_object(activation)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The activation that `serialize` described."""
    return get(config) if isinstance(config, str) else deserialize_keras_object(config, custom_objects, "activations")
