"""Windows for spectra, symmetric (for filters) or periodic (for spectra), as torch.signal.windows names them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import layout as _layout
from pyburn._formats import strided
from pyburn.ops import arange, cos, empty, exp, kaiser_window, linspace, ones, sin, tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

Options = dict[str, Any]


def _options(
    name: str,
    M: int,
    dtype: _core.dtype | None,
    layout: _layout,
    device: _core.device | str | None,
    requires_grad: bool,
) -> Options:
    """The arguments of creation functions, checked."""
    if M < 0:
        raise ValueError(f"{name}: requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name}: is implemented for strided tensors only, got: {layout}")
    kind = _core.get_default_dtype() if dtype is None else dtype
    if kind not in (_core.float32, _core.float64):
        raise ValueError(f"{name}: expects float32 or float64 dtypes, got: {kind}")
    return {"dtype": kind, "device": device, "requires_grad": requires_grad}


def _steps(M: int, start: float, step: float, options: Options) -> Tensor:
    """`start`, `start + step`, ... as `M` points."""
    return linspace(start, start + (M - 1) * step, M, **{**options, "requires_grad": False})


def _finish(window: Tensor, options: Options) -> Tensor:
    return window.requires_grad_(options["requires_grad"])


def _short(M: int, options: Options) -> Tensor | None:
    """The windows of no and of one point."""
    if M == 0:
        return empty((0,), **options)
    return ones((1,), **options) if M == 1 else None


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`exp(-|n - center| / tau)`.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    options = _options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"exponential: Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("exponential: Center must be None for symmetric windows")
    if M == 0:
        return empty((0,), **options)
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return _finish(exp(-_steps(M, -middle / tau, 1 / tau, options).abs()), options)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    options = _options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return empty((0,), **options)
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return _finish(sin(_steps(M, 0.5 * step, step, options)), options)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A bell curve of standard deviation `std`.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    options = _options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return empty((0,), **options)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    step = 1 / (std * math.sqrt(2))
    return _finish(exp(-(_steps(M, start * step, step, options) ** 2)), options)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _options("bartlett", M, dtype, layout, device, requires_grad)
    short = _short(M, options)
    if short is not None:
        return short
    return _finish(1 - _steps(M, -1.0, 2 / (M if not sym else M - 1), options).abs(), options)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with the weights `a`, signs alternating.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.general_cosine(3, a=[0.5, 0.5])
        tensor([0., 1., 0.])
    """
    options = _options("general_cosine", M, dtype, layout, device, requires_grad)
    short = _short(M, options)
    if short is not None:
        return short
    if not isinstance(a, Iterable):
        raise TypeError("general_cosine: Coefficients must be a list/tuple")
    weights = [(-1) ** place * weight for place, weight in enumerate(a)]
    if not weights:
        raise ValueError("general_cosine: Coefficients cannot be empty")
    angles = _steps(M, 0.0, 2 * math.pi / (M if not sym else M - 1), options)
    kind = {"dtype": options["dtype"], "device": device}
    scale = tensor(weights, **kind).unsqueeze(-1)
    waves = cos(arange(len(weights), **kind).unsqueeze(-1) * angles)
    return _finish((scale * waves).sum(0), options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """A cosine raised so that its weights are `alpha` and `1 - alpha`.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.general_hamming(3, alpha=0.75)
        tensor([0.5000, 1.0000, 0.5000])
    """
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hamming window.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hann window.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.hann(3)
        tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Blackman window.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.blackman(1)
        tensor([1.])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: _core.dtype | None = None,
    layout: _layout = strided,
    device: _core.device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window, whose `beta` trades the width of the main lobe for low side lobes.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.kaiser(3, beta=1.0)
        tensor([0.7898, 1.0000, 0.7898])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    options = _options("kaiser", M, dtype, layout, device, requires_grad)
    return kaiser_window(M, not sym, beta, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The window of Nuttall with four terms and the least side lobes.

    Example:
        >>> from pyburn.signal import windows
        >>> windows.nuttall(1)
        tensor([1.])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
