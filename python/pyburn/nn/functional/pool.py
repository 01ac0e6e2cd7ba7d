"""Pooling that is made of other pooling: power averages and the undoing of maximum pooling."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor, _stand_for
from pyburn._integers import is_integer
from pyburn.ops import nn as ops
from pyburn.ops._layout import laid_as
from pyburn.ops._methods import need_float, need_real

Size = int | Sequence[int]


def _tuple(value: Size, n: int) -> tuple[int, ...]:
    return (value,) * n if is_integer(value) else tuple(value)


def _power_average(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None, ceil_mode: bool, n: int
) -> Tensor:
    """`(sum of x ** p) ** (1 / p)` over each window, with torch's treatment of sign and zero."""
    kernel = _tuple(kernel_size, n)
    steps = None if stride is None else _tuple(stride, n)
    pool = (ops.avg_pool1d, ops.avg_pool2d, ops.avg_pool3d)[n - 1]
    mean = pool(input.pow(norm_type), kernel, steps, 0, ceil_mode)
    count = 1
    for size in kernel:
        count *= size
    return (mean.sign() * mean.abs() * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of the last dimension.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.lp_pool1d(pyburn.tensor([[[3.0, 4.0]]]), 2, 2)
        tensor([[[5.]]])
    """
    return _power_average(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.lp_pool2d(pyburn.ones(1, 1, 2, 2), 2, 2)
        tensor([[[[2.]]]])
    """
    return _power_average(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of the last three dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.lp_pool3d(pyburn.ones(1, 1, 2, 2, 2), 1, 2)
        tensor([[[[[8.]]]]])
    """
    return _power_average(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    output_size: Sequence[int] | None,
    n: int,
) -> Tensor:
    """Zeros with each value of `input` at the place that maximum pooling took it from."""
    need_real("unpool", input)
    kernel, pad = _tuple(kernel_size, n), _tuple(padding, n)
    step = kernel if stride is None else _tuple(stride, n)
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(f"max_unpool{n}d: input should have {n + 1} or {n + 2} dimensions, got {list(input.shape)}")
    if any(s <= 0 for s in step):
        raise RuntimeError(f"max_unpool{n}d: strides should be greater than zero, got {list(step)}")
    if input.shape != indices.shape:
        raise RuntimeError(
            f"max_unpool{n}d: indices have shape {list(indices.shape)} but input {list(input.shape)}; "
            "give the indices that the pooling of this input returned."
        )
    spatial = [(size - 1) * s - 2 * p + k for size, s, p, k in zip(input.shape[-n:], step, pad, kernel, strict=True)]
    if output_size is not None:
        spatial = list(output_size)[-n:]
    leading = list(input.shape[:-n])
    places = 1
    for size in spatial:
        places *= size
    need_float("max_unpool", input)
    flat = input.new_zeros([*leading, places])
    filled = flat.scatter(-1, indices.reshape(*leading, -1), input.reshape(*leading, -1))
    result = laid_as(filled.reshape([*leading, *spatial]), input)
    return _stand_for(result, f"MaxUnpool{max(n, 2)}DBackward0", (input,), (indices,))


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What `max_pool1d` was given, as far as its result and `indices` tell, zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.max_unpool1d(pyburn.ones(1, 1, 1), pyburn.tensor([[[1]]]), 2)
        tensor([[[0., 1.]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What `max_pool2d` was given, as far as its result and `indices` tell, zeros elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.max_unpool2d(pyburn.ones(1, 1, 1, 1), pyburn.tensor([[[[3]]]]), 2)
        tensor([[[[0., 0.],
                  [0., 1.]]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What `max_pool3d` was given, as far as its result and `indices` tell, zeros elsewhere.

    Example:
        >>> import pyburn
        >>> x = pyburn.nn.functional.max_unpool3d(pyburn.ones(1, 1, 1, 1, 1), pyburn.zeros(1, 1, 1, 1, 1).long(), 2)
        >>> x.sum()
        tensor(1.)
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 3)
