"""What the distributions of two outcomes share."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.ops.activation import softplus


def cross_entropy_with_logits(logits: Tensor, target: Tensor) -> Tensor:
    """Minus the log-probability of `target` between 0 and 1, given log-odds, without overflow."""
    return (1 - target) * logits + softplus(-logits)
