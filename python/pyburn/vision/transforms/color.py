"""Transforms of what colour pixels have; masks and boxes pass as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn.ops import rand, randperm
from pyburn.vision.transforms import draws
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.base import RandomApplyTransform, Transform, query_chw, uniform
from pyburn.vision.tv_tensors import Video

__all__ = [
    "RGB",
    "ColorJitter",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomSolarize",
]

Params = dict[str, Any]
Range = float | Sequence[float] | None


def _of_image(inpt: Any, make: Callable[[], Any]) -> Any:
    """What `make` gives; a video passes as it is, as in torchvision."""
    return inpt if isinstance(inpt, Video) else make()


class Grayscale(Transform):
    """The lightness of an image.

    Args:
        num_output_channels: 1, or 3 equal ones.

    Example:
        >>> import pyburn
        >>> Grayscale()(pyburn.zeros(3, 2, 2)).shape
        pyburn.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: Params) -> Any:
        """The lightness."""
        return _of_image(
            inpt, lambda: self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=self.num_output_channels)
        )


class RandomGrayscale(RandomApplyTransform):
    """The lightness of an image in as many channels as it has, with a probability.

    Args:
        p: The probability.
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """How many channels there are."""
        return {"channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The lightness."""
        return _of_image(
            inpt, lambda: self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=params["channels"])
        )


class RGB(Transform):
    """An image of three channels; those of one get it three times."""

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image of three channels."""
        return _of_image(inpt, lambda: self._call_kernel(F.grayscale_to_rgb, inpt))


def _range(value: Range, name: str, center: float, low: float, high: float) -> tuple[float, float] | None:
    if value is None:
        return None
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = [center - value, center + value] if name == "hue" else [max(center - value, 0.0), center + value]
    elif not isinstance(value, Sequence) or len(value) != 2:
        raise TypeError(f"{name}={value} should be a single number or a sequence with length 2.")
    least, most = float(value[0]), float(value[1])
    if not low <= least <= most <= high:
        raise ValueError(f"{name} values should be between {(low, high)} and increasing, but got {[least, most]}.")
    return None if least == most == center else (least, most)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in a random order.

    Args:
        brightness: The least and the greatest factor, or how far it is from 1.
        contrast: The same for the contrast.
        saturation: The same for the saturation.
        hue: The least and the greatest turn of the hues, or the greatest either way.

    Raises:
        ValueError: A range is beyond what there is.
        TypeError: It is no range.
    """

    get_params = staticmethod(draws.jitter_params)

    def __init__(
        self, brightness: Range = None, contrast: Range = None, saturation: Range = None, hue: Range = None
    ) -> None:
        super().__init__()
        self.brightness = _range(brightness, "brightness", 1.0, 0, float("inf"))
        self.contrast = _range(contrast, "contrast", 1.0, 0, float("inf"))
        self.saturation = _range(saturation, "saturation", 1.0, 0, float("inf"))
        self.hue = _range(hue, "hue", 0.0, -0.5, 0.5)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The order and the factors."""
        order, *factors = draws.jitter_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": factors}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The changed image."""
        steps = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for place in params["order"]:
            factor = params["factors"][place]
            if factor is not None:
                inpt = self._call_kernel(steps[place], inpt, factor)
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in a random order."""

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The order."""
        return {"order": randperm(query_chw(flat_inputs)[0]).tolist()}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image with its channels in the order."""
        return self._call_kernel(F.permute_channels, inpt, params["order"])


class RandomPhotometricDistort(Transform):
    """Brightness, contrast, saturation, hue and the order of channels changed, each by chance: Liu and others, 2015.

    Args:
        brightness: The least and the greatest factor.
        contrast: The same for the contrast.
        saturation: The same for the saturation.
        hue: The least and the greatest turn of the hues.
        p: The probability of each.
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness, self.contrast, self.hue, self.saturation = brightness, contrast, hue, saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """What is changed, and how far."""
        channels = query_chw(flat_inputs)[0]
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        brightness, contrast, saturation, hue = (uniform(*span) if rand(1).item() < self.p else None for span in ranges)
        early = rand(()).item() < 0.5
        order = randperm(channels).tolist() if rand(1).item() < self.p else None
        steps = [(F.adjust_brightness, brightness), (F.adjust_saturation, saturation), (F.adjust_hue, hue)]
        steps.insert(1 if early else 3, (F.adjust_contrast, contrast))
        return {"steps": [*steps, (F.permute_channels, order)]}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The changed image."""
        for function, value in params["steps"]:
            if value is not None:
                inpt = self._call_kernel(function, inpt, value)
        return inpt


class RandomEqualize(RandomApplyTransform):
    """Values spread so that all occur about as often, with a probability.

    Args:
        p: The probability.
    """

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image with its values spread."""
        return self._call_kernel(F.equalize, inpt)


class RandomInvert(RandomApplyTransform):
    """The negative, with a probability.

    Args:
        p: The probability.
    """

    def transform(self, inpt: Any, params: Params) -> Any:
        """The negative."""
        return self._call_kernel(F.invert, inpt)


class RandomPosterize(RandomApplyTransform):
    """Fewer values in each channel, with a probability.

    Args:
        bits: How many bits each value keeps, 0 to 8.
        p: The probability.
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image with fewer values."""
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """The negative of all values from a threshold on, with a probability.

    Args:
        threshold: The least value that is inverted.
        p: The probability.
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image, partly inverted."""
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAutocontrast(RandomApplyTransform):
    """Each channel stretched from black to white, with a probability.

    Args:
        p: The probability.
    """

    def transform(self, inpt: Any, params: Params) -> Any:
        """The stretched image."""
        return self._call_kernel(F.autocontrast, inpt)


class RandomAdjustSharpness(RandomApplyTransform):
    """The image blurred or sharpened, with a probability.

    Args:
        sharpness_factor: 0 for blurred, 1 for the image as it is, 2 for sharp.
        p: The probability.
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image, blurred or sharpened."""
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)
