"""Normalization: what is subtracted, divided by and scaled differs only in the dimensions it is taken over."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor, _stand_for
from pyburn.ops import nn as ops
from pyburn.ops._methods import need_float, write_out
from pyburn.ops.matrices.norms import vector_norm
from pyburn.ops.padding import pad


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`input` (N, C, ...) normalized for each channel over all else.

    Args:
        input: At least two dimensions.
        running_mean: Used in evaluation and updated in training; None for neither.
        running_var: The same for the variance.
        weight: A factor for each channel.
        bias: A summand for each channel.
        training: Whether the batch's own statistics are used.
        momentum: How much of the batch's statistics goes into the running ones.
        eps: Added to the variance.

    Raises:
        ValueError: In training there is only one value for each channel, or `eps` is not positive.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([[1.0], [3.0]])
        >>> pyburn.nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if training and input.dim() >= 2 and input.numel() == input.shape[1]:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(input.shape)})"
        )
    return ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`input` (N, C, ...) normalized for each sample and channel; the arguments are those of `batch_norm`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.instance_norm(pyburn.tensor([[[1.0, 3.0]]]), eps=0.0)
        tensor([[[-1.,  1.]]])
    """
    if use_input_stats and input.dim() >= 2 and input.numel() == input.shape[0] * input.shape[1]:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(input.shape)})"
        )
    return ops.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`input` normalized over its last dimensions, which have the shape `normalized_shape`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.layer_norm(pyburn.tensor([1.0, 3.0]), (2,), eps=0.0)
        tensor([-1.,  1.])
    """
    return ops.layer_norm(input, list(normalized_shape), weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """`input` divided by the root of its mean square over the last dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.rms_norm(pyburn.tensor([3.0, 3.0]), (2,))
        tensor([1., 1.])
    """
    return ops.rms_norm(input, list(normalized_shape), weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`input` (N, C, ...) normalized for each sample over groups of channels.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.group_norm(pyburn.tensor([[1.0, 3.0]]), 1, eps=0.0)
        tensor([[-1.,  1.]])
    """
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`input` (N, C, ...) divided by a power of the mean square over `size` neighbouring channels.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.local_response_norm(pyburn.ones(1, 2, 1), 1, alpha=1.0, beta=1.0)
        tensor([[[0.5000],
                 [0.5000]]])
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    square = input.square()
    left = size // 2
    padded = pad(square, [0, 0] * (input.dim() - 2) + [left, (size - 1) // 2])
    channels = input.shape[1]
    total = padded.narrow(1, 0, channels)
    for offset in range(1, size):
        total = total + padded.narrow(1, offset, channels)
    mean = total / size if input.is_floating_point() else total // size
    return input / (mean * alpha + k) ** beta


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | tuple[int, ...] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """`input` divided by its `p`-norm along `dim`, which is taken as `eps` where it is smaller.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.normalize(pyburn.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    need_float("normalize", input)
    length = vector_norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result = input / length
    return write_out(out, _stand_for(result, "DivBackward0", (input, length), (input,)))
