"""All parameters of a model as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from pyburn._core import Tensor
from pyburn.ops import cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The values of all parameters one after another.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.parameters_to_vector([pyburn.ones(1, 2), pyburn.zeros(1)])
        tensor([1., 1., 0.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Nothing; the parameters are views of the parts of `vec` in turn.

    Example:
        >>> import pyburn
        >>> w = pyburn.zeros(2)
        >>> pyburn.nn.utils.vector_to_parameters(pyburn.tensor([1.0, 2.0]), [w]); w
        tensor([1., 2.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start : start + count].reshape(parameter.shape).data
        start += count
