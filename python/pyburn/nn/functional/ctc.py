"""The connectionist temporal classification loss (Graves et al., 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn._core import Tensor, float32, float64, int64, is_grad_enabled
from pyburn.autograd import grad as gradients
from pyburn.nn.functional._reduce import reduced
from pyburn.ops import arange
from pyburn.ops.matrices.recorded import Backward, link

# Stands for log(0): finite, as the difference of two true infinities would be NaN.
_NEVER = -1e30


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-probability of the target sequences, over all of their alignments.

    Args:
        log_probs: (T, N, C) or (T, C): log-probabilities of the classes at each time.
        targets: (N, S), or all target sequences one after another in one dimension.
        input_lengths: How many times of each sample count.
        target_lengths: How long each target is.
        blank: The class that stands for no label.
        reduction: "none", "mean" (each loss divided by its target's length first) or "sum".
        zero_infinity: Whether a target that is too long for its input costs 0 instead of infinity.

    The gradient is torch's: it assumes that `log_probs` come from a log_softmax, and differs from that
    of the plain function, by the probabilities themselves, where they do not.

    Example:
        >>> import pyburn
        >>> log_probs = pyburn.zeros(2, 1, 2).log_softmax(2)
        >>> pyburn.nn.functional.ctc_loss(log_probs, pyburn.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """
    batched = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    times, samples, classes = batched.shape
    _check(inputs, lengths, times, samples, classes, blank)
    _check_targets(targets, lengths)
    if batched.device.type == "cpu" and batched.dtype in (float32, float64):
        losses = _native(batched, targets, inputs, lengths, blank, zero_infinity)
    else:
        losses = _composed(batched, targets, inputs, lengths, blank, zero_infinity)
    if reduction == "mean":
        return (losses / losses.new_tensor([max(n, 1) for n in lengths])).mean()
    return reduced(losses if log_probs.dim() == 3 else losses.squeeze(0), reduction)


def _native(
    log_probs: Tensor, targets: Tensor, inputs: list[int], lengths: list[int], blank: int, zero_infinity: bool
) -> Tensor:
    """The losses (N) by a kernel, which gives their slope too; a slope that is recorded comes from `_composed`."""
    labels = targets.detach().to("cpu", int64)
    sloped = is_grad_enabled() and log_probs.requires_grad
    losses, slope = log_probs.detach()._ctc(labels, inputs, lengths, blank, zero_infinity, sloped)
    if not sloped:
        return losses

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (log_probs, slope), (grad,) = context.saved, context.grads
        if grad is None:
            return (None,)
        if not is_grad_enabled():
            return (slope * grad.reshape(1, -1, 1),)
        again = _composed(log_probs, labels, inputs, lengths, blank, zero_infinity)
        return (gradients(again, log_probs, grad, create_graph=True)[0],)

    link("CtcLossBackward0", [log_probs], [losses], [log_probs, slope], rule)
    return losses


def _composed(
    batched: Tensor, targets: Tensor, inputs: list[int], lengths: list[int], blank: int, zero_infinity: bool
) -> Tensor:
    """The losses (N) of recorded ops."""
    samples, longest = batched.shape[1], max(lengths, default=0)
    rows = _rows(targets, lengths)
    # Blanks stand before, between and after the labels: (N, L) with L = 2 S + 1.
    spread = [
        [blank if i % 2 == 0 else row[i // 2] if i // 2 < len(row) else blank for i in range(2 * longest + 1)]
        for row in rows
    ]
    labels = targets.new_tensor(spread).reshape(samples, 2 * longest + 1).long().to(batched.device)
    # Long sums of logarithms lose digits: on the CPU, which has float64, they are made in it.
    wide = batched.double() if batched.device.type == "cpu" else batched
    losses = (_no_value(wide, inputs) - _log_likelihood(wide, labels, inputs, lengths, blank)).to(batched.dtype)
    lost = losses.detach() > -_NEVER / 2
    return losses.masked_fill(lost, 0.0 if zero_infinity else math.inf)


def _no_value(log_probs: Tensor, inputs: list[int]) -> Tensor:
    """Zeros (N) whose gradient is the probabilities; behind a log_softmax it vanishes."""
    if not log_probs.requires_grad:
        return log_probs.new_zeros((len(inputs),))
    limits = log_probs.new_tensor(inputs).unsqueeze(0)
    counted = arange(log_probs.shape[0], device=log_probs.device).unsqueeze(1) < limits  # (T, N)
    total = (log_probs.exp().sum(2) * counted.to(log_probs.dtype)).sum(0)
    return total - total.detach()


def _numbers(lengths: Tensor | Sequence[int]) -> list[int]:
    values = lengths.reshape(-1).tolist() if isinstance(lengths, Tensor) else lengths
    return [int(n) for n in values]


def _check(inputs: list[int], lengths: list[int], times: int, samples: int, classes: int, blank: int) -> None:
    if len(inputs) != samples or len(lengths) != samples:
        raise RuntimeError(
            f"ctc_loss: got {len(inputs)} input_lengths and {len(lengths)} target_lengths for a batch of {samples}; "
            "give one of each for every sample."
        )
    if any(not 0 <= n <= times for n in inputs):
        raise RuntimeError(f"ctc_loss: input_lengths must lie from 0 to {times}, the input's times; got {inputs}.")
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank is {blank} but must be one of the {classes} classes, from 0 on.")


def _check_targets(targets: Tensor, lengths: list[int]) -> None:
    if targets.dim() == 2:
        if max(lengths, default=0) > targets.shape[1]:
            raise RuntimeError(
                f"ctc_loss: Expected tensor to have size at least {max(lengths)} at dimension 1, but got size "
                f"{targets.shape[1]} for argument 'targets'; target_lengths are {lengths}."
            )
    elif sum(lengths) != targets.numel():
        raise RuntimeError(f"ctc_loss: targets have {targets.numel()} labels but target_lengths sum to {sum(lengths)}.")


def _rows(targets: Tensor, lengths: list[int]) -> list[list[int]]:
    """The label sequence of each sample, without what fills it up."""
    if targets.dim() == 2:
        return [row[:n] for row, n in zip(targets.tolist(), lengths, strict=True)]
    values, rows, start = targets.tolist(), [], 0
    for n in lengths:
        rows.append(values[start : start + n])
        start += n
    return rows


def _log_likelihood(log_probs: Tensor, labels: Tensor, inputs: list[int], lengths: list[int], blank: int) -> Tensor:
    """The forward recursion: alpha[n, l] is the log-probability of all ways to stand at label l."""
    times, samples, _ = log_probs.shape
    width = labels.shape[1]
    emitted = log_probs.gather(2, labels.unsqueeze(0).expand(times, samples, width)).clamp_min(_NEVER)  # (T, N, L)
    place = labels.new_tensor(list(range(width))).unsqueeze(0)  # (1, L)
    never = log_probs.detach().new_full((samples, width), _NEVER)
    # A blank between two different labels may be jumped over.
    two_back = labels._pad_constant([(0, 0), (2, 0)], -1)[:, :width]
    jump = (labels != blank) & (labels != two_back) & (place >= 2)
    barred = never.masked_fill(jump, 0.0)
    shortest = min(inputs, default=0)
    limits = labels.new_tensor(inputs).unsqueeze(0)
    running = (arange(times, device=labels.device).unsqueeze(1) < limits).unsqueeze(2)  # (T, N, 1)
    alpha = never
    for t, now in enumerate(emitted.unbind(0)):
        if t == 0:
            moved = now.where(place < 2, never)
        else:
            before = alpha._pad_constant([(0, 0), (2, 0)], _NEVER)  # (N, 2 + L)
            moved = _log_sum(alpha, before.narrow(1, 1, width), before.narrow(1, 0, width) + barred) + now
        alpha = moved if t < shortest else moved.where(running[t], alpha)
    last = labels.new_tensor([2 * n for n in lengths]).long().unsqueeze(1)
    at_blank, at_label = alpha.gather(1, last), alpha.gather(1, (last - 1).clamp_min(0))
    at_label = at_label.where(last > 0, never[:, :1])
    return _log_sum(at_blank, at_label, never[:, :1]).squeeze(1)


def _log_sum(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """`log(exp(a) + exp(b) + exp(c))` without overflow."""
    highest = a.maximum(b).maximum(c).detach()
    return ((a - highest).exp() + (b - highest).exp() + (c - highest).exp()).log() + highest
