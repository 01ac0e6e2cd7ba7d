"""Functions that are compositions of others, and those that need hardware formats pyburn does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.nn.functional.classification import cross_entropy
from pyburn.nn.functional.linear import linear
from pyburn.ops import nn as ops
from pyburn.ops import triu_indices
from pyburn.ops._methods import need_real


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over the first dimension of (time, batch, channels).

    Args:
        input: (T, N, C).
        weight: (kernel, C, channels of the result).
        bias: (channels of the result).
        pad: How many zeros stand on both sides.

    Example:
        >>> import pyburn
        >>> F = pyburn.nn.functional
        >>> tuple(F.conv_tbc(pyburn.zeros(5, 2, 3), pyburn.zeros(2, 3, 4), pyburn.zeros(4)).shape)
        (4, 2, 4)
    """
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(
            f"conv_tbc: input and weight need 3 dimensions and bias 1, got {input.dim()}, {weight.dim()}, {bias.dim()}"
        )
    return ops.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distance of every pair of rows: (0, 1), (0, 2), ..., (1, 2), ...

    Args:
        input: (N, M).
        p: Which norm, from 0 on.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.pdist(pyburn.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    need_real("pdist", input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = triu_indices(input.shape[0], input.shape[0], 1, device=input.device).unbind(0)
    return (input.index_select(0, first) - input.index_select(0, second)).norm(p, -1)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `input` taken from `groups` in turn, as `channel_shuffle` gives them.

    Example:
        >>> import pyburn
        >>> x = pyburn.arange(4.0).reshape(1, 4, 1, 1)
        >>> pyburn.nn.functional.native_channel_shuffle(x, 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    return ops.channel_shuffle(input, groups)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate(mode="nearest")` under torch's older name.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.upsample_nearest(pyburn.zeros(1, 1, 2, 2), scale_factor=2).shape)
        (1, 1, 4, 4)
    """
    return ops.interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate(mode="bilinear", align_corners=True)` under torch's older name.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.upsample_bilinear(pyburn.zeros(1, 1, 2, 2), scale_factor=2).shape)
        (1, 1, 4, 4)
    """
    return ops.interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """The cross entropy of `linear(input, linear_weight, linear_bias)`.

    Args:
        input: (D) or (N, D).
        linear_weight: (C, D), or (C, d1, ..., dK, D) for a loss at each of d1 * ... * dK places.
        target: Classes, or a probability for each.
        linear_bias: (C) or (C, d1, ..., dK).
        weight: (C): a factor for each class.
        reduction: "none", "mean" or "sum".
        ignore_index: A class whose samples do not count.
        label_smoothing: How much of each target is spread over all classes.
        options: Accepted for torch's sake: the logits are always computed as a whole.

    Example:
        >>> import pyburn
        >>> F = pyburn.nn.functional
        >>> F.linear_cross_entropy(pyburn.ones(1, 2), pyburn.zeros(4, 2), pyburn.tensor([3]))
        tensor(1.3863)
    """
    classes, *places, features = linear_weight.shape
    if places and input.dim() < 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias)
    logits = logits.reshape(*input.shape[:-1], classes, *places)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _refused(name: str, instead: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: needs a GPU format that pyburn has not; {instead}.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Nothing: raises NotImplementedError; {instead}."
    return refuse


_MULTIPLY = "multiply the matrices by their scales and use matmul"
scaled_mm = _refused("scaled_mm", _MULTIPLY)
scaled_addmm = _refused("scaled_addmm", _MULTIPLY)
scaled_addmm_ = _refused("scaled_addmm_", _MULTIPLY)
scaled_grouped_mm = _refused("scaled_grouped_mm", _MULTIPLY)
grouped_mm = _refused("grouped_mm", "multiply the groups one by one with matmul")
