"""Distribution: what `Tensor.random` draws from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyburn import _core
from pyburn._core import Generator, Tensor
from pyburn.ops.creation import Device, zeros

__all__ = ["Distribution", "random"]


@dataclass(frozen=True)
class Distribution:
    """A random distribution: `Default`, `Uniform(low, high)`, `Normal(mean, std)` or `Bernoulli(p)`.

    Example:
        >>> Distribution.Uniform(-1.0, 1.0)
        Distribution.Uniform(-1.0, 1.0)
    """

    name: str
    parameters: tuple[float, ...] = ()

    Default: ClassVar[Distribution]

    @staticmethod
    def Uniform(low: float = 0.0, high: float = 1.0) -> Distribution:
        """Every number of [low, high) is equally likely."""
        return Distribution("Uniform", (low, high))

    @staticmethod
    def Normal(mean: float = 0.0, std: float = 1.0) -> Distribution:
        """Numbers around `mean`, with the standard deviation `std`."""
        return Distribution("Normal", (mean, std))

    @staticmethod
    def Bernoulli(p: float = 0.5) -> Distribution:
        """One with the probability `p`, else zero."""
        return Distribution("Bernoulli", (p,))

    def fill_(self, tensor: Tensor, generator: Generator | None = None) -> Tensor:
        """`tensor`, filled with numbers of this distribution; integers too, rounded towards zero."""
        if self.name == "Bernoulli":
            return tensor.bernoulli_(*self.parameters, generator=generator)
        if not tensor.is_floating_point():
            drawn = zeros(tensor.shape, dtype=_core.float32, device=tensor.device)
            bounds = Distribution.Uniform(0.0, 255.0) if self.name == "Default" else self
            return tensor.copy_(bounds.fill_(drawn, generator))
        if self.name == "Normal":
            return tensor.normal_(*self.parameters, generator=generator)
        return tensor.uniform_(*self.parameters, generator=generator)

    def __repr__(self) -> str:
        return f"Distribution.{self.name}" + (f"({', '.join(map(str, self.parameters))})" if self.parameters else "")


Distribution.Default = Distribution("Default")


def _require(distribution: object) -> None:
    if not isinstance(distribution, Distribution):
        kind = type(distribution).__name__
        raise TypeError(f"random: distribution must be a Distribution such as Distribution.Normal(0, 1), got {kind}")


def random(
    shape: int | Sequence[int],
    distribution: Distribution = Distribution.Default,
    *,
    dtype: _core.dtype | None = None,
    device: Device = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of random numbers.

    Args:
        shape: The sizes.
        distribution: What to draw from; by default uniform numbers of [0, 1), for integers of 0 to 254.
        dtype: The element type; the default dtype if not given.
        device: Where it lives; the default device if not given.
        generator: Where the numbers come from; the default generator if not given.
        requires_grad: Whether gradients are wanted for it.

    Example:
        >>> import pyburn
        >>> pyburn.Tensor.random((2, 2), pyburn.Distribution.Bernoulli(1.0))
        tensor([[1., 1.],
                [1., 1.]])
    """
    _require(distribution)
    made = distribution.fill_(zeros(shape, dtype=dtype, device=device), generator)
    return made.requires_grad_(requires_grad)


setattr(Tensor, "random", staticmethod(random))  # noqa: B010
