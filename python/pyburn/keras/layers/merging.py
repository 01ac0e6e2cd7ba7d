"""Layers that make one tensor of several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.keras.layer import Layer

__all__ = [
    "Add",
    "Average",
    "Concatenate",
    "Dot",
    "Maximum",
    "Minimum",
    "Multiply",
    "Subtract",
    "add",
    "average",
    "concatenate",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "subtract",
]


def _listed(layer: Any, inputs: Any, least: int = 1) -> list[Any]:
    if not isinstance(inputs, (list, tuple)) or len(inputs) < least:
        got = f"{len(inputs)} of them" if isinstance(inputs, (list, tuple)) else "one tensor"
        raise ValueError(
            f"{layer.name} ({type(layer).__name__}) takes a list of at least {least} inputs, but got {got}"
        )
    return list(inputs)


class _Merge(Layer):
    """Inputs whose shapes broadcast, element by element."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, (list, tuple)) or (
            input_shape and not isinstance(input_shape[0], (list, tuple))
        ):
            raise ValueError(
                f"{self.name} ({type(self).__name__}) takes a list of inputs, but got one of {input_shape}"
            )
        sizes = [shape[1:] for shape in input_shape]
        rank = max(len(each) for each in sizes)
        for axis in range(1, rank + 1):
            found = {each[-axis] for each in sizes if len(each) >= axis and each[-axis] not in (1, None)}
            if len(found) > 1:
                raise ShapeError(
                    f"{self.name} ({type(self).__name__}) needs inputs whose shapes are equal or broadcast, but got "
                    f"{[tuple(each) for each in input_shape]}: axis {-axis} has sizes {sorted(found)}; "
                    "reshape the inputs, or use Concatenate"
                )

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        given = _listed(self, inputs)
        rank = max(each.dim() for each in given)
        # As in Keras, axes are added after the batch axis.
        even = [each.reshape(each.shape[0], *[1] * (rank - each.dim()), *each.shape[1:]) for each in given]
        return functools.reduce(self._merge, even)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        found = [each for each in previous_mask or [] if each is not None]
        return functools.reduce(ops.logical_or, found) if found else None


class Add(_Merge):
    """The sum of the inputs.

    Example:
        >>> import pyburn
        >>> Add()([pyburn.ones(1, 2), pyburn.ones(1, 2)])
        tensor([[2., 2.]])
    """

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return one + two


class Subtract(_Merge):
    """The first input minus the second."""

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return one - two

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError(f"{self.name} (Subtract) takes exactly 2 inputs")
        return super().call(inputs)


class Multiply(_Merge):
    """The product of the inputs."""

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return one * two


class Average(_Merge):
    """The mean of the inputs."""

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return one + two

    def call(self, inputs: Any) -> Any:
        return super().call(inputs) / len(inputs)


class Maximum(_Merge):
    """The largest of the inputs."""

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return ops.maximum(one, two)


class Minimum(_Merge):
    """The smallest of the inputs."""

    def _merge(self, one: Tensor, two: Tensor) -> Tensor:
        return ops.minimum(one, two)


class Concatenate(Layer):
    """The inputs one after the other along `axis`.

    Args:
        axis: The axis.
        **kwargs: See `Layer`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if (
            not isinstance(input_shape, (list, tuple))
            or not input_shape
            or not isinstance(input_shape[0], (list, tuple))
        ):
            raise ValueError(f"{self.name} (Concatenate) takes a list of inputs, but got one of shape {input_shape}")
        rank = len(input_shape[0])
        axis = self.axis % rank
        for shape in input_shape[1:]:
            pairs = enumerate(zip(input_shape[0], shape, strict=False))
            if len(shape) != rank or any(
                a != b and None not in (a, b) for place, (a, b) in pairs if place not in (0, axis)
            ):
                raise ShapeError(
                    f"{self.name} (Concatenate) needs inputs that differ along axis {self.axis} only, but got "
                    f"{[tuple(each) for each in input_shape]}; reshape or pad the inputs, or give another axis"
                )

    def call(self, inputs: Any) -> Any:
        given = _listed(self, inputs)
        try:
            return ops.cat(given, self.axis)
        except ShapeError:
            raise ShapeError(
                f"{self.name} (Concatenate) needs inputs that differ along axis {self.axis} only, but got "
                f"{[tuple(each.shape) for each in given]}; reshape or pad the inputs, or give another axis"
            ) from None

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        if previous_mask is None or all(each is None for each in previous_mask):
            return None
        masks = []
        for value, mask in zip(inputs, previous_mask, strict=True):
            full = ops.ones(value.shape[:-1], device=value.device).bool() if mask is None else mask
            masks.append(full.unsqueeze(-1) if full.dim() < value.dim() else full)
        even = [mask.broadcast_to(value.shape) for mask, value in zip(masks, inputs, strict=True)]
        return ops.cat(even, self.axis).all(-1)


class Dot(Layer):
    """The sums of products of two inputs along axes.

    Args:
        axes: The axis, or one for each input.
        normalize: Whether the inputs are brought to norm 1 first: the result is then the cosine.
        **kwargs: See `Layer`.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize
        self.supports_masking = True

    def _pair(self, ranks: tuple[int, int]) -> tuple[int, int]:
        given = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        return given[0] % ranks[0], given[1] % ranks[1]

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) != 2:
            raise ValueError(f"{self.name} (Dot) takes a list of 2 inputs, but got {input_shape}")
        one, two = input_shape
        a, b = self._pair((len(one), len(two)))
        if one[a] != two[b] and None not in (one[a], two[b]):
            raise ShapeError(
                f"{self.name} (Dot) needs the same size in axis {a} of the first input and axis {b} of the second, "
                "but got "
                f"{tuple(one)} and {tuple(two)}; give other axes"
            )

    def call(self, inputs: Any) -> Any:
        one, two = _listed(self, inputs, 2)
        a, b = self._pair((one.dim(), two.dim()))
        if self.normalize:
            one, two = _unit(one, a), _unit(two, b)
        left, right = one.movedim(a, -1), two.movedim(b, 1)
        rows = left.reshape(left.shape[0], -1, left.shape[-1])
        columns = right.reshape(right.shape[0], right.shape[1], -1)
        found = ops.bmm(rows, columns).reshape(*left.shape[:-1], *right.shape[2:])
        return found.unsqueeze(-1) if found.dim() == 1 else found

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return None


def _unit(x: Tensor, axis: int) -> Tensor:
    return x * ops.rsqrt(ops.clamp((x * x).sum(axis, keepdim=True), min=1e-12))


def _function(kind: type[Layer]) -> Callable[..., Any]:
    def merged(inputs: Any, **kwargs: Any) -> Any:
        return kind(**kwargs)(inputs)

    merged.__name__ = kind.__name__.lower()
    merged.__doc__ = f"What a `{kind.__name__}` layer gives for a list of inputs."
    return merged


add, subtract, multiply = _function(Add), _function(Subtract), _function(Multiply)
average, maximum, minimum = _function(Average), _function(Maximum), _function(Minimum)
concatenate = _function(Concatenate)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """What a `Dot` layer gives for a list of two inputs."""
    return Dot(axes, **kwargs)(inputs)
