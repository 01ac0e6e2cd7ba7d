"""Which kernel is for which input: tensors, images of PIL, masks, boxes and points."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from pyburn._core import Tensor, dtype, int8, int16, int32, int64, uint8, uint16
from pyburn.vision._pil import is_pil, to_pil, to_tensor
from pyburn.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, KeyPoints, Mask, TVTensor, Video

__all__ = ["InterpolationMode", "applied", "interpolation_mode", "is_pure_tensor", "max_value"]

Kernel = Callable[[Tensor], Any]
# Boxes with their format, the size of their image and how they are clamped, to boxes and the new size.
BoxKernel = Callable[[Tensor, BoundingBoxFormat, tuple[int, int], str | None], tuple[Tensor, tuple[int, int]]]

# Points with the size of their image, to points and the new size.
PointKernel = Callable[[Tensor, tuple[int, int]], tuple[Tensor, tuple[int, int]]]


class InterpolationMode(Enum):
    """How pixels between pixels are made; the last three are for images of PIL only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers of the modes.
PIL_MODES = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}


def interpolation_mode(interpolation: str | int | InterpolationMode) -> InterpolationMode:
    """The mode of this name, or of Pillow's number.

    Raises:
        ValueError: There is none.
    """
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, str):
        known = {mode.value: mode for mode in InterpolationMode}
        if interpolation not in known:
            raise ValueError(
                f"Invalid interpolation mode: '{interpolation}'. Supported string values are: {list(known)}."
            )
        return known[interpolation]
    numbers = {number: mode for mode, number in reversed(PIL_MODES.items())}
    if not isinstance(interpolation, int) or interpolation not in numbers:
        raise ValueError(
            "Argument interpolation should be an `InterpolationMode` or a corresponding Pillow integer constant, "
            f"but got {interpolation}."
        )
    return numbers[interpolation]


def is_pure_tensor(value: object) -> bool:
    """Whether this is a tensor that does not say what it is.

    Example:
        >>> import pyburn
        >>> is_pure_tensor(pyburn.zeros(1))
        True
    """
    return isinstance(value, Tensor) and not isinstance(value, TVTensor)


_MAX = {uint8: 255, int8: 127, int16: 32767, uint16: 65535, int32: 2**31 - 1, int64: 2**63 - 1}


def max_value(kind: dtype) -> int:
    """What white is in this dtype: the largest number of integers, 1 of floats."""
    return _MAX.get(kind, 1)


def value_bits(kind: dtype) -> int:
    """How many bits white has in this dtype of integers."""
    if kind not in _MAX:
        raise TypeError(f"Number of value bits is only defined for integer dtypes, but got {kind}.")
    return _MAX[kind].bit_length()


def flat_images(image: Tensor) -> Tensor:
    """(..., C, H, W) as (N, C, H, W)."""
    return image.reshape(-1, *image.shape[-3:])


def _again(output: Any, like: TVTensor) -> Any:
    if isinstance(output, tuple):
        return tuple(_again(part, like) for part in output)
    return like._like(output)


def _as_image(kernel: Kernel, mask: Tensor) -> Tensor:
    """A mask (..., H, W) through a kernel for images."""
    return kernel(mask.unsqueeze(0)).squeeze(0) if mask.dim() < 3 else kernel(mask)  # type: ignore[no-any-return]


def applied(
    name: str,
    inpt: Any,
    image: Kernel,
    pil: Callable[[Any], Any] | None = None,
    mask: Kernel | None = None,
    boxes: BoxKernel | None = None,
    points: PointKernel | None = None,
) -> Any:
    """What the kernel for this input gives, of the input's kind.

    Args:
        name: The function's name, for errors.
        inpt: The input.
        image: For tensors (..., C, H, W).
        pil: For images of PIL; they pass through `image` as tensors when left out.
        mask: For masks as (N, H, W).
        boxes: For boxes.
        points: For key points.

    Raises:
        TypeError: There is no kernel for this input.
    """
    if is_pil(inpt):
        return to_pil(image(to_tensor(inpt)), inpt.mode) if pil is None else pil(inpt)
    if isinstance(inpt, BoundingBoxes) and boxes is not None:
        made, canvas = boxes(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, inpt.clamping_mode)
        return inpt._like(made, canvas_size=canvas)
    if isinstance(inpt, KeyPoints) and points is not None:
        moved, canvas = points(inpt.as_subclass(Tensor), inpt.canvas_size)
        return inpt._like(moved, canvas_size=canvas)
    if isinstance(inpt, Mask) and mask is not None:
        return inpt._like(_as_image(mask, inpt.as_subclass(Tensor)))
    if isinstance(inpt, Image | Video):
        return _again(image(inpt.as_subclass(Tensor)), inpt)
    if is_pure_tensor(inpt):
        return image(inpt)
    raise TypeError(f"{name}: an input of type {type(inpt).__name__} is not supported.")
