"""Softmax over many classes in clusters by frequency (Grave et al., 2017), and losses that own a linear map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.container import ModuleList, Sequential
from pyburn.nn.linear import Linear
from pyburn.nn.loss import _WeightedLoss
from pyburn.nn.module import Module
from pyburn.ops import cat


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of very many classes, rare ones in clusters with smaller projections.

    Args:
        in_features: The number of features of the input.
        n_classes: How many classes; the most frequent ones come first.
        cutoffs: Where one cluster ends and the next begins.
        div_value: By how much smaller the projection of each further cluster is.
        head_bias: Whether the head has a bias.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0)
        >>> result = layer(pyburn.zeros(3, 8), pyburn.tensor([0, 4, 9]))
        >>> tuple(result.output.shape), result.loss.dim(), tuple(layer.log_prob(pyburn.zeros(3, 8)).shape)
        ((3,), 0, (3, 10))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        inside = min(ends) > 0 and max(ends) <= n_classes - 1
        if ends != sorted(set(ends)) or not inside or any(int(end) != end for end in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // (div_value ** (i + 1)))
            projections = (
                Linear(in_features, width, False, device, dtype),
                Linear(width, end - start, False, device, dtype),
            )
            self.tail.append(Sequential(*projections))

    def reset_parameters(self) -> None:
        """Nothing; all weights are drawn anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target as `output`, and minus their mean as `loss`.

        Args:
            input_: (N, in_features) or (in_features).
            target_: (N) or (): classes.
        """
        self._check(input_, target_)
        input, target = (input_, target_) if target_.dim() == 1 else (input_.unsqueeze(0), target_.unsqueeze(0))
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.amin().item()}, {target.amax().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), 1)
        in_head = target
        output = head.new_zeros(target.shape)
        for i, (start, end) in enumerate(pairwise(self.cutoffs)):
            inside = (target >= start) & (target < end)
            rows = inside.nonzero().reshape(-1)
            if rows.numel() == 0:
                continue
            in_head = in_head.masked_fill(inside, self.shortlist_size + i)
            local = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            found = local.gather(1, (target.index_select(0, rows) - start).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, found)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() == 1 else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
                f"{list(input.shape)}"
            )
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            local = F.log_softmax(self.tail[i](input), 1)
            parts.append(local + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """(N, n_classes): the log-probability of every class."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """(N): the most probable class."""
        head = self.head(input)
        best: Tensor = head.argmax(1)
        beyond = best >= self.shortlist_size
        if not bool(beyond.any()):
            return best
        return self._get_full_log_prob(input, head).argmax(1).where(beyond, best)


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How torch cuts the logits of `linear_cross_entropy` into chunks; accepted, the loss is the same.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LinearCrossEntropyOptions(batch_chunk_size=2).batch_chunk_size
        2
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str | None = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear map of the input that this loss owns.

    Args:
        in_features: The number of features of the input.
        num_classes: How many classes.
        out_features: Further dimensions of places, each with a loss.
        bias: Whether the linear map has a bias.
        device: Where its parameters are.
        dtype: Their dtype.
        reduction: "none", "mean" or "sum".
        weight: (num_classes): a factor for each class.
        ignore_index: A class whose samples do not count.
        label_smoothing: How much of each target is spread over all classes.
        options: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> loss = pyburn.nn.LinearCrossEntropyLoss(4, 3)
        >>> loss(pyburn.zeros(2, 4), pyburn.tensor([0, 2])).item()
        1.0986123085021973
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss: one number, or one for each sample and place when `reduction` is "none"."""
        places = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*places, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(places),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """The sizes and settings."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )
