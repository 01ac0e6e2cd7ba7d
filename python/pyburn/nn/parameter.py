"""Tensors that a Module owns: parameters, which are trained, and buffers, which are only stored."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.ops import empty


class Parameter(Tensor):
    """A tensor that a `Module` registers, trains and saves when it is set as an attribute.

    Args:
        data: The values; their storage is shared, not copied. An empty tensor when left out.
        requires_grad: Whether `backward()` fills `.grad`.

    Example:
        >>> import pyburn
        >>> weight = pyburn.nn.Parameter(pyburn.zeros(2))
        >>> weight.requires_grad, weight.is_leaf
        (True, True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """A leaf over `data`'s storage."""
        parameter: Parameter = Tensor.__new__(cls, empty(0) if data is None else data.detach())
        parameter.requires_grad_(requires_grad)
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with its own copy of the values, made once per `memo`."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        copied: Parameter = memo[id(self)]
        return copied

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        """The tensor's own text under the line `Parameter containing:`."""
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs to make the parameter again from its plain values."""
        return _rebuild, (type(self), Tensor.__new__(Tensor, self.detach()), self.requires_grad)


class Buffer(Tensor):
    """A tensor that a `Module` registers as a buffer when it is set as an attribute.

    Args:
        data: The values; their storage is shared, not copied. An empty tensor when left out.
        persistent: Whether the buffer becomes part of the module's `state_dict`.

    Example:
        >>> import pyburn
        >>> module = pyburn.nn.Module()
        >>> module.steps = pyburn.nn.Buffer(pyburn.zeros(()))
        >>> list(module.state_dict())
        ['steps']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """An alias of `data` that remembers whether it is saved."""
        buffer: Buffer = Tensor.__new__(cls, empty(0) if data is None else data.detach())
        buffer.requires_grad_(data is not None and data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        """A buffer with its own copy of the values, made once per `memo`."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
        copied: Buffer = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs to make the buffer again from its plain values."""
        return _rebuild_buffer, (type(self), Tensor.__new__(Tensor, self.detach()), self.persistent)


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


def _rebuild_buffer(cls: type[Buffer], data: Tensor, persistent: bool) -> Buffer:
    return cls(data, persistent=persistent)
