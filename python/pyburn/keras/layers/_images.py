"""What layers over images and sequences share: sizes, channels, padding."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.nn import functional


def sizes(value: Any, rank: int, name: str, zero: bool = False) -> tuple[int, ...]:
    """One whole number for each axis; a single one holds for all."""
    made = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(made) != rank or not all(isinstance(each, int) and (each > 0 or (zero and each == 0)) for each in made):
        least = "whole numbers" if zero else "positive whole numbers"
        raise ValueError(f"{name} is {value!r}, but must be {rank} {least}, or one for all axes")
    return made


def padding_of(value: str, allowed: tuple[str, ...] = ("valid", "same"), name: str = "layer") -> str:
    """A kind of padding that was checked."""
    if not isinstance(value, str) or value.lower() not in allowed:
        raise ValueError(f"{name}: padding is {value!r}, but must be one of {', '.join(allowed)}")
    return value.lower()


def channels_first(x: Tensor, data_format: str) -> Tensor:
    """The channels as the second axis, as the engine wants them."""
    return x if data_format == "channels_first" else x.movedim(-1, 1)


def channels_back(x: Tensor, data_format: str) -> Tensor:
    """The channels where `data_format` says."""
    return x if data_format == "channels_first" else x.movedim(1, -1)


def same_padding(length: int, size: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """How much is added before and after, so that the result has `ceil(length / stride)` steps: more goes after."""
    reach = (size - 1) * dilation + 1
    total = max(0, (-(-length // stride) - 1) * stride + reach - length)
    return total // 2, total - total // 2


def pad_axes(x: Tensor, pads: list[tuple[int, int]], value: float = 0.0) -> Tensor:
    """`x` (channels first) with its spatial axes padded."""
    if not any(before or after for before, after in pads):
        return x
    return functional.pad(x, [each for pair in reversed(pads) for each in pair], value=value)


def same_padded(
    x: Tensor, size: tuple[int, ...], strides: tuple[int, ...], dilation: tuple[int, ...], value: float = 0.0
) -> Tensor:
    """`x` (channels first) padded for Keras's "same"."""
    lengths = tuple(x.shape[2:])
    pads = [same_padding(n, k, s, d) for n, k, s, d in zip(lengths, size, strides, dilation, strict=True)]
    return pad_axes(x, pads, value)


def check_fits(layer: Any, x: Tensor, size: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    """Nothing; raises ShapeError where the window is larger than the image."""
    for axis, (length, each, gap) in enumerate(zip(x.shape[2:], size, dilation, strict=True)):
        reach = (each - 1) * gap + 1
        if length < reach:
            raise ShapeError(
                f"{layer.name} ({type(layer).__name__}): the window covers {reach} steps, but axis {axis} of the "
                "input has "
                f"only {length} (input without batch and channels: {tuple(x.shape[2:])}); give a smaller window, "
                "padding='same', or larger inputs"
            )


def crop_or_pad(x: Tensor, axis: int, before: int, length: int) -> Tensor:
    """`length` steps of an axis from `before` on, with zeros where there are none."""
    there = x.shape[axis]
    x = x.narrow(axis, before, min(length, there - before))
    missing = length - x.shape[axis]
    if missing <= 0:
        return x
    shape = list(x.shape)
    shape[axis] = missing
    return ops.cat([x, ops.zeros(shape, dtype=x.dtype, device=x.device)], axis)


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "conv": (functional.conv1d, functional.conv2d, functional.conv3d),
    "transpose": (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d),
    "max": (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d),
    "average": (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d),
    "adaptive_max": (functional.adaptive_max_pool1d, functional.adaptive_max_pool2d, functional.adaptive_max_pool3d),
    "adaptive_average": (
        functional.adaptive_avg_pool1d,
        functional.adaptive_avg_pool2d,
        functional.adaptive_avg_pool3d,
    ),
}
