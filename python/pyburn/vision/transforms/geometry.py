"""Transforms of where pixels are; masks and boxes follow. The arguments are those of `functional`, or their ranges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.ops import rand, randint, tensor
from pyburn.vision.ops.boxes import box_iou
from pyburn.vision.transforms import draws
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.base import (
    Fills,
    RandomApplyTransform,
    Transform,
    angles,
    check_sequence,
    fill_for,
    fills,
    is_image,
    query_size,
    two_numbers,
    uniform,
)
from pyburn.vision.transforms.functional.boxes import to_corners
from pyburn.vision.transforms.functional.geometry import border, pair
from pyburn.vision.transforms.functional.kinds import InterpolationMode
from pyburn.vision.transforms.functional.warp import perspective_coefficients
from pyburn.vision.tv_tensors import BoundingBoxes, Mask

__all__ = [
    "CenterCrop",
    "ElasticTransform",
    "FiveCrop",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomIoUCrop",
    "RandomPerspective",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ScaleJitter",
    "TenCrop",
]

Mode = str | int | InterpolationMode
Params = dict[str, Any]
_MODES = ("constant", "edge", "reflect", "symmetric")


class RandomHorizontalFlip(RandomApplyTransform):
    """Left and right exchanged, with a probability.

    Args:
        p: The probability.

    Example:
        >>> import pyburn
        >>> RandomHorizontalFlip(p=1)(pyburn.arange(3).reshape(1, 1, 3)).tolist()
        [[[2, 1, 0]]]
    """

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, flipped."""
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Top and bottom exchanged, with a probability.

    Args:
        p: The probability.
    """

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, flipped."""
        return self._call_kernel(F.vertical_flip, inpt)


class _Resizing(Transform):
    interpolation: Mode
    antialias: bool | None

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input in the new size."""
        return self._call_kernel(
            F.resize, inpt, params["size"], interpolation=self.interpolation, antialias=self.antialias
        )


class Resize(Transform):
    """The input in another size; see `functional.resize` for the arguments.

    Example:
        >>> import pyburn
        >>> Resize((4, 6))(pyburn.zeros(3, 8, 8)).shape
        pyburn.Size([3, 4, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Mode = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None and not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        if size is not None and not isinstance(size, int) and (not isinstance(size, Sequence) or len(size) > 2):
            raise ValueError(
                f"size can be an integer, a sequence of one or two integers, or None, but got {size} instead."
            )
        self.size = [size] if isinstance(size, int) else None if size is None else list(size)
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input in the new size."""
        return self._call_kernel(F.resize, inpt, self.size, self.interpolation, self.max_size, self.antialias)


class ScaleJitter(_Resizing):
    """A random size around the one that fits into `target_size`: Ghiasi and others, 2020.

    Args:
        target_size: The size for a scale of 1.
        scale_range: The least and the greatest scale.
        interpolation: How new pixels are made of old ones.
        antialias: Whether all pixels count when an image becomes smaller.
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Mode = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size, self.scale_range = target_size, scale_range
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The size."""
        height, width = query_size(flat_inputs)
        scale = self.scale_range[0] + rand(1) * (self.scale_range[1] - self.scale_range[0])
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * ratio), int(width * ratio))}


class RandomShortestSize(_Resizing):
    """A random length of the shorter side.

    Args:
        min_size: The length, or those to choose from.
        max_size: The most that the longer side may have.
        interpolation: How new pixels are made of old ones.
        antialias: Whether all pixels count when an image becomes smaller.
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: Mode = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size, self.interpolation, self.antialias = max_size, interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The size."""
        height, width = query_size(flat_inputs)
        ratio = self.min_size[int(randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


class RandomResize(_Resizing):
    """A length of the shorter side between two.

    Args:
        min_size: The least.
        max_size: Behind the greatest.
        interpolation: How new pixels are made of old ones.
        antialias: Whether all pixels count when an image becomes smaller.
    """

    def __init__(
        self, min_size: int, max_size: int, interpolation: Mode = "bilinear", antialias: bool | None = True
    ) -> None:
        super().__init__()
        self.min_size, self.max_size = min_size, max_size
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The size."""
        return {"size": [int(randint(self.min_size, self.max_size, ()))]}


class CenterCrop(Transform):
    """The middle of the input, with 0 around it where it is smaller.

    Args:
        size: The height and width, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The middle."""
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


class RandomResizedCrop(Transform):
    """A part of random place, area and form, in a fixed size: Szegedy and others, 2014.

    Args:
        size: The height and width of the result, or one number for both.
        scale: The least and the greatest share of the area.
        ratio: The least and the greatest ratio of width to height.
        interpolation: How new pixels are made of old ones.
        antialias: Whether all pixels count when the part becomes smaller.
    """

    get_params = staticmethod(draws.resized_crop_params)

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Mode = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair(size)
        for name, value in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(value, Sequence) or len(value) != 2:
                raise TypeError(f"{name} should be a sequence of two floats.")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        self.scale, self.ratio = scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The part."""
        part = draws.part_of(*query_size(flat_inputs), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), part, strict=True))

    def transform(self, inpt: Any, params: Params) -> Any:
        """The part in the new size."""
        return self._call_kernel(
            F.resized_crop,
            inpt,
            **params,
            size=self.size,
            interpolation=self.interpolation,
            antialias=self.antialias,
        )


class FiveCrop(Transform):
    """The four corners and the middle, as a tuple; see `functional.five_crop`.

    Args:
        size: The height and width of each part, or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Nothing; raises for masks and boxes."""
        if any(isinstance(value, BoundingBoxes | Mask) for value in flat_inputs):
            raise TypeError(f"BoundingBoxes'es and Mask's are not supported by {type(self).__name__}()")

    def transform(self, inpt: Any, params: Params) -> Any:
        """The parts."""
        return self._call_kernel(F.five_crop, inpt, self.size)


class TenCrop(FiveCrop):
    """The four corners and the middle, and those of the flipped image, as a tuple.

    Args:
        size: The height and width of each part, or one number for both.
        vertical_flip: Whether top and bottom are exchanged instead of left and right.
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: Params) -> Any:
        """The parts."""
        return self._call_kernel(F.ten_crop, inpt, self.size, vertical_flip=self.vertical_flip)


class _Filling(Transform):
    def _set_fill(self, fill: Fills) -> None:
        self.fill = fill
        self._fill = fills(fill)


def _check_padding(padding: Any, mode: str) -> None:
    numbers = [padding] if isinstance(padding, int) else padding
    if (
        not isinstance(numbers, tuple | list)
        or len(numbers) not in (1, 2, 4)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")
    if mode not in _MODES:
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")


class Pad(_Filling):
    """A border around the input; see `functional.pad` for the arguments.

    `fill` may be a dict from the input's class to what it is filled with, and "others" for all others.
    """

    def __init__(self, padding: int | Sequence[int], fill: Fills = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        _check_padding(padding, padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self._set_fill(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input with its border."""
        return self._call_kernel(F.pad, inpt, self.padding, fill_for(self._fill, inpt), self.padding_mode)


class RandomZoomOut(RandomApplyTransform, _Filling):
    """A large border around the input, with a probability: Liu and others, 2015.

    Args:
        fill: What it holds.
        side_range: How many times as large the result is, at least and at most.
        p: The probability.
    """

    def __init__(self, fill: Fills = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p=p)
        self._set_fill(fill)
        check_sequence(side_range, "side_range", (2,))
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The border."""
        height, width = query_size(flat_inputs)
        times = self.side_range[0] + rand(1) * (self.side_range[1] - self.side_range[0])
        wide, high = int(width * times), int(height * times)
        place = rand(2)
        left, top = int((wide - width) * place[0]), int((high - height) * place[1])
        return {"padding": [left, top, wide - left - width, high - top - height]}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input with its border."""
        return self._call_kernel(F.pad, inpt, params["padding"], fill=fill_for(self._fill, inpt))


class RandomRotation(_Filling):
    """The input turned by a random angle; see `functional.rotate`.

    Args:
        degrees: The least and the greatest angle, or the greatest either way.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        expand: Whether the result is as large as the turned input.
        center: The point (x, y) that is turned around.
        fill: What is beyond the input.
    """

    get_params = staticmethod(draws.rotation_params)

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Mode = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fills = 0,
    ) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        if center is not None:
            check_sequence(center, "center", (2,))
        self.interpolation, self.expand, self.center = interpolation, expand, center
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The angle."""
        return {"angle": uniform(*self.degrees)}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, turned."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.rotate, inpt, params["angle"], self.interpolation, self.expand, self.center, fill)


class RandomAffine(_Filling):
    """The input turned, moved, scaled and sheared at random; see `functional.affine`.

    Args:
        degrees: The least and the greatest angle, or the greatest either way.
        translate: The greatest move along x and y, as shares of width and height.
        scale: The least and the greatest scale.
        shear: The least and the greatest shear along x, and along y if there are four numbers, or the greatest either
            way along x.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the input.
        center: The point (x, y) that is turned around.
    """

    get_params = staticmethod(draws.affine_params)

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Mode = "nearest",
        fill: Fills = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        if translate is not None:
            check_sequence(translate, "translate", (2,))
            if not all(0.0 <= move <= 1.0 for move in translate):
                raise ValueError("translation values should be between 0 and 1")
        if scale is not None:
            check_sequence(scale, "scale", (2,))
            if min(scale) <= 0:
                raise ValueError("scale values should be positive")
        if center is not None:
            check_sequence(center, "center", (2,))
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else angles(shear, "shear", (2, 4))
        self.interpolation, self.center = interpolation, center
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Angle, move, scale and shear."""
        height, width = query_size(flat_inputs)
        drawn = draws.affine_params(self.degrees, self.translate, self.scale, self.shear, (width, height))
        angle, moves, scale, shear = drawn
        return {"angle": angle, "translate": list(moves), "scale": scale, "shear": list(shear)}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, turned, moved, scaled and sheared."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(
            F.affine, inpt, **params, interpolation=self.interpolation, fill=fill, center=self.center
        )


class RandomCrop(_Filling):
    """A part of fixed size and random place, after a border was added.

    Args:
        size: The height and width, or one number for both.
        padding: The border; see `functional.pad`.
        pad_if_needed: Whether an input that is too small gets a larger one.
        fill: What the border holds.
        padding_mode: What it is made of.
    """

    get_params = staticmethod(draws.crop_params)

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fills = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair(size)
        if padding is not None or pad_if_needed:
            _check_padding(0 if padding is None else padding, padding_mode)
        self.padding = list(border(padding)) if padding else None
        self.pad_if_needed = pad_if_needed
        self._set_fill(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The border and the part."""
        left, top, right, bottom = self.padding or (0, 0, 0, 0)
        high, wide = query_size(flat_inputs)
        height, width = self.size
        if self.pad_if_needed:
            more_y, more_x = max(0, height - high - top - bottom), max(0, width - wide - left - right)
            left, top, right, bottom = left + more_x, top + more_y, right + more_x, bottom + more_y
        high, wide = high + top + bottom, wide + left + right
        if high < height or wide < width:
            padded = "padded " if self.padding is not None else ""
            raise ValueError(
                f"Required crop size {(height, width)} is larger than {padded}input image size {(high, wide)}."
            )
        first_row = int(randint(0, high - height + 1, ())) if high > height else 0
        first_column = int(randint(0, wide - width + 1, ())) if wide > width else 0
        crops = high > height or wide > width
        return {"padding": [left, top, right, bottom], "crops": crops, "place": (first_row, first_column)}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The part."""
        if any(params["padding"]):
            inpt = self._call_kernel(F.pad, inpt, params["padding"], fill_for(self._fill, inpt), self.padding_mode)
        if params["crops"]:
            inpt = self._call_kernel(F.crop, inpt, *params["place"], *self.size)
        return inpt


class RandomPerspective(RandomApplyTransform, _Filling):
    """The input seen from a random side, with a probability; see `functional.perspective`.

    Args:
        distortion_scale: How far corners may move, from 0 to 1.
        p: The probability.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the input.
    """

    get_params = staticmethod(draws.perspective_params)

    def __init__(
        self, distortion_scale: float = 0.5, p: float = 0.5, interpolation: Mode = "bilinear", fill: Fills = 0
    ) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale, self.interpolation = distortion_scale, interpolation
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The coefficients."""
        height, width = query_size(flat_inputs)
        return {
            "coefficients": perspective_coefficients(*draws.perspective_params(width, height, self.distortion_scale))
        }

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, seen from the side."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.perspective, inpt, None, None, self.interpolation, fill, params["coefficients"])


class ElasticTransform(_Filling):
    """The input bent at random: Simard and others, 2003; see `functional.elastic`.

    Args:
        alpha: How far pixels move, along x and y.
        sigma: How smooth the moves are, along x and y.
        interpolation: "nearest" or "bilinear".
        fill: What is beyond the input.
    """

    get_params = staticmethod(draws.elastic_params)

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Mode = "bilinear",
        fill: Fills = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = two_numbers(alpha, "alpha"), two_numbers(sigma, "sigma")
        self.interpolation = interpolation
        self._set_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The moves."""
        return {"displacement": draws.elastic_params(self.alpha, self.sigma, query_size(flat_inputs))}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input, bent."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.elastic, inpt, params["displacement"], self.interpolation, fill)


class RandomIoUCrop(Transform):
    """A part that overlaps with a box by a random share at least: Liu and others, 2015.

    Boxes whose middle is beyond the part become all 0; `SanitizeBoundingBoxes` takes them away.

    Args:
        min_scale: The least share of height and width.
        max_scale: The greatest share of height and width.
        min_aspect_ratio: The least ratio of width to height.
        max_aspect_ratio: The greatest ratio of width to height.
        sampler_options: The shares of overlap to choose from; 1 and more leave the input as it is.
        trials: How many parts are tried for one of them.

    Raises:
        TypeError: There are no boxes, or no image.
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else list(sampler_options)
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Nothing; raises if boxes or images are absent."""
        if not (any(isinstance(value, BoundingBoxes) for value in flat_inputs) and any(map(is_image, flat_inputs))):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images and bounding boxes. "
                "Sample can also contain masks."
            )

    def _part(self, height: int, width: int, corners: Tensor, least: float) -> Params | None:
        """One part that is tried, or None if it does not fit."""
        scale = self.min_scale + (self.max_scale - self.min_scale) * rand(2)
        wide, high = int(width * scale[0]), int(height * scale[1])
        if not self.min_aspect_ratio <= wide / high <= self.max_aspect_ratio:
            return None
        place = rand(2)
        left, top = int((width - wide) * place[0]), int((height - high) * place[1])
        if wide == 0 or high == 0:
            return None
        x, y = (corners[:, 0] + corners[:, 2]) * 0.5, (corners[:, 1] + corners[:, 3]) * 0.5
        inside = (left < x) & (x < left + wide) & (top < y) & (y < top + high)
        if not bool(inside.any()):
            return None
        part = tensor([[left, top, left + wide, top + high]], dtype=corners.dtype, device=corners.device)
        if bool(box_iou(corners[inside], part).max() < least):
            return None
        return {"top": top, "left": left, "height": high, "width": wide, "inside": inside}

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The part, and which boxes are in it."""
        height, width = query_size(flat_inputs)
        boxes = next(value for value in flat_inputs if isinstance(value, BoundingBoxes))
        corners = to_corners(boxes.as_subclass(Tensor), boxes.format)
        while True:
            least = self.options[int(randint(0, len(self.options), (1,)))]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._part(height, width, corners, least)
                if found is not None:
                    return found

    def transform(self, inpt: Any, params: Params) -> Any:
        """The part."""
        if not params:
            return inpt
        made = self._call_kernel(F.crop, inpt, params["top"], params["left"], params["height"], params["width"])
        if isinstance(made, BoundingBoxes):
            return made._like(made.as_subclass(Tensor) * params["inside"][:, None])
        return made
