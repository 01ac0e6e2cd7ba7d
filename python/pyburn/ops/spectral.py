"""Short-time Fourier transforms and their inverse."""

from __future__ import annotations

import math
import warnings

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops.creation import ones, zeros
from pyburn.ops.padding import pad
from pyburn.ops.ranges import arange

__all__ = ["istft", "stft"]

METHODS = ("istft", "stft")


def _fitted_window(op: str, window: Tensor | None, length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window with zeros on both sides up to `n_fft`; ones where none is given."""
    if window is None:
        kind = like.dtype.to_real()
        window = ones(length, dtype=kind, device=like.device)
    elif window.dim() != 1 or window.shape[0] != length:
        raise RuntimeError(
            f"{op}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left))


def _check_sizes(op: str, n_fft: int, hop: int, length: int) -> None:
    if hop <= 0:
        raise RuntimeError(f"{op}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{op}: expected 0 < win_length <= n_fft, but got win_length={length}, n_fft={n_fft}")


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping pieces of a signal, of shape (..., frequencies, pieces).

    Args:
        input: One signal, or a batch of them.
        n_fft: The length of a piece.
        hop_length: The distance between two pieces; n_fft // 4 by default.
        win_length: The length of the window; n_fft by default.
        window: Weights for each piece, padded to n_fft; ones by default.
        center: Whether the signal is padded so that piece t is centred at sample t * hop_length.
        pad_mode: How it is padded, see `nn.functional.pad`.
        normalized: Whether results are multiplied with n_fft ** -0.5.
        onesided: Whether only the first half of the frequencies is given; by default for real signals.
        return_complex: Whether the result is complex; False gives the parts as a last dimension.
        align_to_window: Without centring, whether pieces are counted by the window's length.

    Example:
        >>> import pyburn
        >>> pyburn.stft(pyburn.ones(16), 8, window=pyburn.hann_window(8), return_complex=True).shape
        pyburn.Size([5, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
        return_complex = True
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not (input.is_floating_point() or input.is_complex()) or input.dim() not in (1, 2):
        raise RuntimeError(
            f"stft: expected a 1D or 2D tensor of floating types, got {list(input.shape)} of {input.dtype}"
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window should only be set when center = false.")
    _check_sizes("stft", n_fft, hop, length)
    signal = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        signal = pad(signal.unsqueeze(0), (n_fft // 2, n_fft // 2), pad_mode).squeeze(0)
    elif align_to_window:
        rest = n_fft - length
        signal = pad(signal, (rest // 2, rest - rest // 2))
    if not 0 < n_fft <= signal.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signal.shape[1]}, but got n_fft={n_fft}")
    weights = _fitted_window("stft", window, length, n_fft, input)
    pieces = _pieces(signal, n_fft, hop) * weights  # (B, T, n_fft)
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0
    if pieces.is_complex():
        out = _core._fft_c2c(pieces, -1, True, scale)
    else:
        out = _core._fft_r2c(pieces, -1, True, half, scale)
    out = out.transpose(1, 2)  # (B, F, T)
    out = out if input.dim() == 2 else out.squeeze(0)
    return out if return_complex else _core.view_as_real(out)


def _places(count: int, size: int, hop: int) -> Tensor:
    """Where the elements of `count` pieces that begin `hop` apart stand in the signal."""
    return (arange(count).unsqueeze(1) * hop + arange(size)).reshape(-1)


def _pieces(signal: Tensor, size: int, hop: int) -> Tensor:
    """The pieces (B, T, size) of signals (B, L)."""
    pieces = signal.unfold(1, size, hop)
    if not pieces.requires_grad:
        return pieces
    # The gradient of a view of overlapping windows is much slower than adding by number.
    places = _places(pieces.shape[1], size, hop).to(signal.device)
    return signal.index_select(1, places).reshape(pieces.shape)


def _overlap_add(pieces: Tensor, hop: int) -> Tensor:
    """The sum of pieces (B, T, n) that begin `hop` apart."""
    batch, count, size = pieces.shape
    places = _places(count, size, hop).to(pieces.device)
    blank = zeros(batch, size + hop * (count - 1), dtype=pieces.dtype, device=pieces.device)
    return blank.index_add(1, places, pieces.reshape(batch, -1))


def _signal_pieces(input: Tensor, n_fft: int, normalized: bool, onesided: bool | None, return_complex: bool) -> Tensor:
    """The pieces (B, T, n_fft) that the spectra (B, F, T) belong to."""
    half = n_fft // 2 + 1
    one_sided = input.shape[1] != n_fft if onesided is None else onesided
    if input.shape[1] != (half if one_sided else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True (n_fft when False), but got {input.shape[1]} for n_fft={n_fft}"
        )
    spectra = input.transpose(1, 2)
    scale = 1 / math.sqrt(n_fft) if normalized else 1 / n_fft
    if return_complex:
        if one_sided:
            raise RuntimeError("istft: cannot have onesided input for a complex output; pass onesided=False")
        return _core._fft_c2c(spectra, -1, False, scale)
    if not one_sided:
        spectra = spectra.narrow(-1, 0, half)
    return _core._fft_c2r(spectra, -1, n_fft, False, scale)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` this is: overlapping pieces added and divided by the sum of squared windows.

    Args:
        input: What `stft` gave, complex.
        n_fft: The length of a piece.
        hop_length: The distance between two pieces; n_fft // 4 by default.
        win_length: The length of the window; n_fft by default.
        window: The window of the `stft`.
        center: Whether the signal was padded.
        normalized: Whether the `stft` was normalized.
        onesided: Whether only the first half of the frequencies is given; by default seen from the shape.
        length: The length of the result; by default as far as the pieces reach.
        return_complex: Whether the signal is complex.

    Example:
        >>> import pyburn
        >>> window = pyburn.hann_window(8)
        >>> spectrum = pyburn.stft(pyburn.ones(16), 8, window=window, return_complex=True)
        >>> pyburn.istft(spectrum, 8, window=window)[:3]
        tensor([1., 1., 1.])
    """
    if not input.is_complex():
        raise _core.DTypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if input.numel() == 0 or input.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions and elements, got {list(input.shape)}")
    _check_sizes("istft", n_fft, hop, size)
    weights = _fitted_window("istft", window, size, n_fft, input)
    if weights.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = input if input.dim() == 3 else input.unsqueeze(0)
    pieces = _signal_pieces(spectra, n_fft, normalized, onesided, return_complex)
    signal = _overlap_add(pieces * weights, hop)
    envelope = _overlap_add((weights * weights).expand(1, pieces.shape[1], n_fft), hop)
    out = _trimmed(signal, envelope, n_fft // 2 if center else 0, center, length)
    return out if input.dim() == 3 else out.squeeze(0)


def _trimmed(signal: Tensor, envelope: Tensor, start: int, center: bool, length: int | None) -> Tensor:
    """The signal without its padding, divided by the windows' sum."""
    reach = signal.shape[1]
    end = start + length if length is not None else reach - (start if center else 0)
    kept = min(end, reach) - start
    signal, envelope = signal.narrow(1, start, kept), envelope.narrow(1, start, kept)
    if float(envelope.detach().abs().amin()) <= 1e-11:
        raise RuntimeError("istft: window overlap add min: the sum of squared windows is zero somewhere")
    out = signal / envelope
    if end > reach:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings.",
            stacklevel=3,
        )
        out = pad(out, (0, end - reach))
    return out
