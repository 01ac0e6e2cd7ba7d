"""Regular sequences and the identity matrix."""

from __future__ import annotations

import warnings
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._formats import layout as Layout
from pyburn.ops._methods import made_out
from pyburn.ops.creation import Device, Number, zeros
from pyburn.ops.joining import cat

__all__ = ["arange", "eye", "linspace", "logspace", "range", "vander"]


def _number(value: Number | Tensor) -> Number:
    """A number from a number or a tensor that holds one."""
    found: Number = value.item() if isinstance(value, Tensor) else value
    return found


def _finish(out: Tensor | None, result: Tensor) -> Tensor:
    """The result, or `out` with its values; an `out` of as many elements keeps its shape, as in torch."""
    if out is None:
        return result
    fits = out.numel() == result.numel()
    return made_out(out, (result.view(out.shape) if fits else result).to(out.dtype))


def arange(
    *args: Number | Tensor,
    start: Number | Tensor | None = None,
    end: Number | Tensor | None = None,
    step: Number | Tensor | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The values `start`, `start + step`, ... below `end`: ``arange(end)``, ``arange(start, end, step)``.

    Args:
        *args: `end`, or `start, end`, or `start, end, step`.
        start: The first value; 0 if not given.
        end: Where to stop; not part of the result.
        step: The distance between values; 1 if not given.
        out: A tensor to write the result into.
        dtype: The element type; by default int64 if all numbers are integers, else the default dtype.
        layout: `pyburn.strided`.
        device: Where it lives; the default device if not given.
        pin_memory: Accepted; host memory needs no pinning here.
        requires_grad: Whether gradients are wanted for it.

    Example:
        >>> import pyburn
        >>> pyburn.arange(1, 7, 2)
        tensor([1, 3, 5])
    """
    if len(args) > 3:
        raise TypeError(f"arange() takes at most 3 positional arguments but {len(args)} were given")
    if len(args) == 1 and end is None:
        end = args[0]
    else:
        names = ("start", "end", "step")
        given = dict(zip(names, (start, end, step), strict=True))
        for name, value in zip(names, args, strict=False):
            if given[name] is not None:
                raise TypeError(f"arange() got multiple values for argument '{name}'")
            given[name] = value
        start, end, step = given["start"], given["end"], given["step"]
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    first = 0 if start is None else _number(start)
    by = 1 if step is None else _number(step)
    kind = _kind(out, dtype)
    return _finish(out, _core._arange(first, _number(end), by, kind, device, requires_grad))


def range(
    start: Number = 0,
    end: Number | None = None,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """The values from `start` to `end`, both included; deprecated in favour of :func:`arange`.

    Example:
        >>> import pyburn, warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     pyburn.range(0, 3)
        tensor([0., 1., 2., 3.])
    """
    warnings.warn(
        "range is deprecated because it includes its end, unlike Python's range; use arange instead.",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = _kind(out, dtype) or _core.get_default_dtype()
    count = int((end - start) / step) + 1
    # The end is met exactly by counting rather than by comparing sums of steps.
    result = _core._arange(start, start + count * step - step / 2, step, kind, device, requires_grad)
    return _finish(out, result)


def _kind(out: Tensor | None, dtype: _core.dtype | None) -> _core.dtype | None:
    """The dtype that was asked for, which must be that of `out`."""
    if out is None:
        return dtype
    if dtype is not None and dtype != out.dtype:
        raise _core.DTypeError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
    return out.dtype


def _spaced(
    op: str,
    start: Any,
    end: Any,
    steps: int,
    base: float | None,
    out: Tensor | None,
    dtype: _core.dtype | None,
    device: Device,
    requires_grad: bool,
) -> Tensor:
    kind = _kind(out, dtype)
    if isinstance(start, complex) or isinstance(end, complex) or (kind is not None and kind.is_complex):
        kind = _core.get_default_dtype().to_complex() if kind is None else kind
        if not kind.is_complex:
            raise _core.DTypeError(f"{op}(): inferred dtype complex can't be safely cast to passed dtype {kind}")
        parts = [(start.real, end.real), (start.imag, end.imag)]
        lines = [_core._linspace(*ends, steps, None, kind.to_real(), device, False) for ends in parts]
        points = _core._complex(*lines)
        result = points if base is None else _core._full(op, (), base, kind, device).pow(points)
        return _finish(out, result.requires_grad_() if requires_grad else result)
    for number in (start, end)[: max(0, steps)]:
        _core._check_number(number, kind or _core.get_default_dtype())
    if kind is not None and not kind.is_floating_point and not kind.is_signed and steps > 0:
        # An integer below zero wraps around before the distance is computed.
        start, end = (int(number) % 2 ** (8 * kind.itemsize) for number in (start, end))
    return _finish(out, _core._linspace(start, end, steps, base, kind, device, requires_grad))


def linspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` values in equal distances from `start` to `end`, both included.

    Example:
        >>> import pyburn
        >>> pyburn.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return _spaced("linspace", _number(start), _number(end), steps, None, out, dtype, device, requires_grad)


def logspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` powers of `base`, with exponents in equal distances from `start` to `end`.

    Example:
        >>> import pyburn
        >>> pyburn.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    return _spaced("logspace", _number(start), _number(end), steps, base, out, dtype, device, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: The number of rows.
        m: The number of columns; `n` if not given.
        out: A tensor to write the result into.
        dtype: The element type; the default dtype if not given.
        layout: `pyburn.strided`.
        device: Where it lives; the default device if not given.
        pin_memory: Accepted; host memory needs no pinning here.
        requires_grad: Whether gradients are wanted for it.

    Example:
        >>> import pyburn
        >>> pyburn.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    columns = n if m is None else m
    for name, value in (("n", n), ("m", columns)):
        if value < 0:
            raise RuntimeError(f"eye: {name} must be greater or equal to 0, got {value}")
    kind = dtype or (out.dtype if out is not None else None)
    result = zeros(n, columns, dtype=kind, layout=layout, device=device)
    result.diagonal().fill_(1)
    return made_out(out, result.requires_grad_(requires_grad))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Rows of the powers of each element of a vector, the highest first unless `increasing`.

    Args:
        x: A vector.
        N: How many powers; by default as many as `x` has elements.
        increasing: Whether the powers rise from 0.

    Example:
        >>> import pyburn
        >>> pyburn.vander(pyburn.tensor([2, 3]), 3)
        tensor([[4, 2, 1],
                [9, 3, 1]])
    """
    if x.dim() != 1:
        raise _core.ShapeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    kind = x.dtype if x.is_floating_point() or x.is_complex() else _core.int64
    powers = x.new_ones((x.shape[0], count), dtype=kind)
    if count > 1:
        powers = cat([powers[:, :1], x.to(kind).unsqueeze(1).expand(-1, count - 1).cumprod(1)], 1)
    return powers if increasing else powers.flip(1)
