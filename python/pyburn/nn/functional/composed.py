"""Functions that are compositions of others, and those that need hardware formats pyburn does not have."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, _stand_for, bfloat16, dtype, float16, float32, int32
from pyburn.nn.functional.classification import cross_entropy
from pyburn.nn.functional.linear import linear
from pyburn.ops import cat, stack, triu_indices
from pyburn.ops import nn as ops
from pyburn.ops._methods import need_real
from pyburn.ops.distance import pair_distances


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
    if p == 2 and input.dtype == float32 and input.is_cpu:
        return pair_distances(input)
    first, second = triu_indices(input.shape[0], input.shape[0], 1, device=input.device).unbind(0)
    result = (input.index_select(0, first) - input.index_select(0, second)).norm(p, -1)
    return _stand_for(result, "PdistBackward0", (input,), (input,), True)


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


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtype | None = None,
) -> Tensor:
    """The products of groups of rows, columns or matrices, as layers of experts need them.

    Args:
        mat_a: (M, K), or (G, M, K) for a matrix in each group.
        mat_b: (K, N) or (G, K, N).
        offs: Where each group ends, int32, in the rows of a flat `mat_a` beside a `mat_b` of G matrices, in the
            columns of a flat `mat_b` beside a `mat_a` of G matrices, or in the K of two flat ones.
        bias: Not supported yet, as in torch.
        out_dtype: The dtype of `mat_a`, or None.

    Differs from torch:
        Rows and columns behind the last group are zeros, not whatever was in memory, and strides need not be
        multiples of 16 bytes.

    Example:
        >>> import pyburn
        >>> ends = pyburn.tensor([1, 3], dtype=pyburn.int32)
        >>> experts = pyburn.tensor([[[2.0]], [[3.0]]])
        >>> pyburn.nn.functional.grouped_mm(pyburn.ones(3, 1), experts, offs=ends).flatten()
        tensor([2., 3., 3.])
    """
    _check_grouped(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b
    ends = [int(end) for end in offs.tolist()]
    places = list(itertools.pairwise([0, *ends]))
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return stack([mat_a[:, start:end] @ mat_b[start:end] for start, end in places])
    if mat_a.dim() == 2:
        rows = [mat_a[start:end] @ mat_b[group] for group, (start, end) in enumerate(places)]
        return cat([*rows, mat_a.new_zeros(mat_a.shape[0] - ends[-1], mat_b.shape[-1])])
    columns = [mat_a[group] @ mat_b[:, start:end] for group, (start, end) in enumerate(places)]
    return cat([*columns, mat_b.new_zeros(mat_a.shape[1], mat_b.shape[1] - ends[-1])], 1)


def _check_grouped(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, bias: Tensor | None, out: dtype | None) -> None:
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype not in (float32, bfloat16, float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {matrix.dtype}")
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got {matrix.dim()}d")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(f"Expected mat_a and mat_b to have the same dtype, got {mat_a.dtype} and {mat_b.dtype}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            f"contraction dimension of mat_a and mat_b must match, got {mat_a.shape[-1]} and {mat_b.shape[-2]}"
        )
    if (offs is None) != (mat_a.dim() == mat_b.dim() == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out not in (None, mat_a.dtype):
        raise RuntimeError(f"Grouped gemm output dtype must match `mat_a` dtype, got {out} and {mat_a.dtype}")
    groups = [len(matrix) for matrix in (mat_a, mat_b) if matrix.dim() == 3]
    if offs is None:
        if groups[0] != groups[1]:
            raise RuntimeError(f"batched dimension has to match, got {groups[0]} and {groups[1]}")
        return
    if offs.dim() != 1 or offs.dtype != int32:
        raise RuntimeError(f"Offsets have to be int32 of 1 dimension, got {offs.dtype} of {offs.dim()}")
    if any(number != len(offs) for number in groups):
        raise RuntimeError(f"matrix batch sizes have to match, got {groups[0]} matrices and {len(offs)} offsets")
    ends = [0, *offs.tolist()]
    length = mat_b.shape[1] if mat_a.dim() == 3 else mat_a.shape[1 if mat_b.dim() == 2 else 0]
    if any(end < start for start, end in itertools.pairwise(ends)) or ends[-1] > length:
        raise RuntimeError(f"Offsets have to grow and end by {length}, got {ends[1:]}")


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
