"""burn's activations and noise that torch has no class for."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.ops import randn_like, where, zeros_like


class SwiGlu(Module):
    """`silu(linear_inner(x)) * linear_outer(x)` (Shazeer, 2020).

    Args:
        d_input: The size of the input's last dimension.
        d_output: The size of the output's.
        bias: Whether both linear maps have biases.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.burn.SwiGlu(3, 5)(pyburn.zeros(2, 3)).shape)
        (2, 5)
    """

    def __init__(self, d_input: int, d_output: int, bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.linear_inner = Linear(d_input, d_output, bias, device, dtype)
        self.linear_outer = Linear(d_input, d_output, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(..., d_output) for an input of (..., d_input)."""
        inner: Tensor = self.linear_inner(input)
        result: Tensor = inner * inner.sigmoid() * self.linear_outer(input)
        return result


class ThresholdedRelu(Module):
    """`x` where it is above `alpha`, else 0.

    Args:
        alpha: The threshold.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.ThresholdedRelu()(pyburn.tensor([0.5, 1.0, 2.0]))
        tensor([0., 0., 2.])
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """The input with its small part cut to 0."""
        cut: Tensor = where(input > self.alpha, input, zeros_like(input))
        return cut

    def extra_repr(self) -> str:
        """The threshold."""
        return f"alpha={self.alpha}"


class Shrink(Module):
    """`x - bias` above `lambd`, `x + bias` below `-lambd`, and 0 between.

    Args:
        lambd: The threshold.
        bias: By how much what is left comes closer to 0.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.Shrink(0.5, 0.25)(pyburn.tensor([-2.0, 0.1, 2.0]))
        tensor([-1.7500,  0.0000,  1.7500])
    """

    def __init__(self, lambd: float = 0.5, bias: float = 0.0) -> None:
        super().__init__()
        self.lambd = lambd
        self.bias = bias

    def forward(self, input: Tensor) -> Tensor:
        """The shrunk input."""
        low = where(input < -self.lambd, input + self.bias, zeros_like(input))
        shrunk: Tensor = where(input > self.lambd, input - self.bias, low)
        return shrunk

    def extra_repr(self) -> str:
        """The settings."""
        return f"lambd={self.lambd}, bias={self.bias}"


class GaussianNoise(Module):
    """Adds noise of standard deviation `std` in training, and nothing in evaluation.

    Args:
        std: The standard deviation, from 0 on.

    Raises:
        ValueError: It is negative.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.GaussianNoise(0.1).eval()(pyburn.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, std: float) -> None:
        super().__init__()
        if std < 0:
            raise ValueError(f"GaussianNoise: std must not be negative, got {std}; give 0 for no noise.")
        self.std = std

    def forward(self, input: Tensor) -> Tensor:
        """The input, with noise in training."""
        return input + randn_like(input.detach()) * self.std if self.training and self.std > 0 else input

    def extra_repr(self) -> str:
        """The standard deviation."""
        return f"std={self.std}"
