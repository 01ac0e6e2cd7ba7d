"""A batch norm in evaluation as part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pyburn._core import Tensor
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import ones_like, zeros_like

M = TypeVar("M", bound=Module)


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A copy of the convolution that does what it and the batch norm after it do in evaluation.

    Args:
        conv: A convolution in evaluation mode.
        bn: A batch norm in evaluation mode with running statistics.
        transpose: Whether it is a transposed convolution.

    Example:
        >>> from pyburn import nn
        >>> model = nn.Sequential(nn.Conv2d(1, 2, 1, bias=False), nn.BatchNorm2d(2)).eval()
        >>> nn.utils.fuse_conv_bn_eval(*model).bias is None
        False
    """
    _check(conv, bn)
    fused: Any = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    result: M = fused
    return result


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that includes the batch norm after it.

    Args:
        conv_w: The convolution's weight.
        conv_b: Its bias.
        bn_rm: The running mean.
        bn_rv: The running variance.
        bn_eps: What is added to the variance.
        bn_w: The norm's factor.
        bn_b: Its summand.
        transpose: Whether it is a transposed convolution.
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A copy of the Linear that does what it and the batch norm after it do in evaluation.

    Example:
        >>> from pyburn import nn
        >>> nn.utils.fuse_linear_bn_eval(*nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval())
        Linear(in_features=2, out_features=3, bias=True)
    """
    _check(linear, bn)
    fused: Any = copy.deepcopy(linear)
    if fused.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    result: M = fused
    return result


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a Linear that includes the batch norm after it; arguments as for convolutions."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check(layer: Module, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var cannot be None")


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    factor: Tensor | None,
    summand: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    before = zeros_like(mean) if bias is None else bias
    scale = (ones_like(mean) if factor is None else factor) * (variance + eps).rsqrt()
    moved = (before - mean) * scale + (zeros_like(mean) if summand is None else summand)
    trained = weight.requires_grad
    fused = (weight * scale.reshape(shape)).to(weight.dtype)
    return Parameter(fused, trained), Parameter(moved.to(before.dtype), trained if bias is None else bias.requires_grad)
