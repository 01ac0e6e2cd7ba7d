"""torch.masked: reductions and normalisations that pass over the elements whose mask is False.

A mask broadcasts to its input; without one all elements count. Where nothing counts, the result is the reduction of
nothing: 0 for a sum, NaN for a mean, minus infinity for a maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn._typeinfo import finfo, iinfo

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def _filled(input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """`input` with `value` where the mask is False."""
    if mask is None:
        return input
    if mask.dim() > input.dim():
        raise IndexError(f"masked: mask has {mask.dim()} dimensions, more than the input's {input.dim()}")
    return input.masked_fill(~mask.to(_core.bool).expand(input.shape), value)


def _cast(input: Tensor, dtype: _core.dtype | None, floating: bool) -> Tensor:
    """`input` in the dtype that the result has: integers are summed as int64, averaged as floats."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = _core.get_default_dtype() if floating else _core.int64
    return input if dtype is None else input.to(dtype)


def _axes(dim: Dims, rank: int) -> list[int]:
    """The dimensions, all of them for None and for an empty tuple."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(rank))
    span = max(rank, 1)
    axes = []
    for one in [dim] if isinstance(dim, int) else dim:
        if not -span <= one < span:
            raise IndexError(f"masked: Dimension out of range (expected in [{-span}, {span - 1}], got {one})")
        if one % span in axes:
            raise RuntimeError(f"masked: dim={one} appears multiple times in the list of dims")
        axes.append(one % span)
    return axes


def _least(input: Tensor) -> float:
    return -float("inf") if input.is_floating_point() or input.is_complex() else iinfo(input.dtype).min


def _greatest(input: Tensor) -> float:
    return float("inf") if input.is_floating_point() else iinfo(input.dtype).max


def _count(input: Tensor, axes: list[int], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements count."""
    ones = input.detach().new_ones(input.shape, dtype=input.dtype.to_real())
    return _filled(ones, mask, 0).sum(axes, keepdim) if axes else _filled(ones, mask, 0)


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.sum(pyburn.tensor([1.0, 2.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(5.)
    """
    return _filled(_cast(input, dtype, floating=False), mask, 0).sum(_axes(dim, input.dim()), keepdim)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.prod(pyburn.tensor([3.0, 2.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(12.)
    """
    result = _filled(_cast(input, dtype, floating=False), mask, 1)
    for axis in sorted(_axes(dim, input.dim()), reverse=True):
        result = result.prod(axis, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The running sum of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.cumsum(pyburn.tensor([1.0, 2.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
        tensor([1., 1., 5.])
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, 0).cumsum(dim, dtype=x.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The running product of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.cumprod(pyburn.tensor([1.0, 2.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
        tensor([1., 1., 4.])
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, 1).cumprod(dim, dtype=x.dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The greatest element that counts.

    Example:
        >>> import pyburn
        >>> pyburn.masked.amax(pyburn.tensor([1.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(4.)
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _least(x)).amax(_axes(dim, x.dim()), keepdim)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least element that counts.

    Example:
        >>> import pyburn
        >>> pyburn.masked.amin(pyburn.tensor([1.0, 0.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(1.)
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _greatest(x)).amin(_axes(dim, x.dim()), keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the greatest element that counts stands, in the dtype of the input as in torch.

    Example:
        >>> import pyburn
        >>> pyburn.masked.argmax(pyburn.tensor([1.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(2.)
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _least(x)).argmax(dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the least element that counts stands, in the dtype of the input as in torch.

    Example:
        >>> import pyburn
        >>> pyburn.masked.argmin(pyburn.tensor([1.0, 0.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(0.)
    """
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _greatest(x)).argmin(dim, keepdim).to(x.dtype)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The average of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.mean(pyburn.tensor([1.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(2.5000)
    """
    x = _cast(input, dtype, floating=True)
    axes = _axes(dim, x.dim())
    return _filled(x, mask, 0).sum(axes, keepdim) / _count(x, axes, keepdim, mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that count, the lower one of two.

    Example:
        >>> import pyburn
        >>> pyburn.masked.median(pyburn.tensor([1.0, 9.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
        tensor(1.)
    """
    x = _cast(input, dtype, floating=True)
    if bool(x.isnan().any()):
        raise ValueError("masked.median: input contains NaN, which stands for masked elements here")
    found: Any = ops.nanmedian(_filled(x, mask, float("nan")), dim, keepdim)
    values: Tensor = found.values
    return values


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.logsumexp(pyburn.zeros(3), mask=pyburn.tensor([True, False, True]))
        tensor(0.6931)
    """
    x = _cast(input, dtype, floating=True)
    result = ops.logsumexp(_filled(x, mask, _least(x)), _axes(dim, x.dim()), keepdim)
    # torch rounds what integers give to integers.
    return result.to(input.dtype if dtype is None else dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: _core.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))`, where masked elements add nothing.

    Example:
        >>> import pyburn
        >>> pyburn.masked.logaddexp(pyburn.zeros(2), pyburn.zeros(2), other_mask=pyburn.tensor([True, False]))
        tensor([0.6931, 0.0000])
    """
    x, y = _cast(input, dtype, floating=True), _cast(other, dtype, floating=True)
    return ops.logaddexp(_filled(x, input_mask, _least(x)), _filled(y, other_mask, _least(y)))


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order `ord` of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.norm(pyburn.tensor([3.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
        tensor(5.)
    """
    x = _cast(input, dtype, floating=True)
    order = 2.0 if ord is None else float(ord)
    neutral = float("inf") if order < 0 else 0.0
    return ops.norm(_filled(x, mask, neutral), order, _axes(dim, x.dim()), keepdim)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.var(pyburn.tensor([1.0, 9.0, 3.0]), mask=pyburn.tensor([True, False, True]))
        tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError("masked.var: Only one of unbiased and correction may be given")
    off = correction if correction is not None else 0.0 if unbiased is False else 1.0
    x = _cast(input, dtype, floating=True)
    axes = _axes(dim, x.dim())
    deviation = x - mean(x, axes, keepdim=True, mask=mask) if axes else x - x
    total = _filled(deviation * deviation.conj(), mask, 0).sum(axes, keepdim) if axes else deviation
    return total / (_count(x, axes, keepdim, mask) - off).clamp_min(0)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.std(pyburn.tensor([1.0, 9.0, 3.0]), correction=0, mask=pyburn.tensor([True, False, True]))
        tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax over the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.softmax(pyburn.zeros(3), 0, mask=pyburn.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    x = _cast(input, dtype, floating=True)
    return ops.softmax(_filled(x, mask, _least(x)), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax over the elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.log_softmax(pyburn.zeros(3), 0, mask=pyburn.tensor([True, False, True]))
        tensor([-0.6931,    -inf, -0.6931])
    """
    x = _cast(input, dtype, floating=True)
    return ops.log_softmax(_filled(x, mask, _least(x)), dim)


def softmin(input: Tensor, dim: int, *, dtype: _core.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negated elements that count.

    Example:
        >>> import pyburn
        >>> pyburn.masked.softmin(pyburn.zeros(3), 0, mask=pyburn.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    x = _cast(input, dtype, floating=True)
    return ops.softmax(-_filled(x, mask, _greatest(x)), dim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: _core.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count, divided by their norm along `dim`; zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.masked.normalize(pyburn.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=pyburn.tensor([True, False, True]))
        tensor([0.6000, 0.0000, 0.8000])
    """
    x = _cast(input, dtype, floating=True)
    length = norm(x, ord, dim, keepdim=True, mask=mask).clamp_min(max(eps, finfo(x.dtype.to_real()).tiny))
    return _filled(x, mask, 0) / length
