"""Normalization: what is subtracted and divided by differs only in the dimensions it is taken over."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor, _stand_for, float32
from pyburn._formats import channels_last, channels_last_3d
from pyburn._typeinfo import finfo
from pyburn.ops._layout import laid_as, suggested
from pyburn.ops._methods import need_float, need_real

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "rms_norm",
]


def _wide(input: Tensor) -> Tensor:
    """Half types are normalized in float32, as sums of their squares overflow."""
    return input.to(float32) if input.dtype.itemsize < 4 else input


def _laid(x: Tensor) -> Tensor:
    """`x` in row-major order, or channels last if it is so: torch's normalizations leave results of no other order."""
    format = {4: channels_last, 5: channels_last_3d}.get(x.dim())
    return x if format is not None and x.is_contiguous(memory_format=format) else x.contiguous()


def _check(op: str, name: str, tensor: Tensor | None, size: Sequence[int]) -> None:
    if tensor is not None and list(tensor.shape) != list(size):
        raise RuntimeError(f"{op}: {name} has shape {list(tensor.shape)} but needs {list(size)}")


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Sequence[int]) -> Tensor:
    """`x * weight + bias`, both reshaped to broadcast."""
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _standard(x: Tensor, dims: Sequence[int], eps: float) -> Tensor:
    """`x` with mean 0 and variance 1 over `dims`."""
    centred = x - x.mean(dims, keepdim=True)
    return centred * (centred.square().mean(dims, keepdim=True) + eps).rsqrt()


def _native(x: Tensor, *parameters: Tensor | None) -> bool:
    """Whether the CPU's kernels take `x` and its parameters: they are compiled for float32 and float64."""
    if x.device.type != "cpu" or x.dtype not in (float32, _core.float64) or x.numel() == 0:
        return False
    return all(one is None or (one.is_floating_point() and one.device.type == "cpu") for one in parameters)


def _as(x: Tensor, parameter: Tensor | None) -> Tensor | None:
    """The parameter in the dtype of `x`."""
    return parameter if parameter is None or parameter.dtype == x.dtype else parameter.to(x.dtype)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`input` (N, C, ...) normalized for each channel over all else.

    Args:
        input: At least two dimensions.
        running_mean: Used in evaluation and updated in place in training; None for neither.
        running_var: The same for the variance.
        weight: A factor for each channel.
        bias: A summand for each channel.
        training: Whether the batch's own statistics are used.
        momentum: How much of the batch's statistics goes into the running ones.
        eps: Added to the variance.
        cudnn_enabled: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.batch_norm(pyburn.tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0)
        tensor([[-1.],
                [ 1.]])
    """
    found = _at_once(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if found is not None:
        return found
    found = _channels_last(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if found is not None:
        return found
    need_real("batch_norm", input)
    need_float("batch_norm", input)
    if input.dim() < 2:
        raise RuntimeError(f"batch_norm: input has shape {list(input.shape)} but needs (N, C, ...)")
    channels = input.shape[1]
    for name, tensor in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        _check("batch_norm", name, tensor, [channels])
    shape = [1, channels] + [1] * (input.dim() - 2)
    x = _laid(_wide(input))
    if _takes_channels(x, training, running_mean, running_var, weight, bias):
        result = _batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps).to(input.dtype)
        return _stand_for(result, "NativeBatchNormBackward0", (input, weight, bias), (input, weight))
    if training:
        dims = [0, *range(2, input.dim())]
        centred = x - x.mean(dims, keepdim=True)
        variance = centred.square().mean(dims, keepdim=True)
        count = input.numel() // max(channels, 1)
        if running_mean is not None and running_var is not None and count > 0:
            _update(running_mean, (x - centred).detach().mean(dims), momentum)
            _update(running_var, variance.detach().reshape(-1) * (count / max(count - 1, 1)), momentum)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: running_mean and running_var must be given when training=False")
        centred = x - running_mean.reshape(shape)
        variance = running_var.reshape(shape)
    result = _affine(centred * (variance + eps).rsqrt(), weight, bias, shape).to(input.dtype)
    return _stand_for(result, "NativeBatchNormBackward0", (input, weight, bias), (input, weight))


def _takes_channels(x: Tensor, training: bool, mean: Tensor | None, var: Tensor | None, *affine: Tensor | None) -> bool:
    """Whether the kernel for channels is the faster one: each has several neighbours in memory."""
    known = [one for one in (mean, var) if one is not None]
    if not _native(x, *known, *affine) or not x.is_contiguous() or math.prod(x.shape[2:]) < 8:
        return False
    return training or (len(known) == 2 and not any(one.requires_grad for one in known))


def _at_once(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor | None:
    """The usual case of :func:`batch_norm` in one native call, before anything else is looked at; else None."""
    running = None if running_mean is None or running_var is None else (running_mean, running_var)
    if running is None and not training:
        return None
    if training and running is not None:
        channels = input.shape[1:2]
        if running[0].shape != channels or running[1].shape != channels:
            return None
    found = input._batch_norm(weight, bias, None if training else running, eps)
    if found is None:
        return None
    result, mean, variance = found
    if training and running is not None:
        _track(*running, mean, variance, momentum, input.numel() // mean.numel())
    return result


def _channels_last(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor | None:
    """As `_at_once`, of images whose channels lie side by side: every pixel is a sample."""
    format = suggested(input)
    if format is None or not input.is_contiguous(memory_format=format):
        return None
    pixels = input.movedim(1, -1)  # (N, ..., C)
    samples = pixels.reshape(-1, input.shape[1])
    found = _at_once(samples, running_mean, running_var, weight, bias, training, momentum, eps)
    if found is None:
        return None
    result = found.reshape(pixels.shape).movedim(-1, 1)
    return _stand_for(result, "NativeBatchNormBackward0", (input, weight, bias), (input, weight))


def _track(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, variance: Tensor, momentum: float, count: int
) -> None:
    """Moves the running statistics towards those of a batch with `count` values for each channel."""
    running_mean._track(mean, 1.0, momentum)
    running_var._track(variance, count / max(count - 1, 1), momentum)


def _batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """:func:`batch_norm` by the kernel for channels."""
    samples, channels, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    weight, bias = _as(x, weight), _as(x, bias)
    given = None
    if not training and running_mean is not None and running_var is not None:
        given = (running_mean.detach().to(x.dtype), running_var.detach().to(x.dtype))
    result, mean, variance = x._normalized("batch", [samples, channels, 1, size], weight, bias, given, eps)
    if training and running_mean is not None and running_var is not None:
        _track(running_mean, running_var, mean, variance, momentum, samples * size)
    return result


def _update(running: Tensor, value: Tensor, momentum: float) -> None:
    """Moves the running statistic towards the batch's."""
    running._track(value, 1.0, momentum)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`input` (N, C, ...) normalized for each sample and channel; the arguments are those of `batch_norm`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.instance_norm(pyburn.tensor([[[1.0, 3.0]]]), eps=0.0)
        tensor([[[-1.,  1.]]])
    """
    need_real("instance_norm", input)
    if input.dim() < 3:
        raise RuntimeError(f"instance_norm: input has shape {list(input.shape)} but needs (N, C, ...)")
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    channels = input.shape[1]
    for name, tensor in (("weight", weight), ("bias", bias)):
        _check("instance_norm", name, tensor, [channels])
    dims = list(range(2, input.dim()))
    x = _wide(input).contiguous()
    if running_mean is not None and running_var is not None:
        seen, count = x.detach(), math.prod(input.shape[2:])
        means = seen.mean(dims, keepdim=True)
        variances = (seen - means).square().sum(dims) / max(count - 1, 1)
        _update(running_mean, means.reshape(means.shape[:2]).mean(0), momentum)
        _update(running_var, variances.mean(0), momentum)
    if _native(x, weight, bias):
        sizes = [x.shape[0], channels, 1, math.prod(x.shape[2:])]
        # torch repeats weight and bias, so that they may be written to afterwards.
        scale, shift = (None if one is None else one.to(x.dtype, copy=True) for one in (weight, bias))
        output = x._normalized("group", sizes, scale, shift, None, eps)[0].to(input.dtype)
        return laid_as(output, input)
    shape = [1, channels] + [1] * len(dims)
    return _affine(_standard(x, dims, eps), weight, bias, shape).to(input.dtype)


def _last_dims(op: str, input: Tensor, normalized_shape: Sequence[int]) -> list[int]:
    """The dimensions that `normalized_shape` describes."""
    sizes = list(normalized_shape)
    if not sizes or list(input.shape[-len(sizes) :]) != sizes:
        raise RuntimeError(
            f"{op}: given normalized_shape={sizes}, expected input with shape "
            f"[*, {', '.join(map(str, sizes))}], but got input of size {list(input.shape)}"
        )
    return list(range(input.dim() - len(sizes), input.dim()))


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`input` normalized over its last dimensions, which have the shape `normalized_shape`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.layer_norm(pyburn.tensor([1.0, 3.0]), (2,), eps=0.0)
        tensor([-1.,  1.])
    """
    # The usual case in one call, before anything else is looked at.
    found = input._layer_norm(normalized_shape, weight, bias, eps)
    if found is not None:
        return found
    need_real("layer_norm", input)
    dims = _last_dims("layer_norm", input, normalized_shape)
    for name, tensor in (("weight", weight), ("bias", bias)):
        _check("layer_norm", name, tensor, normalized_shape)
    # Row-major, as torch's result is.
    x = _wide(input).contiguous()
    if _native(x, weight, bias):
        size = math.prod(normalized_shape)
        sizes = [x.numel() // size, 1, 1, size]
        result = x._normalized("layer", sizes, _as(x, weight), _as(x, bias), None, eps)[0].to(input.dtype)
    else:
        result = _affine(_standard(x, dims, eps), weight, bias, list(normalized_shape)).to(input.dtype)
    return _stand_for(result, "NativeLayerNormBackward0", (input, weight, bias), (input, weight, bias))


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """`input` divided by the root of its mean square over the last dimensions; `eps` is the dtype's when left out.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.rms_norm(pyburn.tensor([3.0, 3.0]), (2,))
        tensor([1., 1.])
    """
    found = input._rms_norm(normalized_shape, weight, eps)
    if found is not None:
        return found
    dims = _last_dims("rms_norm", input, normalized_shape)
    _check("rms_norm", "weight", weight, normalized_shape)
    x = _wide(input).contiguous()
    small = finfo(x.dtype).eps if eps is None else eps
    x = x * (x.square().mean(dims, keepdim=True) + small).rsqrt()
    return _affine(x, weight, None, list(normalized_shape)).to(input.dtype)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`input` (N, C, ...) normalized for each sample over groups of channels.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.group_norm(pyburn.tensor([[1.0, 3.0]]), 1, eps=0.0)
        tensor([[-1.,  1.]])
    """
    found = input._group_norm(num_groups, weight, bias, eps)
    if found is not None:
        if weight is not None and bias is not None:
            return found
        return _stand_for(found, "NativeGroupNormBackward0", (input, weight, bias), (input, weight))
    need_real("group_norm", input)
    if input.dim() < 2 or num_groups <= 0 or input.shape[1] % num_groups:
        raise RuntimeError(
            f"group_norm: expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    batch, channels = input.shape[:2]
    if channels == 0 or 0 in input.shape[2:]:
        raise RuntimeError(f"group_norm: Expected number of channels and HxW to be greater than 0, got {input.shape}")
    for name, tensor in (("weight", weight), ("bias", bias)):
        _check("group_norm", name, tensor, [channels])
    wide = _wide(input)
    if _native(wide, weight, bias) and math.prod(input.shape[2:]) >= 8:
        x = wide.contiguous()
        sizes = [batch, num_groups, channels // num_groups, math.prod(input.shape[2:])]
        output = x._normalized("group", sizes, _as(x, weight), _as(x, bias), None, eps)[0].to(input.dtype)
        result = laid_as(output, input)
        return _stand_for(result, "NativeGroupNormBackward0", (input, weight, bias), (input, weight))
    per_group = input.numel() // max(batch * num_groups, 1)
    grouped = wide.reshape(batch, num_groups, per_group)
    x = _standard(grouped, [2], eps).reshape(input.shape)
    result = laid_as(_affine(x, weight, bias, [1, channels] + [1] * (input.dim() - 2)).to(input.dtype), input)
    return _stand_for(result, "NativeGroupNormBackward0", (input, weight, bias), (input, weight))


def _statistics(x: Tensor, dims: Sequence[int], eps: float) -> tuple[Tensor, Tensor]:
    """The mean over `dims` and one over the root of the variance, both with the reduced dimensions kept."""
    mean = x.mean(dims, keepdim=True)
    return mean, ((x - mean).square().mean(dims, keepdim=True) + eps).rsqrt()


def _kept(input: Tensor, *parameters: Tensor | None) -> _core.dtype:
    """The dtype of the statistics that are returned: the input's, or that of its wider parameters."""
    wider = [one.dtype for one in parameters if one is not None and one.dtype != input.dtype]
    return wider[0] if wider else input.dtype


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`layer_norm`, with the means and the reciprocal standard deviations that it used.

    Example:
        >>> import pyburn
        >>> pyburn.native_layer_norm(pyburn.tensor([1.0, 3.0]), (2,), None, None, 0.0)
        (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    result = layer_norm(input, normalized_shape, weight, bias, eps)
    dims = _last_dims("native_layer_norm", input, normalized_shape)
    kept = _kept(input, weight, bias)
    mean, inverse = _statistics(_wide(input.detach()), dims, eps)
    return result, mean.to(kept), inverse.to(kept)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`group_norm` of `N` samples of `C` channels, with the means and reciprocal deviations that it used.

    Example:
        >>> import pyburn
        >>> pyburn.native_group_norm(pyburn.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1:]
        (tensor([[2.]]), tensor([[1.]]))
    """
    result = group_norm(input, group, weight, bias, eps)
    mean, inverse = _statistics(_wide(input).reshape(N, group, C // group * HxW), [2], eps)
    kept = _kept(input, weight, bias)
    return result, mean.squeeze(2).to(kept), inverse.squeeze(2).to(kept)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`batch_norm`, with the batch's means and reciprocal deviations; in evaluation both are empty.

    Example:
        >>> import pyburn
        >>> pyburn.native_batch_norm(pyburn.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1:]
        (tensor([2.]), tensor([1.]))
    """
    result = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, input.detach().new_empty(0), input.detach().new_empty(0)
    mean, inverse = _statistics(_wide(input.detach()), [0, *range(2, input.dim())], eps)
    kept = _kept(input, weight, bias)
    return result, mean.reshape(-1).to(kept), inverse.reshape(-1).to(kept)
