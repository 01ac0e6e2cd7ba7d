"""Distances between vectors as layers."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.module import Module


class PairwiseDistance(Module):
    """The `p`-norm of the difference along the last dimension.

    Args:
        p: Which norm.
        eps: Added to each difference.
        keepdim: Whether the last dimension stays, with size 1.

    Example:
        >>> import pyburn
        >>> pyburn.nn.PairwiseDistance()(pyburn.zeros(1, 2), pyburn.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distance of each pair of vectors."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between two vectors along `dim`.

    Args:
        dim: The dimension that the vectors lie along.
        eps: The least length that a vector counts with.

    Example:
        >>> import pyburn
        >>> pyburn.nn.CosineSimilarity()(pyburn.ones(1, 2), pyburn.tensor([[1.0, 0.0]]))
        tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosine of each pair of vectors."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
