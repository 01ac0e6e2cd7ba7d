"""Tensors without values: what `Input` gives, and what layers make of it before there is data."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras._naming import unique_name

__all__ = ["KerasTensor", "Node", "is_keras_tensor"]


class KerasTensor:
    """A shape, a dtype, and the layer's call that it comes from; sizes that are not known yet are None.

    Example:
        >>> from pyburn.keras import Input
        >>> Input((4,)).shape
        (None, 4)
    """

    def __init__(self, shape: Sequence[int | None], dtype: Any = "float32", name: str | None = None) -> None:
        self.shape = tuple(shape)
        self.dtype = settings.dtype_name(dtype)
        self.name = name or unique_name("keras_tensor")
        self.node: Node | None = None
        self.index = 0
        self.mask: KerasTensor | None = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, name={self.name}>"

    def __call_module__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from pyburn.keras.layer import Layer
        from pyburn.keras.layers.core import as_layer

        return NotImplemented if isinstance(module, Layer) else as_layer(module)(*args, **kwargs)

    def __bool__(self) -> bool:
        raise TypeError(
            "a KerasTensor has no value yet: Python cannot branch on it; put the branch into a Layer's call"
        )

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a KerasTensor cannot be iterated; index it, or use keras.ops.unstack inside a Layer")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("a KerasTensor has no value yet: give functions of keras.ops or layers, not numpy's functions")

    def __add__(self, other: Any) -> Any:
        return _operation("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operation("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operation("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operation("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operation("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operation("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operation("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operation("true_divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return _operation("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _operation("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _operation("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operation("matmul", other, self)

    def __neg__(self) -> Any:
        return _operation("negative", self)

    def __floordiv__(self, other: Any) -> Any:
        return _operation("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operation("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return _operation("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _operation("mod", other, self)

    def __and__(self, other: Any) -> Any:
        return _operation("logical_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _operation("logical_and", other, self)

    def __or__(self, other: Any) -> Any:
        return _operation("logical_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _operation("logical_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return _operation("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _operation("logical_xor", other, self)

    def __gt__(self, other: Any) -> Any:
        return _operation("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _operation("greater_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return _operation("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _operation("less_equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return _operation("not_equal", self, other)

    def __abs__(self) -> Any:
        return _operation("absolute", self)

    def __invert__(self) -> Any:
        return _operation("logical_not", self)

    def reshape(self, newshape: Any) -> Any:
        """The same numbers in another shape."""
        return _operation("reshape", self, newshape)

    def squeeze(self, axis: Any = None) -> Any:
        """The tensor without axes of size 1."""
        return _operation("squeeze", self, axis)

    def __getitem__(self, key: Any) -> Any:
        return _operation("getitem", self, key)


def _operation(name: str, *args: Any) -> Any:
    """What a function of `keras.ops` gives, which depends on this file."""
    return getattr(importlib.import_module("pyburn.keras.ops"), name)(*args)


class Node:
    """One call of one layer on symbolic tensors."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> None:
        self.layer, self.args, self.kwargs, self.outputs = layer, args, kwargs, outputs
        self.inputs: list[KerasTensor] = [
            each for each in flatten((args, kwargs)) if isinstance(each, KerasTensor) and each.node is not self
        ]
        self.number = len(layer._nodes)
        layer._nodes.append(self)
        for index, tensor in enumerate(flatten(outputs)):
            tensor.node, tensor.index = self, index


def is_keras_tensor(x: Any) -> bool:
    """Whether `x` is a symbolic tensor."""
    return isinstance(x, KerasTensor)


def flatten(tree: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dictionaries; dictionaries in the order of their keys."""
    if isinstance(tree, (list, tuple)):
        return [leaf for each in tree for leaf in flatten(each)]
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree, key=str) for leaf in flatten(tree[key])]
    return [tree]


def map_structure(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same nest with `function` of each leaf."""
    if isinstance(tree, list):
        return [map_structure(function, each) for each in tree]
    if isinstance(tree, tuple):
        made = [map_structure(function, each) for each in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
    if isinstance(tree, dict):
        return {key: map_structure(function, value) for key, value in tree.items()}
    return function(tree)


def any_symbolic(*trees: Any) -> bool:
    """Whether a leaf is a symbolic tensor."""
    return any(isinstance(leaf, KerasTensor) for leaf in flatten(trees))


def shape_of(value: Any) -> Any:
    """The shape of a tensor, real or symbolic, or the shapes of a nest of them; None for what has none."""
    if isinstance(value, KerasTensor):
        return value.shape
    if isinstance(value, Tensor) or hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return [shape_of(each) for each in value]
    if isinstance(value, dict):
        return {key: shape_of(each) for key, each in value.items()}
    return None


def is_shape(value: Any) -> bool:
    """Whether `value` is one shape rather than a nest of them."""
    return isinstance(value, (tuple, list)) and all(each is None or isinstance(each, int) for each in value)
