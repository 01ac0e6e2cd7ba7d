"""Tensors that a Module owns: parameters, which are trained, and buffers, which are only stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, _disabled_torch_function_impl
from pyburn.ops import empty

_ParameterMeta = type(Tensor)


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

    # Results of computing with a parameter are plain tensors.
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

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
        """What pickle needs to make the parameter again from its plain values; see `_copying` on its class."""
        return _rebuild, (
            None if type(self) is Parameter else type(self),
            Tensor.__new__(Tensor, self.detach()),
            self.requires_grad,
        )


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
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

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
        return _rebuild_buffer, (
            None if type(self) is Buffer else type(self),
            Tensor.__new__(Tensor, self.detach()),
            self.persistent,
        )


class _Uninitialized:
    """What parameters and buffers share whose shape is not known before the first call."""

    _kind: type[Tensor] = Tensor

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Nothing; this tensor has `shape` from now on, with arbitrary values, and is an ordinary one.

        Args:
            shape: The shape.
            device: Where it is; where it was when left out.
            dtype: Its dtype; as it was when left out.
        """
        held: Any = self
        data = Tensor.detach(held)
        held.data = empty(tuple(shape), device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self._kind  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        """Nothing yet: raises."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        """The name between angle brackets; there are no values to show."""
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs to make it again."""
        held: Any = self
        return _rebuild_uninitialized, (type(self), held.requires_grad, held.device, held.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Another one without a shape, made once per `memo`."""
        held: Any = self
        if id(self) not in memo:
            memo[id(self)] = _rebuild_uninitialized(type(held), held.requires_grad, held.device, held.dtype)
        return memo[id(self)]


# Under the name by which other libraries ask for it.
UninitializedTensorMixin = _Uninitialized


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]
    """A parameter of a lazy layer, whose shape the first input decides.

    Args:
        requires_grad: Whether it is trained.
        device: Where it will be.
        dtype: Its dtype.

    Example:
        >>> import pyburn
        >>> weight = pyburn.nn.UninitializedParameter()
        >>> weight.materialize((2, 3)); tuple(weight.shape)
        (2, 3)
    """

    _kind = Parameter
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        """A parameter without a shape."""
        made = Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)
        assert isinstance(made, UninitializedParameter)
        return made


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer of a lazy layer, whose shape the first input decides.

    Args:
        requires_grad: Accepted for torch's sake; a buffer is not trained.
        device: Where it will be.
        dtype: Its dtype.
        persistent: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> pyburn.nn.UninitializedBuffer()
        <UninitializedBuffer>
    """

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    persistent: bool
    _kind = Buffer
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        """A buffer without a shape."""
        made: UninitializedBuffer = Tensor.__new__(cls, empty(0, device=device, dtype=dtype))
        made.persistent = persistent
        return made


def is_lazy(param: Any) -> bool:
    """Whether `param` is a parameter or buffer without a shape."""
    return isinstance(param, _Uninitialized)


def _rebuild_uninitialized(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    return cls(requires_grad, device, dtype)


def _rebuild(cls: type[Parameter] | None, data: Tensor, requires_grad: bool) -> Parameter:
    return (cls or Parameter)(data, requires_grad)


def _rebuild_buffer(cls: type[Buffer] | None, data: Tensor, persistent: bool) -> Buffer:
    return (cls or Buffer)(data, persistent=persistent)
