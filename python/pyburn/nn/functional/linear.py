"""Affine maps, and tables of vectors that are looked up by index."""

from __future__ import annotations

import math

from pyburn._core import DeviceError, Tensor, _stand_for, int64
from pyburn.ops import embedding, stack
from pyburn.ops import nn as ops
from pyburn.ops._methods import need_real


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension.

    Args:
        input: (..., in_features).
        weight: (out_features, in_features), or (in_features).
        bias: (out_features).

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.linear(pyburn.ones(1, 2), pyburn.ones(3, 2))
        tensor([[2., 2., 2.]])
    """
    return ops.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        input1: (..., in1).
        input2: (..., in2).
        weight: (out, in1, in2).
        bias: (out).

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.bilinear(pyburn.ones(1, 2), pyburn.ones(1, 3), pyburn.ones(1, 2, 3))
        tensor([[6.]])
    """
    return ops.bilinear(input1, input2, weight, bias)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag of indices names.

    Args:
        input: (B, L): B bags of L indices; or (N), cut into bags by `offsets`.
        weight: (num_embeddings, embedding_dim).
        offsets: Where each bag begins in a one-dimensional `input`.
        max_norm: Rows that are longer are shortened in place first.
        norm_type: Which norm `max_norm` means.
        scale_grad_by_freq: Whether a row's gradient is divided by how often it was named.
        mode: "sum", "mean" or "max".
        sparse: Accepted for torch's sake; the gradient is dense.
        per_sample_weights: A factor for each index, with mode "sum".
        include_last_offset: Whether the last offset is the length of `input`.
        padding_idx: Indices of this row count for nothing.

    Example:
        >>> import pyburn
        >>> table = pyburn.tensor([[1.0], [2.0], [4.0]])
        >>> pyburn.nn.functional.embedding_bag(pyburn.tensor([[0, 2]]), table, mode="sum")
        tensor([[5.]])
    """
    need_real("embedding_bag", weight)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights needs mode 'sum' but mode is {mode!r}; multiply after embedding."
        )
    if input.device != weight.device:
        raise DeviceError(
            f"embedding_bag: input is on {input.device} but weight on {weight.device}; move one with .to()"
        )
    if mode != "max" and max_norm is None and not scale_grad_by_freq:
        summed = weight._bag_sums(input, offsets, per_sample_weights, mode == "mean", padding_idx, include_last_offset)
        if summed is not None:
            return summed
    indices, lengths = input.reshape(-1), _bag_lengths(input, offsets, include_last_offset)
    if not indices.is_meta and bool(((indices < 0) | (indices >= weight.shape[0])).any()):
        raise RuntimeError(f"embedding_bag: an index is not in the valid range [0, {weight.shape[0]})")
    vectors = embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)  # (N, D)
    kept = None if padding_idx is None else indices != padding_idx % weight.shape[0]
    if mode == "max":
        return _bag_maximum(vectors, kept, lengths)
    if kept is not None:
        vectors = vectors * kept.to(vectors.dtype).unsqueeze(1)
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(-1, 1)
    total = _bag_sums(vectors, lengths)
    if mode == "sum":
        return _stand_for(total, "EmbeddingBagBackward0", (weight, per_sample_weights), (input, offsets))
    counts = vectors.new_tensor(lengths) if kept is None else _bag_sums(kept.to(vectors.dtype), lengths)
    return total / counts.clamp_min(1.0).unsqueeze(1)


def _bag_lengths(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> list[int]:
    """How many indices each bag has."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated as a mini-batch")
        return [input.shape[1]] * input.shape[0]
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None or offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = [int(start) for start in offsets.tolist()]
    if starts and starts[0] != 0:
        raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence starts at position 0; got {starts[0]}")
    starts = starts[:-1] if include_last_offset else starts
    return [end - start for start, end in zip(starts, [*starts[1:], input.numel()], strict=False)]


def _bag_length(lengths: list[int]) -> int:
    """The length that all bags have: then they are the rows of a matrix, and nothing is scattered. Else 0."""
    return lengths[0] if lengths and lengths[0] > 0 and lengths.count(lengths[0]) == len(lengths) else 0


def _is_each_bag_large(vectors: Tensor, lengths: list[int]) -> bool:
    """Whether a call for each bag costs less than to scatter all of them."""
    return vectors.is_cpu and min(lengths, default=-1) >= 0 and vectors.numel() >= 4096 * len(lengths)


def _bag_of(vectors: Tensor, lengths: list[int]) -> Tensor:
    numbers = [bag for bag, length in enumerate(lengths) for _ in range(length)]
    return vectors.new_tensor(numbers, dtype=int64)


def _bag_sums(vectors: Tensor, lengths: list[int]) -> Tensor:
    length, rest = _bag_length(lengths), vectors.shape[1:]
    if length:
        return vectors.reshape(len(lengths), length, *rest).sum(1)
    if _is_each_bag_large(vectors, lengths):
        return stack([bag.sum(0) for bag in vectors.split(lengths)])
    return vectors.new_zeros((len(lengths), *rest)).index_add(0, _bag_of(vectors, lengths), vectors)


def _bag_maximum(vectors: Tensor, kept: Tensor | None, lengths: list[int]) -> Tensor:
    bags, width = len(lengths), vectors.shape[1]
    if vectors.numel() == 0:
        return vectors.new_zeros((bags, width)) + vectors.sum()
    hidden = vectors if kept is None else vectors.masked_fill(kept.logical_not().unsqueeze(1), -math.inf)
    length = _bag_length(lengths)
    if length:
        largest = hidden.reshape(bags, length, width).amax(1)
    elif _is_each_bag_large(vectors, lengths):
        lowest = vectors.new_full((width,), -math.inf)
        largest = stack([bag.amax(0) if bag.shape[0] else lowest for bag in hidden.split(lengths)])
    else:
        index = _bag_of(vectors, lengths).unsqueeze(1).expand_as(vectors)
        lowest = vectors.new_full((bags, width), -math.inf)
        largest = lowest.scatter_reduce(0, index, hidden, "amax", include_self=False)
    return largest.masked_fill(largest.detach() == -math.inf, 0.0)
