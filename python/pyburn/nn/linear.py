"""Affine layers, and the layers that only change a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class Identity(Module):
    """Gives back what it is given; any arguments are accepted and ignored.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Identity(54, unused=True)(pyburn.ones(1))
        tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """`input`."""
        return input


class Linear(Module):
    """`input @ weight.T + bias`.

    Args:
        in_features: The size of the input's last dimension.
        out_features: The size of the output's.
        bias: Whether a bias is learned.
        device: Where the parameters are.
        dtype: Their dtype.

    Attributes:
        weight: (out_features, in_features), drawn from within `1 / sqrt(in_features)` of 0.
        bias: (out_features), drawn likewise.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Linear(20, 30)
        >>> layer
        Linear(in_features=20, out_features=30, bias=True)
        >>> tuple(layer(pyburn.zeros(128, 20)).shape)
        (128, 30)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """(..., out_features) for an input of (..., in_features)."""
        own = self._parameters
        # Straight from where they lie; a subclass may have made properties of them, and weight_norm takes one away.
        if type(self) is Linear and "weight" in own and "bias" in own:
            return F.linear(input, own["weight"], own["bias"])  # type: ignore[arg-type]
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        in1_features: The size of the first input's last dimension.
        in2_features: The size of the second's.
        out_features: The size of the output's.
        bias: Whether a bias is learned.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Bilinear(2, 3, 4)
        >>> tuple(layer(pyburn.zeros(5, 2), pyburn.zeros(5, 3)).shape)
        (5, 4)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Makes one dimension of those from `start_dim` to `end_dim`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Flatten()(pyburn.zeros(2, 3, 4)).shape)
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The flattened input."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several dimensions of sizes `unflattened_size` of the dimension `dim`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.Unflatten(1, (3, 4))(pyburn.zeros(2, 12)).shape)
        (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        kinds = [type(size).__name__ for size in unflattened_size]
        if any(kind != "int" for kind in kinds):
            raise TypeError(f"unflattened_size must be tuple of ints, but has elements of types {kinds}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with more dimensions."""
        return input.unflatten(self.dim, tuple(self.unflattened_size))

    def extra_repr(self) -> str:
        """The dimension and its new sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
