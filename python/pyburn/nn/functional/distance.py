"""Distances between vectors, and the losses that are made of them."""

from __future__ import annotations

from collections.abc import Callable

from pyburn._core import Tensor, _stand_for
from pyburn.nn.functional._reduce import reduced, reduction_of
from pyburn.ops._methods import need_float, need_real, numpy_names
from pyburn.ops.matrices.norms import vector_norm
from pyburn.ops.movement import broadcast_tensors


@numpy_names
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of `x1 - x2 + eps` along the last dimension.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.pairwise_distance(pyburn.zeros(1, 2), pyburn.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    away = x1 - x2 + eps
    return _stand_for(vector_norm(away, p, -1, keepdim), "NormBackward1", (away,), None, True)


@numpy_names
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms below `eps` count as `eps`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.cosine_similarity(pyburn.ones(1, 2), pyburn.tensor([[1.0, 0.0]]))
        tensor([0.7071])
    """
    need_real("cosine_similarity", x1, x2)
    cosines = x1._cosines(x2, dim, eps)
    if cosines is not None:
        return cosines
    long1, long2 = broadcast_tensors(x1, x2)
    if x1.dim() != x2.dim() or x1.dim() == 0 or x1.size(dim) != x2.size(dim):
        x1, x2 = long1, long2
    if not x1.is_floating_point() and not x2.is_floating_point():
        need_float("cosine_similarity", x1, x2)
    unit1 = x1 / vector_norm(x1, 2, dim, keepdim=True).clamp_min(eps)
    unit2 = x2 / vector_norm(x2, 2, dim, keepdim=True).clamp_min(eps)
    return (unit1 * unit2).sum(dim)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`1 - cos` for pairs with target 1 and `max(0, cos - margin)` for pairs with target -1, reduced.

    Example:
        >>> import pyburn
        >>> a = pyburn.tensor([[1.0, 0.0]])
        >>> pyburn.nn.functional.cosine_embedding_loss(a, -a, pyburn.tensor([1]))
        tensor(2.)
    """
    tiny = 1e-12 if input1.dtype.itemsize >= 4 else 1e-5
    dot = (input1 * input2).sum(-1)
    lengths = (input1.square().sum(-1) + tiny) * (input2.square().sum(-1) + tiny)
    cosine = dot / lengths.sqrt()
    zero = cosine.new_zeros(())
    losses = (1 - cosine).where(target == 1, zero) + (cosine - margin).clamp_min(0.0).where(target == -1, zero)
    return reduced(losses, reduction_of(reduction, size_average, reduce))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where the target is 1 and `max(0, margin - input)` where it is -1, reduced.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.hinge_embedding_loss(pyburn.tensor([3.0]), pyburn.tensor([1]))
        tensor(3.)
    """
    zero = input.new_zeros(())
    losses = (margin - input).clamp_min(0.0).where(target != 1, zero) + input.where(target != -1, zero)
    how = reduction_of(reduction, size_average, reduce)
    if how == "mean":
        need_float("hinge_embedding_loss", input)
    return reduced(losses, how)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, -target * (input1 - input2) + margin)`, where target 1 says that `input1` ranks higher.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.margin_ranking_loss(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))
        tensor(1.)
    """
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)} "
        )
    losses = (-target * (input1 - input2) + margin).clamp_min(0.0)
    return reduced(losses, reduction_of(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)` for the `p`-norm distance, reduced.

    Args:
        anchor: Vectors along the last dimension.
        positive: Vectors that should be near.
        negative: Vectors that should be far.
        margin: By how much farther.
        p: Which norm.
        eps: Added to each difference.
        swap: Whether `d(positive, negative)` is used where it is smaller than `d(anchor, negative)`.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> a = pyburn.zeros(1, 2)
        >>> pyburn.nn.functional.triplet_margin_loss(a, a, a)
        tensor(1.)
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction_of(reduction, size_average, reduce),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own; `pairwise_distance` when left out.

    Example:
        >>> import pyburn
        >>> a = pyburn.zeros(1, 2)
        >>> pyburn.nn.functional.triplet_margin_with_distance_loss(a, a, a, margin=2.0)
        tensor(2.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0.0), reduction)
