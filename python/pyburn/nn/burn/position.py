"""Where in a sequence an element stands: sinusoids (Vaswani et al., 2017) and rotations (Su et al., 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.nn.module import Module
from pyburn.ops import arange, stack


def generate_sinusoids(length: int, d_model: int, max_timescale: int = 10_000, device: Any = None) -> Tensor:
    """(length, d_model): sines and cosines in turn, of ever longer periods.

    Args:
        length: How many positions.
        d_model: The size of each vector; even.
        max_timescale: The longest period, as a multiple of 2 pi; at least `length`.
        device: Where the result is.

    Raises:
        ValueError: `d_model` is odd or `max_timescale` too short.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.generate_sinusoids(2, 2)
        tensor([[0.0000, 1.0000],
                [0.8415, 0.5403]])
    """
    if d_model % 2:
        raise ValueError(f"generate_sinusoids: d_model must be even, got {d_model}.")
    if max_timescale < length:
        raise ValueError(f"generate_sinusoids: max_timescale {max_timescale} is less than the length {length}.")
    even = arange(0, d_model, 2, dtype=float32, device=device)
    factors = (even * (-math.log(max_timescale) / d_model)).exp()
    angles = arange(length, dtype=float32, device=device).unsqueeze(1) * factors  # (length, d_model / 2)
    return stack([angles.sin(), angles.cos()], 2).reshape(length, d_model)


class PositionalEncoding(Module):
    """Adds sinusoids to a sequence of vectors.

    Args:
        d_model: The size of the vectors; even.
        max_sequence_size: The longest sequence.
        max_timescale: The longest period.
        device: Where the sinusoids are.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.PositionalEncoding(2)(pyburn.zeros(1, 2, 2))
        tensor([[[0.0000, 1.0000],
                 [0.8415, 0.5403]]])
    """

    sinusoids: Tensor

    def __init__(
        self, d_model: int, max_sequence_size: int = 5_000, max_timescale: int = 10_000, device: Any = None
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_sequence_size = max_sequence_size
        self.max_timescale = max_timescale
        table = generate_sinusoids(max_sequence_size, d_model, max_timescale, device)
        self.register_buffer("sinusoids", table.unsqueeze(0), persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        """(N, T, d_model): the input with the sinusoids of its positions added."""
        if input.dim() != 3 or input.shape[2] != self.d_model or input.shape[1] > self.max_sequence_size:
            raise ValueError(
                f"PositionalEncoding: input has shape {list(input.shape)} but needs (N, T, {self.d_model}) with T up "
                f"to {self.max_sequence_size}."
            )
        return input + self.sinusoids[:, : input.shape[1]].to(input.dtype)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"d_model={self.d_model}, max_sequence_size={self.max_sequence_size}, max_timescale={self.max_timescale}"


class RotaryEncoding(Module):
    """Turns each pair of neighbouring features by an angle that grows with the position.

    Args:
        max_sequence_length: How many positions are kept ready.
        d_model: The size of the vectors; even.
        theta: The base of the frequencies.
        frequency_scaling: Changes the frequencies (d_model / 2) before they are used.
        device: Where the angles are.

    Raises:
        ValueError: `d_model` is odd or `theta` not positive.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.RotaryEncoding(10, 2)(pyburn.tensor([[1.0, 0.0], [1.0, 0.0]]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """

    freq_complex: Tensor
    theta: Tensor

    def __init__(
        self,
        max_sequence_length: int,
        d_model: int,
        theta: float = 10_000.0,
        frequency_scaling: Callable[[Tensor], Tensor] | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"RotaryEncoding: d_model must be even, got {d_model}.")
        if theta <= 0:
            raise ValueError(f"RotaryEncoding: theta must be positive, got {theta}.")
        self.d_model = d_model
        self.max_sequence_length = max_sequence_length
        self.start_offset = 0
        exponents = arange(0, d_model, 2, dtype=float32, device=device) / d_model
        frequencies = (exponents * -math.log(theta)).exp()
        frequencies = frequencies if frequency_scaling is None else frequency_scaling(frequencies)
        self.register_buffer("theta", frequencies, persistent=False)
        self.register_buffer("freq_complex", self._table(0), persistent=False)

    def _table(self, start: int) -> Tensor:
        """(max_sequence_length, d_model, 2): cosine and sine for each feature of each position."""
        places = arange(start, start + self.max_sequence_length, dtype=float32, device=self.theta.device)
        angles = places.unsqueeze(1) * self.theta  # (T, d_model / 2)
        return stack([angles.cos(), angles.sin()], 2).repeat_interleave(2, 1)

    def forward(self, input: Tensor, start: int = 0) -> Tensor:
        """The turned input, of the same shape.

        Args:
            input: (..., T, d_model).
            start: The position of its first vector within those kept ready.
        """
        if input.dim() < 2 or input.shape[-1] != self.d_model:
            raise ValueError(f"RotaryEncoding: input has shape {list(input.shape)} but needs (..., T, {self.d_model}).")
        end = start + input.shape[-2]
        if not 0 <= start <= end <= self.max_sequence_length:
            raise ValueError(
                f"RotaryEncoding: positions {start} to {end} are not among the {self.max_sequence_length} kept ready."
            )
        cos, sin = (part.to(input.dtype) for part in self.freq_complex[start:end, ::2].unbind(-1))  # (T, d_model / 2)
        even, odd = input[..., ::2], input[..., 1::2]
        return stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(input.shape)

    def shift(self, start: int) -> None:
        """Nothing; the positions kept ready begin at `start`, which must be later than before."""
        if start <= self.start_offset:
            raise ValueError(
                f"RotaryEncoding.shift: {start} is not after the present start {self.start_offset}; reset() first."
            )
        self.start_offset = start
        self.freq_complex = self._table(start)

    def reset(self) -> None:
        """Nothing; the positions kept ready begin at 0."""
        self.start_offset = 0
        self.freq_complex = self._table(0)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"d_model={self.d_model}, max_sequence_length={self.max_sequence_length}"
