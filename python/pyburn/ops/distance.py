"""Distances, covariances and rows scaled to a length."""

from __future__ import annotations

import math

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import write_out
from pyburn.ops.joining import cat, triu_indices
from pyburn.ops.matrices.checks import broadcast_batch
from pyburn.ops.matrices.recorded import Backward, link

__all__ = ["cdist", "corrcoef", "cov", "renorm"]

METHODS = ("corrcoef", "cov", "renorm", "renorm_")

# torch's number of rows from which distances are taken from products.
_MANY_ROWS = 25


def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """A copy in which the slices along `dim` are scaled down to a p-norm of at most `maxnorm`.

    Args:
        input: A float tensor of two or more dimensions.
        p: The power of the norm.
        dim: The dimension whose slices are scaled.
        maxnorm: The greatest norm.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.renorm(pyburn.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if not -input.dim() <= dim < input.dim():
        raise _core.DimError(
            f"renorm: Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got "
            f"{dim})"
        )
    others = [at for at in range(input.dim()) if at != dim % input.dim()]
    wide = input.to(_core.float32) if input.dtype in (_core.float16, _core.bfloat16) else input
    lengths = wide._norm(float(p), others, True)
    # The small number keeps the result below maxnorm in spite of rounding.
    factor = (maxnorm / (lengths + 1e-7)).where(lengths > maxnorm, lengths.new_ones(()))
    return write_out(out, input * factor.to(input.dtype), input)


def renorm_(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """In-place form of :func:`pyburn.renorm`: writes the result into this tensor and returns it."""
    self._check_inplace("renorm_")
    # From a copy: the norms must not change with what is written.
    return self._assign("renorm_", renorm(self.clone(), p, dim, maxnorm))


def _weights(op: str, name: str, weights: Tensor, count: int) -> None:
    if weights.dim() > 1:
        raise RuntimeError(f"{op}: expected {name} to have one or fewer dimensions but got {weights.dim()}")
    if weights.numel() != count:
        raise RuntimeError(
            f"{op}: expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if weights.numel() and bool((weights < 0).any().item()):
        raise RuntimeError(f"{op}: {name} cannot be negative")


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables, one in each row, over observations, one in each column.

    Args:
        input: (variables, observations), or (observations).
        correction: What is taken off the count of observations.
        fweights: How often each observation counts, integers.
        aweights: How much each observation weighs, floats.

    Example:
        >>> import pyburn
        >>> pyburn.cov(pyburn.tensor([[0.0, 2.0], [2.0, 0.0]]))
        tensor([[ 2., -2.],
                [-2.,  2.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()}")
    if input.dtype == _core.bool:
        raise _core.DTypeError("cov(): bool dtype is not supported for input")
    x = input if input.dim() == 2 else input.reshape(1, -1)
    count = x.shape[1]
    weights: Tensor | None = None
    if fweights is not None:
        if fweights.is_floating_point() or fweights.dtype == _core.bool:
            raise _core.DTypeError(f"cov(): expected fweights to have integral dtype but got {fweights.dtype}")
        _weights("cov()", "fweights", fweights, count)
        weights = fweights
    if aweights is not None:
        if not aweights.is_floating_point():
            raise _core.DTypeError(f"cov(): expected aweights to have floating point dtype but got {aweights.dtype}")
        _weights("cov()", "aweights", aweights, count)
        weights = aweights if weights is None else weights * aweights
    return _covariance(x, weights, aweights, correction).squeeze()


def _covariance(x: Tensor, weights: Tensor | None, aweights: Tensor | None, correction: int) -> Tensor:
    if not x.is_floating_point() and not x.is_complex():
        x = x.to(_core.get_default_dtype())
    weights = None if weights is None else weights.reshape(-1)
    real = x.dtype.to_real()
    total = x.new_tensor(float(x.shape[1]), dtype=real) if weights is None else weights.sum().to(real)
    if weights is None:
        centred = x - (x.sum(1, keepdim=True) / total)
        weighted = centred
        norm = total - correction
    else:
        centred = x - ((x * weights).sum(1, keepdim=True) / total)
        weighted = centred * weights
        norm = total - correction
        if aweights is not None and correction != 0:
            norm = total - correction * (weights * aweights.reshape(-1)).sum() / total
    return centred.to(weighted.dtype) @ weighted.mH / norm.clamp(min=0).to(weighted.dtype)


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables, one in each row, between -1 and 1.

    Args:
        input: (variables, observations), or (observations).

    Example:
        >>> import pyburn
        >>> pyburn.corrcoef(pyburn.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()}"
        )
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    diagonal = covariance.diagonal()
    deviations = (diagonal.real if covariance.is_complex() else diagonal).sqrt()
    found = covariance / deviations.unsqueeze(1) / deviations.unsqueeze(0)
    if found.is_complex():
        return _core._complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
    return found.clamp(-1, 1)


def _euclidean(x1: Tensor, x2: Tensor) -> Tensor:
    """Distances from products, recorded; equal points have a distance, and a gradient, of about zero."""
    a, b = x1.detach(), x2.detach()
    # As in torch one product gives -2 a b + a a + b b.
    left = cat([a * -2, a.square().sum(-1, keepdim=True), a.new_ones((*a.shape[:-1], 1))], -1)
    right = cat([b, b.new_ones((*b.shape[:-1], 1)), b.square().sum(-1, keepdim=True)], -1)
    result = (left @ right.mT).clamp_(min=0).sqrt_()

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (x1, x2, distances), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        shares = (grad / distances).masked_fill(distances == 0, 0.0)
        return (
            shares.sum(-1).unsqueeze(-1) * x1 - shares @ x2,
            shares.sum(-2).unsqueeze(-1) * x2 - shares.mT @ x1,
        )

    link("CdistBackward0", [x1, x2], [result], [x1, x2, result], rule)
    return result


def _city(x1: Tensor, x2: Tensor) -> Tensor:
    """Sums of absolute differences, recorded."""
    result = _core._city_distances(x1.detach(), x2.detach())

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (x1, x2), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        shares = grad.unsqueeze(-1) * (x1.unsqueeze(-2) - x2.unsqueeze(-3)).sign()
        return shares.sum(-2), -shares.sum(-3)

    link("CdistBackward0", [x1, x2], [result], [x1, x2], rule)
    return result


def pair_distances(x: Tensor) -> Tensor:
    """The Euclidean distances of all pairs of rows of a float32 matrix on the CPU, as `pdist` orders them, recorded.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import distance
        >>> distance.pair_distances(pyburn.tensor([[0.0, 0.0], [3.0, 4.0]]))
        tensor([5.])
    """
    result = _core._pair_distances(x.detach())

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (x, distances), (grad,) = context.saved, context.grads
        if grad is None:
            return (None,)
        count = x.shape[0]
        first, second = triu_indices(count, count, 1).unbind(0)
        half = (grad / distances).masked_fill(distances == 0, 0.0)
        shares = half.new_zeros(count, count).index_put((first, second), half)
        shares = shares + shares.mT
        # Differences are the same between points around their middle, where products lose less.
        near = x - x.mean(0).detach()
        return (shares.sum(1).unsqueeze(1) * near - shares @ near,)

    link("PdistBackward0", [x], [result], [x, result], rule)
    return result


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distances between each row of `x1` and each of `x2`.

    Args:
        x1: (..., P, M).
        x2: (..., R, M); leading dimensions broadcast.
        p: The power of the norm.
        compute_mode: Whether Euclidean distances come from products: "use_mm_for_euclid_dist",
            "donot_use_mm_for_euclid_dist", or by default where there are more than 25 rows.

    Example:
        >>> import pyburn
        >>> pyburn.cdist(pyburn.zeros(1, 2), pyburn.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """
    modes = (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    )
    if compute_mode is not None and compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
        if not x.is_floating_point():
            raise _core.DTypeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise _core.ShapeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0 or math.isnan(p):
        raise RuntimeError("cdist only supports non-negative p values")
    left, right = broadcast_batch("cdist", x1, x2)
    many = max(x1.shape[-2], x2.shape[-2]) > _MANY_ROWS
    if p == 2 and (compute_mode == modes[1] or (compute_mode in (None, modes[0]) and many)):
        return _euclidean(left, right)
    if p == 1 and left.dtype == right.dtype == _core.float32 and left.device.type == right.device.type == "cpu":
        return _city(left, right)
    result = (left.unsqueeze(-2) - right.unsqueeze(-3))._norm(float(p), -1, False)
    return _core._stand_for(result, "CdistBackward0", (x1, x2), (x1, x2), True)
