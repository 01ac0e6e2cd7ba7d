"""Losses between two tensors of numbers."""

from __future__ import annotations

import math

from pyburn._core import Tensor, _apart_losses, _stand_for, is_grad_enabled
from pyburn.nn.functional._reduce import reduced, reduction_of, warn_of_broadcast
from pyburn.ops._methods import need_float, need_real


def _weighted(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """The losses times `weight`; a mean is then taken over the weight, not the count."""
    if weight is None:
        return reduced(losses, reduction)
    if weight.shape != losses.shape:
        raise ValueError("Inputs and weights must have the same size.")
    if reduction == "mean":
        return (losses * weight).sum() / weight.sum()
    return reduced(losses * weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """`|input - target|`, reduced.

    Args:
        input: The prediction.
        target: The truth, of the same shape.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        weight: A factor for each element.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.l1_loss(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(2.)
    """
    warn_of_broadcast("l1_loss", input, target)
    # torch keeps the difference, so that both may be written to before the way back.
    kept = is_grad_enabled() and (input.requires_grad or target.requires_grad)
    losses = None if kept else _apart_losses("absolute", input, target, 1.0, 1.0)
    if losses is None:
        losses = (input - target).abs()
    return _weighted(losses, weight, reduction_of(reduction, size_average, reduce))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """`(input - target) ** 2`, reduced; the arguments are those of `l1_loss`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.mse_loss(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(5.)
    """
    need_real("mse_loss", input, target)
    warn_of_broadcast("mse_loss", input, target)
    losses = _apart_losses("square", input, target, 1.0, 1.0)
    if losses is None:
        away = input - target
        need_float("mse_loss", away)
        losses = away.square()
    loss = _weighted(losses, weight, reduction_of(reduction, size_average, reduce))
    if weight is not None:
        return loss
    return _stand_for(loss, "MseLossBackward0", (input, target), (input, target))


def _bent(name: str, input: Tensor, target: Tensor, bend: float, scale: float) -> Tensor:
    """Half the square of differences up to the bend, a straight line from there on, all times the scale."""
    losses = _apart_losses("bent", input, target, bend, scale)
    if losses is not None:
        return losses
    away = input - target
    if name == "huber_loss":
        away = away.to(input.dtype)
    need_float(name, away)
    near = away._hardtanh(-bend, bend)
    losses = near * (away - near * 0.5)
    return losses if scale == 1 else losses * scale


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """A square divided by `2 * beta` where the difference is below `beta`, else `|difference| - beta / 2`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.smooth_l1_loss(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    need_real("smooth_l1_loss", input, target)
    warn_of_broadcast("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = reduction_of(reduction, size_average, reduce)
    if beta == 0:
        away = input - target
        need_float("smooth_l1_loss", away)
        return reduced(away.abs(), reduction)
    loss = reduced(_bent("smooth_l1_loss", input, target, beta, 1.0 / beta), reduction)
    return _stand_for(loss, "SmoothL1LossBackward0", (input, target), (input, target))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square where the difference is below `delta`, else `delta * (|difference| - delta / 2)`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.huber_loss(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    need_real("huber_loss", input, target)
    warn_of_broadcast("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    losses = _bent("huber_loss", input, target, delta, 1.0)
    if weight is None:
        return _stand_for(reduced(losses, reduction), "HuberLossBackward0", (input, target), (input, target))
    if weight.shape != losses.shape:
        raise ValueError("Weights and input must have the same size.")
    # Unlike in the two losses above, torch's mean is over the count here.
    return reduced(losses * weight, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts `target` under Poisson rates.

    Args:
        input: The rates, or their logarithms when `log_input`.
        target: The counts.
        log_input: Whether `input` is a logarithm.
        full: Whether Stirling's term, which does not depend on `input`, is added.
        size_average: torch's older way of saying `reduction`.
        eps: Keeps the logarithm finite when `log_input` is false.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.poisson_nll_loss(pyburn.zeros(1), pyburn.ones(1))
        tensor(1.)
    """
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        safe = target.where(target > 1, target.new_ones(()))
        stirling = target * safe.log() - target + 0.5 * (2 * math.pi * safe).log()
        losses = losses + stirling.where(target > 1, stirling.new_zeros(()))
    return reduced(losses, reduction_of(reduction, size_average, reduce))


def _one_size_is_one(variance: Tensor, input: Tensor) -> bool:
    """Whether the shapes are equal but for at most one size, which is 1."""
    if variance.dim() != input.dim():
        return False
    other = [own for own, size in zip(variance.shape, input.shape, strict=True) if own != size]
    return other in ([], [1])


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of `target` under normal distributions.

    Args:
        input: The means.
        target: The truth.
        var: The variances: one number, `input`'s shape, or that shape with one size 1 or the last one missing.
        full: Whether the constant `log(2 pi) / 2` is added.
        eps: The smallest variance.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: A variance is negative, or the shapes do not fit.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.gaussian_nll_loss(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))
        tensor(0.5000)
    """
    variance = input.new_full(input.shape, var) if isinstance(var, int | float) else var
    if variance.dim() + 1 == input.dim() and variance.shape == input.shape[:-1]:
        variance = variance.unsqueeze(-1)
    elif not _one_size_is_one(variance, input):
        raise ValueError("var is of incorrect size")
    if bool((variance < 0).any()):
        raise ValueError("var has negative entry/entries")
    # The clamp is for the value only: torch lets no gradient depend on where it clamps.
    need_float("gaussian_nll_loss", variance)
    held = variance + (variance.clamp_min(eps) - variance).detach()
    losses = 0.5 * (held.log() + (input - target).square() / held)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of the distribution `target` from `exp(input)`.

    Args:
        input: Log-probabilities.
        target: Probabilities, or their logarithms when `log_target`.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean", "sum" or "batchmean", the sum divided by the batch size.
        log_target: Whether `target` is a logarithm.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.kl_div(pyburn.zeros(2).log_softmax(0), pyburn.full((2,), 0.5), reduction="sum")
        tensor(0.)
    """
    need_real("kl_div", input, target)
    need_float("kl_div", input, target)
    how = reduction_of(reduction, size_average, reduce)
    losses = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if how != "batchmean":
        return reduced(losses, how)
    return losses.sum() if input.dim() == 0 else losses.sum() / input.shape[0]
