"""torch.nn.grad: the gradients of convolutions with respect to their input and their weight, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import enable_grad, grad
from pyburn.nn.functional import conv1d, conv2d, conv3d
from pyburn.ops import zeros

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

_Sizes = int | Sequence[int]


def _gradient(conv: Callable[..., Tensor], leaf: str, given: dict[str, Any], upstream: Tensor, settings: Any) -> Tensor:
    """The gradient of the one of `input` and `weight` that is given by its size alone."""
    tensors = dict(given)
    # A convolution is linear in both: where it is differentiated does not matter.
    tensors[leaf] = zeros(list(given[leaf]), dtype=upstream.dtype, device=upstream.device).requires_grad_()
    with enable_grad():
        output = conv(tensors["input"], tensors["weight"], None, *settings)
    result: Tensor = grad(output, tensors[leaf], upstream, create_graph=upstream.requires_grad)[0]
    return result


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its input.

    Example:
        >>> import pyburn
        >>> conv1d_input((1, 1, 3), pyburn.ones(1, 1, 2), pyburn.ones(1, 1, 2))
        tensor([[[1., 2., 1.]]])
    """
    given = {"input": input_size, "weight": weight}
    return _gradient(conv1d, "input", given, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its weight.

    Example:
        >>> import pyburn
        >>> conv1d_weight(pyburn.arange(3.0).reshape(1, 1, 3), (1, 1, 2), pyburn.ones(1, 1, 2))
        tensor([[[1., 3.]]])
    """
    given = {"input": input, "weight": weight_size}
    return _gradient(conv1d, "weight", given, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input.

    Example:
        >>> import pyburn
        >>> conv2d_input((1, 1, 1, 2), pyburn.ones(1, 1, 1, 1), pyburn.ones(1, 1, 1, 2))
        tensor([[[[1., 1.]]]])
    """
    given = {"input": input_size, "weight": weight}
    return _gradient(conv2d, "input", given, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its weight.

    Example:
        >>> import pyburn
        >>> conv2d_weight(pyburn.ones(1, 1, 1, 2), (1, 1, 1, 1), pyburn.ones(1, 1, 1, 2))
        tensor([[[[2.]]]])
    """
    given = {"input": input, "weight": weight_size}
    return _gradient(conv2d, "weight", given, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its input.

    Example:
        >>> import pyburn
        >>> conv3d_input((1, 1, 1, 1, 2), pyburn.ones(1, 1, 1, 1, 1), pyburn.ones(1, 1, 1, 1, 2))
        tensor([[[[[1., 1.]]]]])
    """
    given = {"input": input_size, "weight": weight}
    return _gradient(conv3d, "input", given, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its weight.

    Example:
        >>> import pyburn
        >>> conv3d_weight(pyburn.ones(1, 1, 1, 1, 2), (1, 1, 1, 1, 1), pyburn.ones(1, 1, 1, 1, 2))
        tensor([[[[[2.]]]]])
    """
    given = {"input": input, "weight": weight_size}
    return _gradient(conv3d, "weight", given, grad_output, (stride, padding, dilation, groups))
