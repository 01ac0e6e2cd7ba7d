"""Losses as modules: each holds its settings and calls the function of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.distance import PairwiseDistance
from pyburn.nn.functional._reduce import reduction_of
from pyburn.nn.module import Module


class _Loss(Module):
    """What the losses share: how they are reduced."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_of(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with a weight, which is a buffer: it moves with the module and is saved."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """`|input - target|`, reduced.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.L1Loss()(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """`(input - target) ** 2`, reduced.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.MSELoss()(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """A square near 0 and an absolute value beyond `beta`, reduced.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        beta: Where the square ends.

    Example:
        >>> import pyburn
        >>> pyburn.nn.SmoothL1Loss()(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(1.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(_Loss):
    """A square near 0 and `delta` times an absolute value beyond it, reduced.

    Args:
        reduction: "none", "mean" or "sum".
        delta: Where the square ends.

    Example:
        >>> import pyburn
        >>> pyburn.nn.HuberLoss()(pyburn.zeros(2), pyburn.tensor([1.0, 3.0]))
        tensor(1.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The negative log-probability that scores give to classes, reduced; see `cross_entropy`.

    Args:
        weight: A factor for each class.
        size_average: torch's older way of saying `reduction`.
        ignore_index: Targets of this class count for nothing.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        label_smoothing: How much of the truth is spread over all classes.

    Example:
        >>> import pyburn
        >>> pyburn.nn.CrossEntropyLoss()(pyburn.zeros(3, 2), pyburn.tensor([0, 1, 1]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


class NLLLoss(_WeightedLoss):
    """The negative of the log-probabilities at the target classes, reduced.

    Args:
        weight: A factor for each class.
        size_average: torch's older way of saying `reduction`.
        ignore_index: Targets of this class count for nothing.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.NLLLoss()(pyburn.tensor([[-1.0, -3.0]]), pyburn.tensor([1]))
        tensor(3.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under the older name for images.

    Example:
        >>> import pyburn
        >>> pyburn.nn.NLLLoss2d()(pyburn.zeros(1, 2, 1, 1), pyburn.zeros(1, 1, 1).long())
        tensor(0.)
    """


class BCELoss(_WeightedLoss):
    """The negative log-likelihood of yes-or-no targets under probabilities, reduced.

    Args:
        weight: A factor that broadcasts to the input.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.BCELoss()(pyburn.tensor([0.5]), pyburn.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """`BCELoss` of the sigmoid of scores, without overflow.

    Args:
        weight: A factor that broadcasts to the input.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        pos_weight: A factor for the positive part.

    Example:
        >>> import pyburn
        >>> pyburn.nn.BCEWithLogitsLoss()(pyburn.zeros(1), pyburn.ones(1))
        tensor(0.6931)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of targets from log-probabilities; see `kl_div`.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        log_target: Whether the target is a logarithm.

    Example:
        >>> import pyburn
        >>> pyburn.nn.KLDivLoss()(pyburn.zeros(2).log_softmax(0), pyburn.full((2,), 0.5))
        tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson rates.

    Args:
        log_input: Whether the input is a logarithm.
        full: Whether the terms that do not depend on the input are added.
        size_average: torch's older way of saying `reduction`.
        eps: A small number for stability.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.PoissonNLLLoss()(pyburn.zeros(1), pyburn.ones(1))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of targets under normal distributions.

    Args:
        full: Whether the terms that do not depend on the input are added.
        eps: A small number for stability.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.GaussianNLLLoss()(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))
        tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """`input` where the target is 1 and `max(0, margin - input)` where it is -1.

    Args:
        margin: The margin.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.HingeEmbeddingLoss()(pyburn.tensor([3.0]), pyburn.tensor([1]))
        tensor(3.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """`log(1 + exp(-target * input))` for targets of 1 and -1.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.SoftMarginLoss()(pyburn.zeros(1), pyburn.ones(1))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of a binary cross entropy for each.

    Args:
        weight: A factor for each class.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.MultiLabelSoftMarginLoss()(pyburn.zeros(1, 2), pyburn.ones(1, 2))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The mean hinge over pairs of a right and a wrong class; see `multilabel_margin_loss`.

    Args:
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.MultiLabelMarginLoss()(pyburn.zeros(2), pyburn.tensor([1, -1]))
        tensor(0.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over wrong classes of `max(0, margin - right + wrong) ** p`.

    Args:
        p: The power.
        margin: The margin.
        weight: A factor for each class.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.MultiMarginLoss()(pyburn.zeros(1, 2), pyburn.tensor([0]))
        tensor(0.5000)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.multi_margin_loss(
            input, target, weight=self.weight, p=self.p, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """`1 - cos` for pairs with target 1 and `max(0, cos - margin)` for target -1.

    Args:
        margin: The margin.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.CosineEmbeddingLoss()(pyburn.ones(1, 2), -pyburn.ones(1, 2), pyburn.tensor([1]))
        tensor(2.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """`max(0, -target * (input1 - input2) + margin)`.

    Args:
        margin: The margin.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.MarginRankingLoss()(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))
        tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)` for a norm.

    Args:
        margin: The margin.
        p: Which norm.
        eps: A small number for stability.
        swap: Whether the nearer of anchor and positive is compared with the negative.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.TripletMarginLoss()(pyburn.zeros(1, 2), pyburn.zeros(1, 2), pyburn.zeros(1, 2))
        tensor(1.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own.

    Args:
        distance_function: The distance; `pairwise_distance` when left out.
        margin: The margin.
        swap: Whether the nearer of anchor and positive is compared with the negative.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.TripletMarginWithDistanceLoss()(pyburn.zeros(1, 2), pyburn.zeros(1, 2), pyburn.zeros(1, 2))
        tensor(1.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss: one number, or one for each element when `reduction` is "none"."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """The negative log-probability of label sequences over all of their alignments; see `ctc_loss`.

    Args:
        blank: The class that stands for no label.
        reduction: "none", "mean" or "sum".
        zero_infinity: Whether a target that is too long for its input costs 0 instead of infinity.

    Example:
        >>> import pyburn
        >>> log_probs = pyburn.zeros(2, 1, 2).log_softmax(2)
        >>> pyburn.nn.CTCLoss()(log_probs, pyburn.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """The loss: one number, or one for each sample when `reduction` is "none"."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
