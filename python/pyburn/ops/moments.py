"""Variance, standard deviation, norms, distances and log-sum-exp over dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._methods import write_out

__all__ = ["dist", "logsumexp", "norm", "std", "std_mean", "var", "var_mean"]

METHODS = ("dist", "norm", "std", "var")

Number = bool | int | float
Dims = int | Sequence[int] | None


def _arguments(dim: Dims | bool, unbiased: bool | None, correction: Number | None) -> tuple[int | Sequence[int], float]:
    """The dimensions (none for all) and the correction, from torch's three ways to give them."""
    if isinstance(dim, bool):
        # var(True) means var(unbiased=True).
        dim, unbiased = None, dim
    if dim is None:
        dim = ()
    if unbiased is not None and correction is not None:
        raise TypeError("var and std take unbiased= or correction=, not both")
    if correction is not None:
        return dim, float(correction)
    return dim, 0.0 if unbiased is False else 1.0


def var(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance over `dim`.

    Args:
        input: A float tensor.
        dim: One dimension or several; None means all.
        unbiased: False divides by the count, True by one less (the default); older name of `correction`.
        keepdim: Whether reduced dimensions stay, with size 1.
        correction: What is taken off the count before dividing by it; 1 by default.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.var(pyburn.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
        tensor(1.2500)
    """
    dims, off = _arguments(dim, unbiased, correction)
    return write_out(out, input._var(dims, off, keepdim))


def std(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation over `dim`.

    Args:
        input: A float tensor.
        dim: One dimension or several; None means all.
        unbiased: False divides by the count, True by one less (the default); older name of `correction`.
        keepdim: Whether reduced dimensions stay, with size 1.
        correction: What is taken off the count before dividing by it; 1 by default.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.std(pyburn.tensor([[1.0, 3.0], [4.0, 4.0]]), 1)
        tensor([1.4142, 0.0000])
    """
    dims, off = _arguments(dim, unbiased, correction)
    return write_out(out, input._std(dims, off, keepdim))


def var_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean over `dim`.

    Args:
        input: A float tensor.
        dim: One dimension or several; None means all.
        unbiased: As for :func:`var`.
        keepdim: Whether reduced dimensions stay, with size 1.
        correction: As for :func:`var`.

    Example:
        >>> import pyburn
        >>> pyburn.var_mean(pyburn.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    dims, off = _arguments(dim, unbiased, correction)
    return input._var(dims, off, keepdim), input.mean(dims, keepdim)


def std_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over `dim`.

    Args:
        input: A float tensor.
        dim: One dimension or several; None means all.
        unbiased: As for :func:`std`.
        keepdim: Whether reduced dimensions stay, with size 1.
        correction: As for :func:`std`.

    Example:
        >>> import pyburn
        >>> pyburn.std_mean(pyburn.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    dims, off = _arguments(dim, unbiased, correction)
    return input._std(dims, off, keepdim), input.mean(dims, keepdim)


def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials over `dim`, without overflow.

    Args:
        input: The tensor; integers give the default float dtype.
        dim: One dimension or several.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.logsumexp(pyburn.tensor([0.0, 0.0]), 0)
        tensor(0.6931)
    """
    return write_out(out, input.logsumexp(dim, keepdim))


def norm(
    input: Tensor,
    p: Number | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
) -> Tensor:
    """The p-norm over `dim`: the p-th root of the sum of p-th powers of absolute values.

    Args:
        input: A float tensor.
        p: The power; `inf` and `-inf` mean the greatest and least absolute value, 0 the count of what is not zero,
            "fro" is 2, "nuc" the sum of the singular values of matrices.
        dim: One dimension or several; None means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        out: Where to write the result.
        dtype: What to convert the input to first.

    Example:
        >>> import pyburn
        >>> pyburn.norm(pyburn.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        from pyburn.ops.matrices.norms import matrix_norm

        pair = tuple(range(input.dim())) if dim is None else (dim,) if is_integer(dim) else dim
        return write_out(out, matrix_norm(input, "nuc", pair, keepdim))
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm: p must be a number or 'fro', got {p!r}")
    power = 2.0 if p is None or isinstance(p, str) else float(p)
    return write_out(out, input._norm(power, dim, keepdim))


def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The p-norm of the difference of two tensors.

    Args:
        input: The first tensor.
        other: The second tensor; the two broadcast.
        p: The power, as for :func:`norm`.

    Example:
        >>> import pyburn
        >>> pyburn.dist(pyburn.tensor([0.0, 0.0]), pyburn.tensor([3.0, 4.0]))
        tensor(5.)
    """
    result = (input - other)._norm(float(p), None, False)
    return _core._stand_for(result, "DistBackward0", (input, other), (input, other), True)
