"""Layers that change the colours of images, most of them at random and only while a model trains."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import _image_ops as colors
from pyburn.keras import config as settings
from pyburn.keras.layers.preprocessing import RandomBrightness, RandomContrast, _Image, _Random

__all__ = [
    "AutoContrast",
    "Equalization",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHue",
    "RandomInvert",
    "RandomPosterization",
    "RandomSaturation",
    "RandomSharpness",
    "Solarization",
]


def factors(name: str, given: Any, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """(from, to) of a random number: a single one begins at the least that is allowed.

    Example:
        >>> factors("layer: factor", 0.3)
        (0.0, 0.3)
    """
    if isinstance(given, (list, tuple)):
        fits = len(given) == 2 and min(given) >= low and max(given) <= high
    else:
        fits = isinstance(given, (int, float)) and low <= given <= high
    if not fits:
        raise ValueError(f"{name} is {given!r}, but must be a number, or (from, to), between {low} and {high}")
    if isinstance(given, (list, tuple)):
        least, most = sorted(given)
        return least, most
    return (low if low >= 0 else max(-abs(given), low)), given


def ranged(name: str, given: Any) -> list[float]:
    """(low, high) of the values of images, checked."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise ValueError(f"{name}: value_range is {given!r}, but must be two numbers, such as (0, 255) or (0, 1)")
    return sorted(given)


def rescaled(x: Tensor, source: Any, target: Any) -> Tensor:
    """Values from one range in another."""
    if tuple(source) == tuple(target):
        return x
    made: Tensor = (x - source[0]) / (source[1] - source[0]) * (target[1] - target[0]) + target[0]
    return made


class _Colored(_Random):
    """What changes the values of images by a number that is drawn for each."""

    _least = 0.0

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        name = type(self).__name__
        self.factor = factors(f"{name}: factor", factor, self._least)
        self.value_range = ranged(name, value_range)

    def _amounts(self, x: Tensor) -> Tensor:
        return self._draw(len(x), *self.factor, x).reshape(-1, 1, 1, 1)

    def _chosen(self, x: Tensor) -> Tensor:
        """Which images are changed: `factor` is how probable that is."""
        chance = self._draw(len(x), *self.factor, x)
        return (self._draw(len(x), 0.0, 1.0, x) < chance).reshape(-1, 1, 1, 1)


class RandomHue(_Colored):
    """Images whose hue is turned at random while it trains.

    Args:
        factor: How far, from 0 to 1 (half a turn either way): a number, or (from, to).
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def _changed(self, x: Tensor) -> Tensor:
        way = self._draw(len(x), 0.0, 1.0, x).reshape(-1, 1, 1, 1)
        turn = ops.where(way > 0.5, -0.5, 0.5) * self._amounts(x)
        hue, saturation, value = colors.to_hsv(rescaled(x, self.value_range, (0, 1))).split(1, 1)
        hue = hue + turn
        hue = ops.where(hue > 1.0, hue - 1.0, ops.where(hue < 0.0, hue + 1.0, hue))
        made = colors.from_hsv(ops.cat([hue, saturation, value], 1))
        return rescaled(ops.clamp(made, 0, 1), (0, 1), self.value_range)


class RandomSaturation(_Colored):
    """Images with more or less colour at random while it trains.

    Args:
        factor: 0 makes grey, 0.5 changes nothing, 1 is all colour: (from, to), or a number for both ways.
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    _least = -1.0  # as in Keras a single number goes both ways

    def _changed(self, x: Tensor) -> Tensor:
        amount = self._amounts(x)
        hue, saturation, value = colors.to_hsv(x).split(1, 1)
        # As in Keras the bounds are those of the values.
        saturation = ops.clamp(saturation * (amount / (1 - amount + settings.epsilon())), *self.value_range)
        return colors.from_hsv(ops.cat([hue, saturation, value], 1))


class RandomColorDegeneration(_Colored):
    """Images that are partly turned grey at random while it trains.

    Args:
        factor: How much, from 0 (not at all) to 1 (grey): (from, to), or a number for both ways.
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    _least = -1.0  # as in Keras a single number goes both ways

    def _changed(self, x: Tensor) -> Tensor:
        return ops.clamp(x + self._amounts(x) * (colors.to_gray(x) - x), *self.value_range)


class RandomGrayscale(_Random):
    """Images, some of which are grey while it trains; the channels stay.

    Args:
        factor: How probable that is for each image.
        data_format: Where the channels are.
        seed: With it, the same choices every time.
        **kwargs: See `Layer`.
    """

    def __init__(
        self, factor: float = 0.5, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor = factors("RandomGrayscale: factor", factor)[1]

    def _changed(self, x: Tensor) -> Tensor:
        chosen = self._draw(len(x), 0.0, 1.0, x).reshape(-1, 1, 1, 1) < self.factor
        return ops.where(chosen, colors.to_gray(x), x)


class RandomInvert(_Colored):
    """Images, some of which are negatives while it trains.

    Args:
        factor: How probable that is: a number for from nothing to it, or (from, to).
        value_range: The range of the images' values.
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, data_format, seed, **kwargs)

    def _changed(self, x: Tensor) -> Tensor:
        return ops.where(self._chosen(x), self.value_range[1] - x, x)


class RandomSharpness(_Colored):
    """Images that are blurred or sharpened at random while it trains.

    Args:
        factor: 0 blurs, 0.5 changes nothing, 1 sharpens: a number, or (from, to).
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def _changed(self, x: Tensor) -> Tensor:
        kernel = ops.full((3, 3), 1.0 / 13.0, dtype=x.dtype, device=x.device)
        kernel[1, 1] = 5.0 / 13.0
        smooth = colors.filtered(x, kernel)
        return ops.clamp(x + (1.0 - 2.0 * self._amounts(x)) * (smooth - x), *self.value_range)


class RandomGaussianBlur(_Colored):
    """Images, some of which are blurred while it trains.

    Args:
        factor: How probable that is: a number for from nothing to it, or (from, to).
        kernel_size: The size of the window, an odd number or two.
        sigma: How wide the blur is: a number, or (from, to), drawn for each batch.
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        kernel_size: Any = 3,
        sigma: Any = 1.0,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, data_format, seed, **kwargs)
        sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(sizes) != 2 or not all(isinstance(size, int) and size % 2 for size in sizes):
            raise ValueError(f"RandomGaussianBlur: kernel_size is {kernel_size!r}, but must be an odd number, or two")
        self.kernel_size, self.sigma = sizes, factors("RandomGaussianBlur: sigma", sigma)

    def _changed(self, x: Tensor) -> Tensor:
        chosen = self._chosen(x)
        sigma = (self._draw(2, *self.sigma, x) + 1e-6).tolist()
        blurred = colors.blurred(x, self.kernel_size, sigma)
        return ops.clamp(ops.where(chosen, blurred, x), *self.value_range)


class RandomPosterization(_Random):
    """Images with fewer bits for each value while it trains.

    Args:
        factor: How many bits are kept, from 1 to 8: a number, or (from, to).
        value_range: The range of the images' values.
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor = factors("RandomPosterization: factor", factor, 1, 8)
        self.value_range = ranged("RandomPosterization", value_range)

    def _changed(self, x: Tensor) -> Tensor:
        low, high = (int(each) for each in self.factor)
        bits = ops.randint(low, max(high, low + 1), (len(x), 1, 1, 1), generator=self._generator, device="cpu")
        step = (2.0 ** (8 - bits).to(x.dtype)).to(x.device)
        whole = ops.floor(rescaled(x, self.value_range, (0, 255)))
        return rescaled(ops.floor(whole / step) * step, (0, 255), self.value_range)


class Solarization(_Random):
    """Images whose values above a threshold are turned into their negatives while it trains.

    Args:
        addition_factor: What is added first, in parts of the range: a number for from nothing to it, or (from, to).
        threshold_factor: The threshold, in parts of the range: the same.
        value_range: The range of the images' values.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        addition_factor: Any = 0.0,
        threshold_factor: Any = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, kwargs.pop("data_format", None), **kwargs)
        self.addition_factor = factors("Solarization: addition_factor", addition_factor)
        self.threshold_factor = factors("Solarization: threshold_factor", threshold_factor)
        self.value_range = ranged("Solarization", value_range)

    def _changed(self, x: Tensor) -> Tensor:
        # As in Keras, only the upper end is in parts of the range.
        more, limit = (
            self._draw(len(x), low, high * 255, x).reshape(-1, 1, 1, 1)
            for low, high in (self.addition_factor, self.threshold_factor)
        )
        moved = ops.clamp(rescaled(x, self.value_range, (0, 255)) + more, 0, 255)
        return rescaled(ops.where(moved < limit, moved, 255 - moved), (0, 255), self.value_range)


class AutoContrast(_Image):
    """Images whose channels go from the least to the greatest value that there is, in training and out of it.

    Args:
        value_range: The range of the images' values.
        **kwargs: See `Layer`.
    """

    def __init__(self, value_range: Any = (0, 255), **kwargs: Any) -> None:
        super().__init__(kwargs.pop("data_format", None), **kwargs)
        self.value_range = ranged("AutoContrast", value_range)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        x, single = self._batched(inputs)
        low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
        spread = ops.where(high > low, high - low, ops.ones_like(low))
        first, last = self.value_range
        made = ops.clamp((x - low) / spread * (last - first) + first, first, last)
        return self._back(ops.where(high > low, made, x), single)


class Equalization(_Image):
    """Images whose values are spread so that each is about as frequent as any other, channel by channel.

    Args:
        value_range: The range of the images' values.
        bins: How many values are told apart.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self, value_range: Any = (0, 255), bins: int = 256, data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.value_range, self.bins = ranged("Equalization", value_range), bins

    def _plane(self, x: Tensor) -> Tensor:
        """One channel of all images; as in Keras they share one histogram."""
        places = ops.clamp(x / 255.0 * (self.bins - 1), 0, self.bins - 1).long()
        counts = ops.bincount(places.flatten(), minlength=self.bins)
        if int((counts > 0).sum()) <= 1:
            return x
        summed = counts.cumsum(0)
        first = summed[summed > 0][0]
        table = ((summed - first) * 255).to(x.dtype) / (summed[-1] - first).to(x.dtype)
        return ops.clamp(ops.round(table), 0, 255)[places]

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        x, single = self._batched(inputs)
        if not x.is_meta:
            x = rescaled(x, self.value_range, (0, 255))
            x = ops.stack([self._plane(x[:, place]) for place in range(x.shape[1])], 1)
            x = rescaled(x, (0, 255), self.value_range)
        return self._back(x, single)


class RandomColorJitter(_Random):
    """Images whose brightness, contrast, saturation and hue change at random while it trains.

    Args:
        value_range: The range of the images' values.
        brightness_factor: See `RandomBrightness`; None leaves it.
        contrast_factor: See `RandomContrast`; None leaves it.
        saturation_factor: See `RandomSaturation`; None leaves it.
        hue_factor: See `RandomHue`; None leaves it.
        seed: With it, the same numbers every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        brightness_factor: Any = None,
        contrast_factor: Any = None,
        saturation_factor: Any = None,
        hue_factor: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.value_range = value_range
        self.brightness_factor, self.contrast_factor = brightness_factor, contrast_factor
        self.saturation_factor, self.hue_factor = saturation_factor, hue_factor
        kinds: list[tuple[Any, Any, str]] = [
            (RandomBrightness, brightness_factor, "brightness"),
            (RandomContrast, contrast_factor, "contrast"),
            (RandomSaturation, saturation_factor, "saturation"),
            (RandomHue, hue_factor, "hue"),
        ]
        self._steps = [
            kind(factor, value_range=value_range, seed=seed, data_format="channels_first", name=f"random_{word}")
            for kind, factor, word in kinds
            if factor is not None
        ]

    def _changed(self, x: Tensor) -> Tensor:
        for step in self._steps:
            x = step._changed(x)
        return x
