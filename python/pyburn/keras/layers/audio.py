"""Sounds as pictures of their frequencies."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras._signal_ops import stft
from pyburn.keras.layer import Layer

__all__ = ["MelSpectrogram"]


def _mel(hertz: float) -> float:
    """The place of a frequency on the mel scale (HTK's formula)."""
    return 1127.0 * math.log(1.0 + hertz / 700.0)


class MelSpectrogram(Layer):
    """The strength of frequencies on the mel scale over time, (batch, num_mel_bins, steps), of sounds (batch, samples).

    Args:
        fft_length: How many samples a spectrum is computed of.
        sequence_stride: How many samples lie between two spectra.
        sequence_length: How long the window is; `fft_length` when left out.
        window: "hann" or "hamming".
        sampling_rate: How many samples a second has.
        num_mel_bins: How many bands there are.
        min_freq: The lowest frequency.
        max_freq: The highest; half of the sampling rate when left out.
        power_to_db: Whether the result is in decibels.
        top_db: How far below the strongest the weakest may be.
        mag_exp: 1 for magnitudes, 2 for power.
        min_power: The least power.
        ref_power: The power of 0 decibels.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: Any = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.fft_length, self.sequence_stride = fft_length, sequence_stride
        self.sequence_length = sequence_length or fft_length
        if self.fft_length < self.sequence_length:
            raise ValueError(
                f"MelSpectrogram: fft_length is {fft_length}, but must be at least sequence_length={sequence_length}"
            )
        self.window, self.sampling_rate, self.num_mel_bins = window, sampling_rate, num_mel_bins
        self.min_freq, self.max_freq = min_freq, max_freq or int(sampling_rate / 2)
        self.power_to_db, self.top_db, self.mag_exp = power_to_db, top_db, mag_exp
        self.min_power, self.ref_power = min_power, ref_power

    def _bands(self, count: int, like: Tensor) -> Tensor:
        """Triangles (frequencies, bands) that are straight on the mel scale; the constant part has no band."""
        hertz = ops.linspace(0.0, self.sampling_rate / 2.0, count, dtype=like.dtype, device=like.device)
        mel = (1127.0 * ops.log(1.0 + hertz / 700.0)).unsqueeze(1)
        edges = ops.linspace(
            _mel(self.min_freq), _mel(self.max_freq), self.num_mel_bins + 2, dtype=like.dtype, device=like.device
        )
        low, middle, high = edges[:-2], edges[1:-1], edges[2:]
        up, down = (mel - low) / (middle - low), (high - mel) / (high - middle)
        made = ops.clamp(ops.minimum(up, down), min=0.0)
        return ops.cat([ops.zeros_like(made[:1]), made[1:]])

    def call(self, inputs: Any) -> Any:
        x = inputs.to(settings.as_dtype(self.compute_dtype))
        if x.is_meta:
            steps = x.shape[-1] // self.sequence_stride + 1
            return ops.zeros(*x.shape[:-1], self.num_mel_bins, steps, dtype=x.dtype, device=x.device)
        real, imaginary = stft(x, self.sequence_length, self.sequence_stride, self.fft_length, self.window)
        power = ops.sqrt(real * real + imaginary * imaginary) ** self.mag_exp
        made = power @ self._bands(power.shape[-1], power)
        if self.power_to_db:
            made = 10.0 * ops.log10(ops.clamp(made, min=self.min_power))
            made = made - 10.0 * math.log10(max(abs(self.ref_power), self.min_power))
            made = ops.maximum(made, made.max() - self.top_db)
        return made.transpose(-1, -2)
