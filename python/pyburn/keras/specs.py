"""What a layer says of the inputs that it takes, and the errors that quote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyburn._core import ShapeError
from pyburn.keras.symbolic import flatten, shape_of

__all__ = ["InputSpec", "check_inputs"]


class InputSpec:
    """The rank, and the sizes of some axes, that a layer expects.

    Args:
        dtype: Accepted for Keras's sake.
        shape: The whole shape, None where any size will do.
        ndim: The number of dimensions.
        max_ndim: The largest number of dimensions.
        min_ndim: The smallest number of dimensions.
        axes: The sizes of single axes.
        allow_last_axis_squeeze: Whether a last axis of size 1 may be missing.
        name: The name of the input.
        optional: Whether it may be None.
        hint: What to do about a wrong input.

    Example:
        >>> InputSpec(ndim=4, axes={-1: 3})
        InputSpec(ndim=4, axes={-1: 3})
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Sequence[int | None] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
        hint: str | None = None,
    ) -> None:
        self.dtype, self.name, self.optional, self.hint = dtype, name, optional, hint
        self.shape = None if shape is None else tuple(shape)
        self.ndim = len(self.shape) if self.shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze

    def __repr__(self) -> str:
        names = ("shape", "ndim", "min_ndim", "max_ndim", "axes")
        return f"InputSpec({', '.join(f'{n}={getattr(self, n)}' for n in names if getattr(self, n))})"

    def complaint(self, shape: tuple[Any, ...]) -> tuple[str, str] | None:
        """The rule that `shape` breaks and what to do, or None."""
        rank = len(shape)
        if self.ndim is not None and rank != self.ndim and not (self.allow_last_axis_squeeze and rank == self.ndim - 1):
            more = "add the missing axes" if rank < self.ndim else "remove or flatten axes"
            return f"an input of {self.ndim} dimensions, batch first", f"{more}, e.g. with Reshape or x[None]"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"an input of at least {self.min_ndim} dimensions, batch first", "add the batch axis: x[None]"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"an input of at most {self.max_ndim} dimensions", "flatten or reshape the input"
        wanted = dict(enumerate(self.shape or ())) | self.axes
        for axis, size in wanted.items():
            if size is None or not -rank <= axis < rank or shape[axis] in (None, size):
                continue
            return f"size {size} in axis {axis}", "make a new layer for this input, or give it what it was built for"
        return None


def check_inputs(layer: Any, inputs: Any) -> None:
    """Nothing; raises ShapeError where the inputs break a rule of the layer."""
    spec = layer.input_spec
    if spec is None or inputs is None:
        return
    specs = flatten(spec)
    tensors = flatten(inputs)
    if len(specs) != len(tensors):
        raise ShapeError(
            f"{layer.name} ({type(layer).__name__}) takes {len(specs)} input(s), but got {len(tensors)}: "
            f"{[shape_of(each) for each in tensors]}; give a list of {len(specs)}"
        )
    for each, tensor in zip(specs, tensors, strict=True):
        shape = shape_of(tensor)
        if shape is None or (tensor is None and each.optional):
            continue
        found = each.complaint(shape)
        if found is not None:
            raise ShapeError(
                f"{layer.name} ({type(layer).__name__}) needs {found[0]}, but got an input of shape {shape}; "
                f"{each.hint or found[1]}."
            )
