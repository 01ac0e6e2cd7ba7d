"""burn's losses that torch has not: powers of errors, and the transducer loss (Graves, 2012)."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.nn.functional._reduce import reduced
from pyburn.nn.module import Module
from pyburn.ops import arange, cat, stack


class LpLoss(Module):
    """`|input - target| ** p`, reduced.

    Args:
        p: The power, positive: 1 for absolute, 2 for squared errors.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.LpLoss(3.0)(pyburn.zeros(2), pyburn.tensor([1.0, -2.0]))
        tensor(4.5000)
    """

    def __init__(self, p: float, reduction: str = "mean") -> None:
        super().__init__()
        if p <= 0:
            raise ValueError(f"LpLoss: p must be positive, got {p}.")
        self.p = p
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return reduced(self._errors(input, target), self.reduction)

    def forward_reduce_dims(self, input: Tensor, target: Tensor, dims: list[int]) -> Tensor:
        """The mean over `dims`, which keep the size 1."""
        return self._errors(input, target).mean(dims, keepdim=True)

    def _errors(self, input: Tensor, target: Tensor) -> Tensor:
        error = input - target
        return error * error if self.p == 2 else error.abs() if self.p == 1 else error.abs().pow(self.p)

    def extra_repr(self) -> str:
        """The power."""
        return f"p={self.p}"


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    fused_log_softmax: bool = True,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-probability of the targets over all alignments of a transducer.

    Args:
        logits: (B, T, U + 1, V): what the joiner gives after t inputs and u labels.
        targets: (B, U): the labels, without blanks.
        logit_lengths: (B): how many of the T count.
        target_lengths: (B): how many of the U count.
        blank: The class that stands for "next input".
        fused_log_softmax: Whether `logits` still have to become log-probabilities.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: Shapes or lengths do not fit.

    Example:
        >>> import pyburn
        >>> one = pyburn.tensor([1])
        >>> pyburn.nn.burn.rnnt_loss(pyburn.zeros(1, 2, 2, 2), pyburn.tensor([[1]]), one * 2, one)
        tensor(1.3863)
    """
    _check(logits, targets, logit_lengths, target_lengths, blank)
    # Long sums of logarithms lose digits: on the CPU, which has float64, they are made in it.
    wide = logits.double() if logits.device.type == "cpu" else logits
    log_probs = wide.log_softmax(3) if fused_log_softmax else wide
    batch, times, width, _ = logits.shape
    places = arange(width - 1, device=targets.device).unsqueeze(0)
    labels = targets.long().masked_fill(places >= target_lengths.long().unsqueeze(1), 0)
    blanks = log_probs[..., blank]  # (B, T, U + 1)
    spoken = log_probs[:, :, :-1].gather(3, labels.reshape(batch, 1, width - 1, 1).expand(-1, times, -1, -1)).squeeze(3)
    # sums[b, t, u] is the log-probability of saying the first u labels at once at time t.
    sums = cat([spoken.new_zeros((batch, times, 1)), spoken.cumsum(2)], 2)
    alphas = [sums[:, 0]]
    for after, before in zip(sums.unbind(1)[1:], blanks.unbind(1)[:-1], strict=True):
        # Entered from the time before at any u' <= u, then on to u: a running sum over u'.
        alphas.append(after + (alphas[-1] + before - after).logcumsumexp(1))
    ends = stack(alphas, 1) + blanks  # (B, T, U + 1)
    last = (logit_lengths.long() - 1) * width + target_lengths.long()
    losses = -ends.reshape(batch, times * width).gather(1, last.to(ends.device).unsqueeze(1)).squeeze(1)
    return reduced(losses.to(logits.dtype), reduction)


def _check(logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int) -> None:
    if logits.dim() != 4:
        raise ValueError(f"rnnt_loss: logits have shape {list(logits.shape)} but need (B, T, U + 1, V).")
    batch, times, width, classes = logits.shape
    if list(targets.shape) != [batch, width - 1]:
        raise ValueError(f"rnnt_loss: targets have shape {list(targets.shape)} but need {[batch, width - 1]}.")
    if not 0 <= blank < classes:
        raise ValueError(f"rnnt_loss: blank is {blank} but must be one of the {classes} classes, from 0 on.")
    for name, lengths, low, high in (
        ("logit_lengths", logit_lengths, 1, times),
        ("target_lengths", target_lengths, 0, width - 1),
    ):
        if list(lengths.shape) != [batch]:
            raise ValueError(f"rnnt_loss: {name} have shape {list(lengths.shape)} but need {[batch]}.")
        if batch and not low <= int(lengths.amin()) <= int(lengths.amax()) <= high:
            raise ValueError(f"rnnt_loss: {name} must lie from {low} to {high}, got {lengths.tolist()}.")


class RNNTLoss(Module):
    """The transducer loss as a module.

    Args:
        blank: The class that stands for "next input".
        logits: Whether inputs still have to become log-probabilities.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> one = pyburn.tensor([1])
        >>> pyburn.nn.burn.RNNTLoss()(pyburn.zeros(1, 1, 2, 3), pyburn.tensor([[2]]), one, one)
        tensor(2.1972)
    """

    def __init__(self, blank: int = 0, logits: bool = True, reduction: str = "mean") -> None:
        super().__init__()
        self.blank = blank
        self.logits = logits
        self.reduction = reduction

    def forward(self, logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        """The loss; the arguments are those of `rnnt_loss`."""
        return rnnt_loss(logits, targets, logit_lengths, target_lengths, self.blank, self.logits, self.reduction)

    def extra_repr(self) -> str:
        """The settings."""
        return f"blank={self.blank}, logits={self.logits}, reduction={self.reduction}"
