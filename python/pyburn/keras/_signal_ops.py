"""Spectra and sequences without alignment: `keras.ops.fft`, `stft`, `ctc_loss` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import fft as _fft
from pyburn import ops as _ops
from pyburn._core import Tensor
from pyburn.nn import functional as _functional

__all__ = ["SIGNAL", "stft"]


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else _ops.as_tensor(x)


def _complex(x: Any) -> Tensor:
    """A complex tensor out of Keras's pair of real and imaginary part."""
    if not isinstance(x, (list, tuple)) or len(x) != 2:
        raise ValueError("ops.fft: give a pair (real part, imaginary part) of equal shapes, not one tensor")
    real, imaginary = (_tensor(part) for part in x)
    if real.shape != imaginary.shape:
        raise ValueError(
            f"ops.fft: the real part has shape {tuple(real.shape)}, but the imaginary one {tuple(imaginary.shape)}"
        )
    return _ops.complex(real, imaginary)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return _ops.real(x).contiguous(), _ops.imag(x).contiguous()


def _extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Tensor:
    made: Tensor = _tensor(x).unfold(-1, sequence_length, sequence_stride)
    return made.contiguous()


def _window(window: Any, length: int, fft_length: int) -> Tensor | None:
    if window is None:
        made = _ops.ones(length)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(f"ops.stft: window is {window!r}, but must be 'hann', 'hamming', a tensor or None")
        made = _ops.hann_window(length) if window == "hann" else _ops.hamming_window(length)
    else:
        made = _tensor(window).float()
    left = (fft_length - length) // 2
    return _functional.pad(made, (left, fft_length - length - left))


def _flat(x: Tensor, kept: int) -> tuple[Tensor, tuple[int, ...]]:
    """All axes but the last `kept` as one, and what they were."""
    return x.reshape(-1, *x.shape[x.dim() - kept :]), tuple(x.shape[: x.dim() - kept])


def stft(
    x: Any, sequence_length: int, sequence_stride: int, fft_length: int, window: Any = "hann", center: bool = True
) -> tuple[Tensor, Tensor]:
    """The real and imaginary parts (..., steps, frequencies) of the spectra of overlapping pieces of a signal.

    Args:
        x: The signals (..., samples).
        sequence_length: How long a piece is.
        sequence_stride: How far apart two pieces begin.
        fft_length: How many samples a spectrum is computed of.
        window: "hann", "hamming", a tensor, or None for none.
        center: Whether the pieces are centred on their places, with the signal mirrored at its ends.

    Example:
        >>> stft(_ops.ones(16), 8, 4, 8)[0].shape
        pyburn.Size([5, 5])
    """
    rows, before = _flat(_tensor(x), 1)
    made = _ops.stft(
        rows,
        fft_length,
        sequence_stride,
        fft_length,
        _window(window, sequence_length, fft_length),
        center=center,
        return_complex=True,
    ).transpose(-1, -2)
    return _parts(made.reshape(*before, *made.shape[1:]))


def _istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Tensor:
    rows, before = _flat(_complex(x), 2)
    made = _ops.istft(
        rows.transpose(-1, -2),
        fft_length,
        sequence_stride,
        fft_length,
        _window(window, sequence_length, fft_length),
        center=center,
        length=length,
    )
    return made.reshape(*before, made.shape[-1])


def _ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Tensor:
    logs = _functional.log_softmax(_tensor(output), -1).transpose(0, 1)  # (T, B, classes)
    return _functional.ctc_loss(
        logs,
        _tensor(target).long(),
        _tensor(output_length).long(),
        _tensor(target_length).long(),
        blank=mask_index,
        reduction="none",
    )


def _ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int = 0,
) -> tuple[Tensor, Tensor]:
    if strategy != "greedy":
        raise ValueError(f"ops.ctc_decode: strategy is {strategy!r}, but only 'greedy' is there")
    x, lengths = _tensor(inputs), _tensor(sequence_lengths).long()  # (B, T, classes)
    steps = x.shape[1]
    beyond = _ops.arange(steps, device=x.device).unsqueeze(0) >= lengths.unsqueeze(1)
    best, found = x.max(-1)
    best = best.masked_fill(beyond, 0.0)
    found = found.masked_fill(beyond, mask_index)
    if merge_repeated:
        again = _functional.pad((found[:, 1:] == found[:, :-1]).long(), (1, 0)).bool()
        found = found.masked_fill(again, mask_index)
    gone = found == mask_index
    found = found.masked_fill(gone, -1)
    order = _ops.argsort(gone.long(), 1, stable=True)
    return found.gather(1, order).unsqueeze(0).int(), -best.sum(1, keepdim=True)


SIGNAL: list[tuple[str, Callable[..., Any]]] = [
    ("fft", lambda x: _parts(_fft.fft(_complex(x)))),
    ("fft2", lambda x: _parts(_fft.fft2(_complex(x)))),
    ("ifft2", lambda x: _parts(_fft.ifft2(_complex(x)))),
    ("rfft", lambda x, fft_length=None: _parts(_fft.rfft(_tensor(x), fft_length))),
    ("irfft", lambda x, fft_length=None: _fft.irfft(_complex(x), fft_length)),
    ("stft", stft),
    ("istft", _istft),
    ("extract_sequences", _extract_sequences),
    ("ctc_loss", _ctc_loss),
    ("ctc_decode", _ctc_decode),
    ("view_as_complex", lambda x: _ops.view_as_complex(_tensor(x).contiguous())),
    ("view_as_real", lambda x: _ops.view_as_real(_tensor(x))),
]
