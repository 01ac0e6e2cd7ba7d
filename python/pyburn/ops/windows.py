"""Window functions: the weights that a piece of a signal is multiplied with before it is transformed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops.creation import ones, tensor
from pyburn.ops.ranges import arange

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def made(
    op: str,
    length: int,
    symmetric: bool,
    shape: Callable[[Tensor, int], Tensor],
    dtype: _core.dtype | None,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """A window of `length` by `shape(positions, points)`; a periodic one is a symmetric one without its last point."""
    kind = _core.get_default_dtype() if dtype is None else dtype
    if not kind.is_floating_point:
        raise RuntimeError(f"{op} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{op} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        out = ones(length, dtype=kind, device=device)
    else:
        points = length if symmetric else length + 1
        # Computed in float64: float32 would lose digits in the cosines of large numbers.
        out = shape(arange(length, dtype=_core.float64), points).to(dtype=kind, device=device)
    return out.requires_grad_() if requires_grad else out


def cosines(weights: Sequence[float]) -> Callable[[Tensor, int], Tensor]:
    """The shape that is a sum of cosines with alternating signs."""

    def shape(positions: Tensor, points: int) -> Tensor:
        total = positions * 0
        for order, weight in enumerate(weights):
            total = total + (positions * (2 * math.pi * order / (points - 1))).cos() * ((-1) ** order * weight)
        return total

    return shape


def triangle(positions: Tensor, points: int) -> Tensor:
    """The shape of a Bartlett window."""
    return 1.0 - (positions * (2.0 / (points - 1)) - 1.0).abs()


def bessel(x: float) -> float:
    """The modified Bessel function of order zero, by its series."""
    term = total = 1.0
    order = 0
    while term > total * 1e-17:
        order += 1
        term *= (x / (2 * order)) ** 2
        total += term
    return total


def kaiser(beta: float) -> Callable[[Tensor, int], Tensor]:
    """The shape of a Kaiser window."""

    def shape(positions: Tensor, points: int) -> Tensor:
        middle = (points - 1) / 2
        inside = [max(0.0, 1 - ((index - middle) / middle) ** 2) for index in range(positions.shape[0])]
        return tensor([bessel(beta * math.sqrt(part)) / bessel(beta) for part in inside], dtype=_core.float64)

    return shape


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """One period of a raised cosine, zero at its start.

    Args:
        window_length: The number of weights.
        periodic: Whether the window may be repeated: its last point is then left out.
        dtype: The element type; the default dtype if none is given.
        layout: Accepted; tensors are strided.
        device: Where the result lives.
        pin_memory: Accepted; host memory needs no pinning here.
        requires_grad: Whether gradients are wanted for it.

    Example:
        >>> import pyburn
        >>> pyburn.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return made("hann_window", window_length, not periodic, cosines((0.5, 0.5)), dtype, device, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`alpha - beta * cos`: a raised cosine that does not reach zero; other arguments as in `hann_window`.

    Example:
        >>> import pyburn
        >>> pyburn.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return made("hamming_window", window_length, not periodic, cosines((alpha, beta)), dtype, device, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of two cosines with low side lobes; arguments as in `hann_window`.

    Example:
        >>> import pyburn
        >>> pyburn.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return made(
        "blackman_window", window_length, not periodic, cosines((0.42, 0.5, 0.08)), dtype, device, requires_grad
    )


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle; arguments as in `hann_window`.

    Example:
        >>> import pyburn
        >>> pyburn.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return made("bartlett_window", window_length, not periodic, triangle, dtype, device, requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A window whose `beta` trades the width of the main lobe for low side lobes; other arguments as in `hann_window`.

    Example:
        >>> import pyburn
        >>> pyburn.kaiser_window(4, beta=1.0)
        tensor([0.7898, 0.9450, 1.0000, 0.9450])
    """
    return made("kaiser_window", window_length, not periodic, kaiser(beta), dtype, device, requires_grad)
