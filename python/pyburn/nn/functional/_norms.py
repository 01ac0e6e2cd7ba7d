"""The norm of vectors along dimensions, with a gradient of zero where the norm is zero, as torch's."""

from __future__ import annotations

import math

from pyburn._core import Tensor


def vector_norm(
    input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] | None = None, keepdim: bool = False
) -> Tensor:
    """`(sum of |x| ** p) ** (1 / p)` along `dim`, over all elements when that is None.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.functional._norms import vector_norm
        >>> vector_norm(pyburn.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if input.is_complex():
        input = input.abs()
    dims = tuple(range(input.dim())) if dim is None else dim
    if p == math.inf:
        return input.abs().amax(dims, keepdim=keepdim)
    if p == -math.inf:
        return input.abs().amin(dims, keepdim=keepdim)
    if p == 0:
        return (input != 0).to(input.dtype).sum(dims, keepdim=keepdim)
    if p == 1:
        return input.abs().sum(dims, keepdim=keepdim)
    total = (input.square() if p == 2 else input.abs().pow(p)).sum(dims, keepdim=keepdim)
    # The root has no slope at 0: there it is taken of 1 instead and the result put back to 0.
    zero = total == 0
    safe = total.masked_fill(zero, 1.0)
    return (safe.sqrt() if p == 2 else safe.pow(1.0 / p)).masked_fill(zero, 0.0)
