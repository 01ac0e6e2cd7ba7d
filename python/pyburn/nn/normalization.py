"""Normalization that needs no statistics of other samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class LayerNorm(Module):
    """Normalizes over the last dimensions.

    Args:
        normalized_shape: The sizes of those dimensions, or the size of the last one.
        eps: Added to the variance.
        elementwise_affine: Whether a factor is learned for each element.
        bias: Whether a summand is learned too.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LayerNorm(2, eps=0.0)(pyburn.tensor([1.0, 3.0])).detach()
        tensor([-1.,  1.])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, present in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            values = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the factors are one and the summands zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes and settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


def _shape(size: int | Sequence[int]) -> tuple[int, ...]:
    return (size,) if is_integer(size) else tuple(size)


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions.

    Args:
        normalized_shape: The sizes of those dimensions, or the size of the last one.
        eps: Added to the mean square; the dtype's smallest step when left out.
        elementwise_affine: Whether a factor is learned for each element.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> pyburn.nn.RMSNorm(2)(pyburn.tensor([3.0, 3.0])).detach()
        tensor([1., 1.])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        values = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the factors are one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The sizes and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalizes (N, C, ...) for each sample over groups of channels.

    Args:
        num_groups: How many groups; it must divide `num_channels`.
        num_channels: C.
        eps: Added to the variance.
        affine: Whether a factor and a summand are learned for each channel.
        device: Where the parameters are.
        dtype: Their dtype.
        bias: Whether the summand is learned, with `affine`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.GroupNorm(1, 2, eps=0.0)(pyburn.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.,  1.]])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, present in (("weight", affine), ("bias", affine and bias)):
            values = Parameter(empty((num_channels,), device=device, dtype=dtype)) if present else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the factors are one and the summands zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes and settings."""
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class LocalResponseNorm(Module):
    """Divides (N, C, ...) by a power of the mean square over neighbouring channels.

    Args:
        size: How many neighbouring channels.
        alpha: The factor of the mean square.
        beta: The power.
        k: Added to the mean square.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LocalResponseNorm(1, alpha=1.0, beta=1.0)(pyburn.ones(1, 1, 1)).item()
        0.5
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Divides each channel of (N, C, H, W) by a power of the energy of the channels around it.

    Args:
        size: How many channels around.
        alpha: The factor of the mean energy.
        beta: The power.
        k: What is added to the energy.

    As in torch, whose running sum never drops it, the first channel counts for all later ones.

    Differs from torch:
        The gradient is that of this function; torch's leaves that oddity out.

    Example:
        >>> import pyburn
        >>> pyburn.nn.CrossMapLRN2d(3)
        CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2 if self.size % 2 else self.size // 2 - 1
        energy = input * input
        around = F.pad(energy, (0, 0, 0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1).sum(-1)
        beyond = max(input.shape[1] - reach - 1, 0)
        first = energy[:, :1].expand(-1, beyond, -1, -1)
        around = around + F.pad(first, (0, 0, 0, 0, input.shape[1] - beyond, 0))
        return input * (around * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
