"""Activation functions as layers."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init as initial
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class _Inplace(Module):
    """An activation that may write its result over its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _settings(self) -> list[str]:
        return []

    def extra_repr(self) -> str:
        """The settings, and `inplace=True` where it is so."""
        return ", ".join(self._settings() + (["inplace=True"] if self.inplace else []))


class ReLU(_Inplace):
    """`max(x, 0)`, elementwise.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.ReLU()(pyburn.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """`x * sigmoid(x)`, elementwise; also called swish.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.SiLU()(pyburn.ones(1))
        tensor([0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """`x * tanh(softplus(x))`, elementwise.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Mish()(pyburn.ones(1))
        tensor([0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """The scaled ELU that keeps mean 0 and variance 1 through layers.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.SELU()(pyburn.ones(1))
        tensor([1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.selu(input, self.inplace)


class Hardsigmoid(_Inplace):
    """`min(max(x + 3, 0), 6) / 6`, elementwise.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Hardsigmoid()(pyburn.zeros(1))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing: torch does not show `inplace` here."""
        return ""


class Hardswish(_Inplace):
    """`x * hardsigmoid(x)`, elementwise.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Hardswish()(pyburn.tensor([4.0]))
        tensor([4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing: torch does not show `inplace` here."""
        return ""


class LeakyReLU(_Inplace):
    """`x` where positive, else `negative_slope * x`.

    Args:
        negative_slope: The factor of negative values.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LeakyReLU(0.5)(pyburn.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def _settings(self) -> list[str]:
        return [f"negative_slope={self.negative_slope}"]


class ELU(_Inplace):
    """`x` where positive, else `alpha * (exp(x) - 1)`.

    Args:
        alpha: What negative values tend to, negated.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.ELU()(pyburn.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.elu(input, self.alpha, self.inplace)

    def _settings(self) -> list[str]:
        return [f"alpha={self.alpha}"]


class CELU(_Inplace):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    Args:
        alpha: What negative values tend to, negated.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.CELU()(pyburn.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.celu(input, self.alpha, self.inplace)

    def _settings(self) -> list[str]:
        return [f"alpha={self.alpha}"]


class Threshold(_Inplace):
    """`x` where it is above `threshold`, else `value`.

    Args:
        threshold: The limit.
        value: What stands below it.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Threshold(2.0, 9.0)(pyburn.tensor([1.0, 3.0]))
        tensor([9., 3.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def _settings(self) -> list[str]:
        return [f"threshold={self.threshold}", f"value={self.value}"]


class RReLU(_Inplace):
    """A leaky ReLU whose slope is drawn anew for each element in training.

    Args:
        lower: The least slope.
        upper: The largest; in evaluation the slope is the mean of both.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.RReLU(0.5, 0.5)(pyburn.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def _settings(self) -> list[str]:
        return [f"lower={self.lower}", f"upper={self.upper}"]


class Hardtanh(_Inplace):
    """`x` held between `min_val` and `max_val`.

    Args:
        min_val: The least value.
        max_val: The largest.
        inplace: Whether the result is written over the input.
        min_value: The older name of `min_val`.
        max_value: The older name of `max_val`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Hardtanh()(pyburn.tensor([-3.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise ValueError(f"max_val must be larger than min_val, but got {self.max_val} and {self.min_val}")

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def _settings(self) -> list[str]:
        return [f"min_val={self.min_val}", f"max_val={self.max_val}"]


class ReLU6(Hardtanh):
    """`min(max(x, 0), 6)`, elementwise.

    Args:
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.ReLU6()(pyburn.tensor([-1.0, 8.0]))
        tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def _settings(self) -> list[str]:
        return []


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`, elementwise.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Sigmoid()(pyburn.zeros(1))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent, elementwise.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Tanh()(pyburn.zeros(1))
        tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.tanh(input)


class LogSigmoid(Module):
    """`log(sigmoid(x))`, elementwise.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LogSigmoid()(pyburn.zeros(1))
        tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.logsigmoid(input)


class Softsign(Module):
    """`x / (1 + |x|)`, elementwise.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softsign()(pyburn.ones(1))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.softsign(input)


class Tanhshrink(Module):
    """`x - tanh(x)`, elementwise.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Tanhshrink()(pyburn.ones(1))
        tensor([0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.tanhshrink(input)


class GLU(Module):
    """`a * sigmoid(b)` of the halves of the input along `dim`.

    Args:
        dim: The dimension that is halved.

    Example:
        >>> import pyburn
        >>> pyburn.nn.GLU()(pyburn.tensor([2.0, 0.0]))
        tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result, half as long along `dim`."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}"


class GELU(Module):
    """`x` times the normal distribution's probability of lying below it.

    Args:
        approximate: "none", or "tanh" for the cheaper formula.

    Example:
        >>> import pyburn
        >>> pyburn.nn.GELU()(pyburn.ones(1))
        tensor([0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The settings."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """`x`, and 0 where it lies within `lambd` of 0.

    Args:
        lambd: The distance from 0.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Hardshrink()(pyburn.tensor([-1.0, 0.2]))
        tensor([-1.,  0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.lambd}"


class Softshrink(Module):
    """`x` moved towards 0 by `lambd`, and 0 where it is nearer.

    Args:
        lambd: The distance.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softshrink()(pyburn.tensor([-1.0, 0.2]))
        tensor([-0.5000,  0.0000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.lambd}"


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, a smooth ReLU.

    Args:
        beta: How sharp the bend is.
        threshold: Above this `beta * x` the result is `x`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softplus()(pyburn.zeros(1))
        tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """`exp(x)` divided by its sum along `dim`.

    Args:
        dim: The dimension that sums to 1.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softmax(dim=0)(pyburn.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}"


class Softmin(Module):
    """`exp(-x)` divided by its sum along `dim`.

    Args:
        dim: The dimension that sums to 1.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softmin(dim=0)(pyburn.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """`log(softmax(x))` along `dim`.

    Args:
        dim: The dimension whose exponentials sum to 1.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LogSoftmax(dim=0)(pyburn.zeros(2))
        tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels at each place of (N, C, H, W) or (C, H, W).

    Example:
        >>> import pyburn
        >>> pyburn.nn.Softmax2d()(pyburn.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """`x` where positive, else `weight * x`, with a weight that is learned.

    Args:
        num_parameters: 1, or one for each channel (dim 1).
        init: The weight's first value.
        device: Where the parameter is.
        dtype: Its dtype.

    Example:
        >>> import pyburn
        >>> pyburn.nn.PReLU()(pyburn.tensor([-1.0, 2.0])).detach()
        tensor([-0.2500,  2.0000])
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the weight has its first value."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The result, of the input's shape."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The settings."""
        return f"num_parameters={self.num_parameters}"
