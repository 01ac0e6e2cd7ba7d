"""Fractional maximum pooling (Graham, 2014), and the maximum poolings that always give their indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.ops import arange, cat, rand
from pyburn.ops import nn as ops

Size = int | Sequence[int]
Ratio = float | Sequence[float]


def _tuple(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


def _starts(samples: Tensor, size: int, out: int, window: int) -> Tensor:
    """Where the `out` windows begin for each sample in [0, 1): (..., out), the last one flush with the end."""
    last = samples.new_full((*samples.shape, 1), size - window).to(int64)
    if out == 1:
        return last
    step = (size - window) / (out - 1)
    places = arange(out - 1, device=samples.device, dtype=samples.dtype)
    begin = ((places + samples.unsqueeze(-1)) * step).to(int64) - (samples * step).to(int64).unsqueeze(-1)
    return cat([begin, last], -1)


def _output_size(name: str, input: Tensor, size: Size | None, ratio: Ratio | None, n: int) -> tuple[int, ...]:
    if size is not None:
        return _tuple(size, n)
    if ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    return tuple(int(length * part) for length, part in zip(input.shape[-n:], _tuple(ratio, n), strict=True))


def _check(name: str, input: Tensor, samples: Tensor, kernel: tuple[int, ...], out: tuple[int, ...]) -> None:
    n = len(kernel)
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D tensor, but got {list(input.shape)}")
    for length, window, wanted in zip(input.shape[-n:], kernel, out, strict=True):
        if wanted < 1 or window < 1 or wanted + window - 1 > length:
            raise RuntimeError(
                f"{name}: a pool of {window} with an output of {wanted} is too large relative to the input's {length}"
            )
    if tuple(samples.shape[1:]) != (input.shape[-n - 1], n):
        raise RuntimeError(f"{name}: _random_samples must be (N, C, {n}), got {list(samples.shape)}")


def _pool(
    name: str,
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None,
    output_ratio: Ratio | None,
    samples: Tensor | None,
    n: int,
) -> tuple[Tensor, Tensor]:
    kernel = _tuple(kernel_size, n)
    out = _output_size(name, input, output_size, output_ratio, n)
    batch = input if input.dim() == n + 2 else input.unsqueeze(0)
    if samples is None:
        samples = rand(batch.shape[0], batch.shape[1], n, dtype=input.dtype, device=input.device)
    _check(name, input, samples, kernel, out)
    # torch's two-dimensional kernel reads the samples from the last dimension on, the other one from the first.
    order = range(n) if n == 3 else range(n)[::-1]
    flat: Tensor | None = None  # (N, C, out..., window...), built up one dimension at a time
    for d, place in zip(range(n), order, strict=True):
        length = batch.shape[2 + d]
        begin = _starts(samples[..., place], length, out[d], kernel[d])
        inside = begin.unsqueeze(-1) + arange(kernel[d], device=input.device)  # (N, C, out, window)
        shape = [*inside.shape[:2], *[1] * (2 * n)]
        shape[2 + d], shape[2 + n + d] = out[d], kernel[d]
        inside = inside.reshape(shape)
        flat = inside if flat is None else flat * length + inside
    assert flat is not None
    window = math.prod(kernel)
    places = flat.expand(*batch.shape[:2], *out, *kernel).reshape(*batch.shape[:2], math.prod(out) * window)
    values = batch.flatten(2).gather(2, places).reshape(*batch.shape[:2], *out, window)
    best = values.detach().argmax(-1, keepdim=True)
    output = values.gather(-1, best).squeeze(-1)
    indices = places.reshape(*batch.shape[:2], *out, window).gather(-1, best).squeeze(-1)
    return (output, indices) if batch is input else (output.squeeze(0), indices.squeeze(0))


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Ratio | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The pooled input and where each maximum stood; the arguments are those of `fractional_max_pool2d`.

    Example:
        >>> import pyburn
        >>> output, indices = pyburn.nn.functional.fractional_max_pool2d_with_indices(pyburn.zeros(1, 1, 4, 4), 2, 2)
        >>> tuple(indices.shape)
        (1, 1, 2, 2)
    """
    return _pool("fractional_max_pool2d", input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Ratio | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of windows of `kernel_size` that begin at random steps, so that `output_size` of them fit.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: The size of the windows.
        output_size: The height and width of the result.
        output_ratio: They as parts of the input's, instead.
        return_indices: Whether the places of the maxima come too, as for `max_unpool2d`.
        _random_samples: (N, C, 2) in [0, 1), instead of new random numbers.

    Raises:
        ValueError: Neither size nor ratio is given.
        RuntimeError: The windows do not fit.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.fractional_max_pool2d(pyburn.zeros(1, 1, 9, 9), 2, output_ratio=0.5).shape)
        (1, 1, 4, 4)
    """
    both = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Ratio | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The pooled input and where each maximum stood; the arguments are those of `fractional_max_pool3d`.

    Example:
        >>> import pyburn
        >>> x = pyburn.zeros(1, 1, 4, 4, 4)
        >>> tuple(pyburn.nn.functional.fractional_max_pool3d_with_indices(x, 2, 2)[1].shape)
        (1, 1, 2, 2, 2)
    """
    return _pool("fractional_max_pool3d", input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Ratio | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """As `fractional_max_pool2d` for (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.fractional_max_pool3d(pyburn.zeros(1, 1, 4, 4, 4), 2, 2).shape)
        (1, 1, 2, 2, 2)
    """
    both = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return both if return_indices else both[0]


def _with_indices(pool: Callable[..., Any], name: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def both(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        result: tuple[Tensor, Tensor] = pool(input, output_size, return_indices=True)
        return result

    both.__name__ = both.__qualname__ = f"{name}_with_indices"
    both.__doc__ = f"The result of `{name}` and the places of the maxima; the arguments are the same."
    return both


adaptive_max_pool1d_with_indices = _with_indices(ops.adaptive_max_pool1d, "adaptive_max_pool1d")
adaptive_max_pool2d_with_indices = _with_indices(ops.adaptive_max_pool2d, "adaptive_max_pool2d")
adaptive_max_pool3d_with_indices = _with_indices(ops.adaptive_max_pool3d, "adaptive_max_pool3d")
