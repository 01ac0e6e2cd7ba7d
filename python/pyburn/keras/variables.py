"""Weights with Keras's small vocabulary on top of `nn.Parameter`."""

from __future__ import annotations

from typing import Any

from pyburn import nn, ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad

__all__ = ["Variable"]


class Variable(nn.Parameter):
    """A trainable weight: an `nn.Parameter` that also knows `assign` and gives its values as an array without `detach`.

    Example:
        >>> import pyburn
        >>> weight = Variable(pyburn.zeros(2))
        >>> weight.assign([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
    """

    @property
    def value(self) -> Tensor:
        """The weight itself."""
        return self

    @property
    def trainable(self) -> bool:
        """Whether training changes it."""
        return self.requires_grad

    def assign(self, value: Any) -> Variable:
        """This weight with other values in the same shape."""
        assign(self, value)
        return self

    def assign_add(self, value: Any) -> Variable:
        """This weight, larger by `value`."""
        return self.assign(self.detach() + value)

    def assign_sub(self, value: Any) -> Variable:
        """This weight, smaller by `value`."""
        return self.assign(self.detach() - value)

    def numpy(self, *, force: bool = False) -> Any:
        """A copy of the values as a numpy array."""
        return self.detach().cpu().clone().numpy()


def assign(weight: Tensor, value: Any) -> None:
    """Nothing; the weight has the values, whose shape must be its own."""
    given = value.detach() if isinstance(value, Tensor) else ops.as_tensor(value, device="cpu")
    if tuple(given.shape) != tuple(weight.shape):
        raise ValueError(
            f"assign: the weight has shape {tuple(weight.shape)}, but the values have {tuple(given.shape)}; "
            "reshape them, or give the weights in the order of model.weights"
        )
    with no_grad():
        weight.copy_(given.to(weight.device, weight.dtype))
