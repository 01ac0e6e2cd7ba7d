"""Weights with Keras's small vocabulary on top of `nn.Parameter`."""

from __future__ import annotations

from typing import Any, Self

from pyburn import nn, ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad

__all__ = ["State", "Variable"]


class _Assigned(Tensor):
    """What weights know beyond tensors: their place in the model, `assign`, and their values without `detach`."""

    _path: str | None

    @property
    def path(self) -> str:
        """Where it is: the names of the layers around it and its own, as in "dense/kernel"."""
        return getattr(self, "_path", None) or "variable"

    @property
    def name(self) -> str:  # type: ignore[override]
        """Its own name, as in "kernel"."""
        return self.path.rpartition("/")[2]

    @property
    def value(self) -> Tensor:
        """The weight itself."""
        return self

    @property
    def trainable(self) -> bool:
        """Whether training changes it."""
        return self.requires_grad

    def assign(self, value: Any) -> Self:
        """This weight with other values in the same shape."""
        assign(self, value)
        return self

    def assign_add(self, value: Any) -> Self:
        """This weight, larger by `value`."""
        return self.assign(self.detach() + value)

    def assign_sub(self, value: Any) -> Self:
        """This weight, smaller by `value`."""
        return self.assign(self.detach() - value)

    def numpy(self, *, force: bool = False) -> Any:
        """A copy of the values as a numpy array."""
        return self.detach().cpu().clone().numpy()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs to make the weight again under its name."""
        make, arguments = super().__reduce_ex__(protocol)[:2]
        return _rebuild, (make, arguments, getattr(self, "_path", None))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A weight with its own copy of the values, of the same name."""
        copied: Any = super().__deepcopy__(memo)
        copied._path = getattr(self, "_path", None)
        kept: Self = copied
        return kept


class Variable(_Assigned, nn.Parameter):
    """A trainable weight: an `nn.Parameter` that also knows `assign` and gives its values as an array without `detach`.

    Args:
        initializer: The values; or a name or function that makes them, with `shape`.
        shape: Their shape, where they are to be made.
        dtype: Their dtype.
        trainable: Whether training changes it.
        autocast: Accepted for Keras's sake.
        aggregation: Accepted for Keras's sake.
        name: Its name.
        requires_grad: The same as `trainable`, as `nn.Parameter` calls it.

    Example:
        >>> import pyburn
        >>> weight = Variable(pyburn.zeros(2), name="scale")
        >>> weight.assign([1.0, 2.0]).numpy(), weight.name
        (array([1., 2.], dtype=float32), 'scale')
    """

    def __new__(
        cls,
        initializer: Any = None,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = None,
        name: str | None = None,
        *,
        requires_grad: bool | None = None,
    ) -> Variable:
        """A leaf with these values."""
        if isinstance(shape, bool):
            # How a parameter is copied and read from a pickle: `Parameter(data, requires_grad)`.
            shape, requires_grad = None, shape
        data = _first_values(initializer, shape, dtype)
        wanted = trainable if requires_grad is None else requires_grad
        made: Any = super().__new__(cls, data, wanted and data.is_floating_point())
        made._path = name
        kept: Variable = made
        return kept


class State(_Assigned, nn.Buffer):
    """A weight that training leaves alone, such as a running mean."""


def _rebuild(make: Any, arguments: tuple[Any, ...], path: str | None) -> Any:
    made = make(*arguments)
    made._path = path
    return made


def _first_values(initializer: Any, shape: Any, dtype: Any) -> Tensor:
    from pyburn.keras import config, initializers

    if shape is not None and (callable(initializer) or isinstance(initializer, (str, dict)) or initializer is None):
        initializer = initializers.get(initializer or "zeros")(tuple(shape), dtype=dtype)
    if callable(initializer) and not isinstance(initializer, Tensor):
        initializer = initializer()
    made = initializer if isinstance(initializer, Tensor) else ops.as_tensor([] if initializer is None else initializer)
    if shape is not None and tuple(made.shape) != tuple(shape):
        raise ValueError(f"Variable: the values have shape {tuple(made.shape)}, but shape={tuple(shape)} was given")
    return made if dtype is None else made.to(config.as_dtype(dtype))


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
