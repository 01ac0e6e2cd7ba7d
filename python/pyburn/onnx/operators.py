"""torch.onnx.operators: shapes as tensors, which models meant for export use."""

from __future__ import annotations

from pyburn._core import Tensor, int64
from pyburn.ops import tensor

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor.

    Example:
        >>> import pyburn
        >>> shape_as_tensor(pyburn.zeros(2, 3))
        tensor([2, 3])
    """
    return tensor(list(x.shape), dtype=int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """A tensor in a shape that is given as a tensor.

    Example:
        >>> import pyburn
        >>> reshape_from_tensor_shape(pyburn.arange(4), pyburn.tensor([2, 2]))
        tensor([[0, 1],
                [2, 3]])
    """
    return x.reshape([int(size) for size in shape.tolist()])
