"""Layers that move, repeat, cut and pad."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import ShapeError
from pyburn.keras import config as settings
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import _images as images
from pyburn.nn import functional

__all__ = [
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "Flatten",
    "Permute",
    "RepeatVector",
    "Reshape",
    "UpSampling1D",
    "UpSampling2D",
    "UpSampling3D",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "ZeroPadding3D",
]


class Flatten(Layer):
    """Each sample as one row of numbers.

    Args:
        data_format: Where the channels are; with "channels_first" they are moved to the end before.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Flatten()(pyburn.zeros(2, 3, 4)).shape
        pyburn.Size([2, 12])
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = settings.data_format_of(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        if self.data_format == "channels_first" and inputs.dim() > 1:
            inputs = inputs.movedim(1, -1)
        return inputs.reshape(inputs.shape[0], math.prod(inputs.shape[1:]))


class Reshape(Layer):
    """Each sample in another shape.

    Args:
        target_shape: The shape; -1 once, for what is left.
        **kwargs: See `Layer`.
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def build(self, input_shape: Any) -> None:
        sizes = input_shape[1:]
        if None in sizes:
            return
        have, want = math.prod(sizes), math.prod(each for each in self.target_shape if each != -1)
        if (have != want) if -1 not in self.target_shape else (not want or have % want):
            raise ShapeError(
                f"{self.name} (Reshape): a sample of shape {tuple(sizes)} has {have} numbers, which do not fill "
                f"target_shape={self.target_shape}; give a shape of {have} numbers"
            )

    def call(self, inputs: Any) -> Any:
        return inputs.reshape(inputs.shape[0], *self.target_shape)


class Permute(Layer):
    """The axes of each sample in another order.

    Args:
        dims: The order, counted from 1: (2, 1) swaps the first two.
        **kwargs: See `Layer`.
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Permute: dims is {self.dims}, but must be the numbers from 1 to {len(self.dims)} in any order"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        return inputs.permute(0, *self.dims)


class RepeatVector(Layer):
    """A row of numbers as a sequence of `n` equal steps.

    Args:
        n: How many.
        **kwargs: See `Layer`.
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"RepeatVector: n is {n!r}, but must be a whole number")
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return inputs.unsqueeze(1).expand(inputs.shape[0], self.n, inputs.shape[1])


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis."""
    given = (value,) * rank if isinstance(value, int) else tuple(value)
    made = tuple((each, each) if isinstance(each, int) else tuple(each) for each in given)
    if len(made) != rank or any(len(each) != 2 or min(each) < 0 for each in made):
        raise ValueError(f"{name} is {value!r}, but must be a number, {rank} numbers, or {rank} pairs (before, after)")
    return made


class _Edges(Layer):
    """What works at the edges of images: it cuts or pads them."""

    _rank = 2

    def _first(self) -> int:
        return 1 if self.data_format == "channels_last" else 2


class _Cropping(_Edges):
    def __init__(self, cropping: Any = 0, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = settings.data_format_of(data_format)
        self.cropping: Any = _pairs(cropping, self._rank, f"{type(self).__name__}: cropping")
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        pairs = [self.cropping] if self._rank == 1 else self.cropping
        for axis, (before, after) in enumerate(pairs, self._first()):
            left = inputs.shape[axis] - before - after
            if left <= 0:
                raise ShapeError(
                    f"{self.name} ({type(self).__name__}): cropping={self.cropping} leaves nothing of axis {axis} of "
                    "the "
                    f"input {tuple(inputs.shape)}; crop less"
                )
            inputs = inputs.narrow(axis, before, left)
        return inputs


class Cropping1D(_Cropping):
    """A sequence without its ends.

    Args:
        cropping: How many steps are cut, or (before, after).
        **kwargs: See `Layer`.
    """

    _rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__((cropping,) if isinstance(cropping, (tuple, list)) else cropping, "channels_last", **kwargs)
        self.cropping = self.cropping[0]


class Cropping2D(_Cropping):
    """An image without its edges.

    Args:
        cropping: A number, (height, width), or ((top, bottom), (left, right)).
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """A volume without its edges.

    Args:
        cropping: A number, three numbers, or three pairs.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    _rank = 3

    def __init__(self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class _ZeroPadding(_Edges):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = settings.data_format_of(data_format)
        self.padding: Any = _pairs(padding, self._rank, f"{type(self).__name__}: padding")
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        pairs = [self.padding] if self._rank == 1 else list(self.padding)
        flat = [each for pair in reversed(pairs) for each in pair]
        return functional.pad(inputs, [0, 0, *flat] if self.data_format == "channels_last" else flat)


class ZeroPadding1D(_ZeroPadding):
    """A sequence with zeros at its ends.

    Args:
        padding: How many steps are added, or (before, after).
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    _rank = 1

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__((padding,) if isinstance(padding, (tuple, list)) else padding, data_format, **kwargs)
        self.padding = self.padding[0]


class ZeroPadding2D(_ZeroPadding):
    """An image with zeros at its edges.

    Args:
        padding: A number, (height, width), or ((top, bottom), (left, right)).
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    """A volume with zeros at its edges.

    Args:
        padding: A number, three numbers, or three pairs.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    _rank = 3

    def __init__(self, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class UpSampling1D(Layer):
    """A sequence with each step repeated.

    Args:
        size: How often.
        **kwargs: See `Layer`.
    """

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = int(size)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        return ops.repeat_interleave(inputs, self.size, 1)


class UpSampling2D(Layer):
    """A larger image.

    Args:
        size: The factors of height and width.
        data_format: Where the channels are.
        interpolation: "nearest", "bilinear" or "bicubic".
        **kwargs: See `Layer`.
    """

    def __init__(
        self, size: Any = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if interpolation not in ("nearest", "bilinear", "bicubic"):
            raise ValueError(
                f"UpSampling2D: interpolation is {interpolation!r}, but must be nearest, bilinear or bicubic"
            )
        self.size = images.sizes(size, 2, "UpSampling2D: size")
        self.data_format, self.interpolation = settings.data_format_of(data_format), interpolation
        self.input_spec = InputSpec(ndim=4)

    def call(self, inputs: Any) -> Any:
        first = 1 if self.data_format == "channels_last" else 2
        if self.interpolation == "nearest":
            for axis, size in enumerate(self.size, first):
                inputs = ops.repeat_interleave(inputs, size, axis)
            return inputs
        x = images.channels_first(inputs, self.data_format)
        wanted = [length * size for length, size in zip(x.shape[2:], self.size, strict=True)]
        x = functional.interpolate(x, wanted, mode=self.interpolation, align_corners=False)
        return images.channels_back(x, self.data_format)


class UpSampling3D(Layer):
    """A volume with each element repeated.

    Args:
        size: The factors of the three axes.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size, self.data_format = images.sizes(size, 3, "UpSampling3D: size"), settings.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=5)

    def call(self, inputs: Any) -> Any:
        for axis, size in enumerate(self.size, 1 if self.data_format == "channels_last" else 2):
            inputs = ops.repeat_interleave(inputs, size, axis)
        return inputs
