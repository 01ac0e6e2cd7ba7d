"""torch.autograd.Variable: the name that tensors with a gradient had before all tensors could have one."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.autograd.engine import queue_callback

__all__ = ["Variable"]


class _VariableType(type):
    """The type of the name: calling it gives a plain Tensor, and every Tensor is an instance."""

    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """What programs call of torch's engine."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_VariableType):
    """A tensor over the same memory, outside any graph.

    Example:
        >>> import pyburn
        >>> x = pyburn.autograd.Variable(pyburn.ones(2), requires_grad=True)
        >>> x.requires_grad, isinstance(x, pyburn.autograd.Variable)
        (True, True)
    """

    _execution_engine = _Engine()
