"""Layers that prepare images and features, part of them only while a model trains."""

from __future__ import annotations

import math
from typing import Any, Self

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.keras import config as settings
from pyburn.keras import random
from pyburn.keras.layer import Layer
from pyburn.keras.layers import _images as images
from pyburn.keras.symbolic import any_symbolic
from pyburn.nn import functional

__all__ = [
    "CategoryEncoding",
    "CenterCrop",
    "Discretization",
    "Normalization",
    "RandomBrightness",
    "RandomContrast",
    "RandomCrop",
    "RandomFlip",
    "RandomRotation",
    "RandomTranslation",
    "RandomZoom",
    "Rescaling",
    "Resizing",
]

_FILLS = {"reflect": "reflection", "constant": "zeros", "nearest": "border"}


class Rescaling(Layer):
    """`inputs * scale + offset`: `Rescaling(1 / 255)` brings bytes between 0 and 1.

    Args:
        scale: The factor, or one for each channel.
        offset: What is added.
        **kwargs: See `Layer`.
    """

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        x = inputs.to(settings.as_dtype(self.compute_dtype))

        def number(value: Any) -> Any:
            return value if isinstance(value, (int, float)) else ops.as_tensor(value, dtype=x.dtype, device=x.device)

        return x * number(self.scale) + number(self.offset)


class _Image(Layer):
    """What works on images, in batches or one at a time."""

    # Whether things are at other places in the result.
    _moves = False

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = settings.data_format_of(data_format)

    def _batched(self, inputs: Tensor) -> tuple[Tensor, bool]:
        """The images as floats (batch, channels, height, width), and whether there was only one."""
        if inputs.dim() not in (3, 4):
            raise ShapeError(
                f"{self.name} ({type(self).__name__}) needs images (batch, height, width, channels) or one image, but "
                "got an "
                f"input of shape {tuple(inputs.shape)}; add or remove axes"
            )
        single = inputs.dim() == 3
        x = inputs.unsqueeze(0) if single else inputs
        return images.channels_first(x.to(settings.as_dtype(self.compute_dtype)), self.data_format), single

    def _back(self, x: Tensor, single: bool) -> Tensor:
        x = images.channels_back(x, self.data_format)
        return x[0] if single else x

    def _with_labels(self, data: dict[str, Any], training: bool | None) -> dict[str, Any]:
        """`{"images": ..., "labels": ...}` with other images; labels stay as they are."""
        beside = sorted({"bounding_boxes", "segmentation_masks"} & set(data))
        if beside and self._moves:
            raise ValueError(
                f"{self.name} ({type(self).__name__}): {', '.join(beside)} would not follow the images; use "
                "pyburn.vision.transforms.v2, where boxes and masks do"
            )
        return {**data, "images": self.call(data["images"], training=training)}


def _resized(x: Tensor, size: tuple[int, int], mode: str, antialias: bool) -> Tensor:
    if mode == "nearest":
        return functional.interpolate(x, size, mode="nearest-exact")
    return functional.interpolate(x, size, mode=mode, align_corners=False, antialias=antialias)


class Resizing(_Image):
    """Images in another size.

    Args:
        height: The height of the result.
        width: The width of the result.
        interpolation: "bilinear", "nearest" or "bicubic".
        crop_to_aspect_ratio: Whether edges are cut rather than the image distorted.
        pad_to_aspect_ratio: Whether edges are padded rather than the image distorted.
        fill_mode: "constant": how edges are padded.
        fill_value: What edges are padded with.
        antialias: Whether smaller images are smoothed first.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format, **kwargs)
        if interpolation not in ("bilinear", "nearest", "bicubic"):
            raise ValueError(f"Resizing: interpolation is {interpolation!r}, but must be bilinear, nearest or bicubic")
        self.height, self.width, self.interpolation, self.antialias = height, width, interpolation, antialias
        self.crop_to_aspect_ratio, self.pad_to_aspect_ratio = crop_to_aspect_ratio, pad_to_aspect_ratio
        self.fill_mode, self.fill_value = fill_mode, fill_value

    def call(self, inputs: Any) -> Any:
        x, single = self._batched(inputs)
        high, wide = x.shape[2:]
        if self.crop_to_aspect_ratio:
            rows = min(high, int(wide * self.height / self.width))
            columns = min(wide, int(high * self.width / self.height))
            x = x[:, :, (high - rows) // 2 : (high - rows) // 2 + rows]
            x = x[:, :, :, (wide - columns) // 2 : (wide - columns) // 2 + columns]
        elif self.pad_to_aspect_ratio:
            rows, columns = (
                max(high, int(wide * self.height / self.width)),
                max(wide, int(high * self.width / self.height)),
            )
            top, left = (rows - high) // 2, (columns - wide) // 2
            pads = [(top, rows - high - top), (left, columns - wide - left)]
            x = images.pad_axes(x, pads, self.fill_value)
        return self._back(_resized(x, (self.height, self.width), self.interpolation, self.antialias), single)


class CenterCrop(_Image):
    """The middle of images; smaller images are enlarged first.

    Args:
        height: The height of the result.
        width: The width of the result.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(self, height: int, width: int, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.height, self.width = height, width

    def _center(self, x: Tensor) -> Tensor:
        high, wide = x.shape[2:]
        if high < self.height or wide < self.width:
            rows = min(high, int(wide * self.height / self.width))
            columns = min(wide, int(high * self.width / self.height))
            x = x[:, :, (high - rows) // 2 : (high - rows) // 2 + rows]
            x = x[:, :, :, (wide - columns) // 2 : (wide - columns) // 2 + columns]
            return _resized(x, (self.height, self.width), "bilinear", False)
        top, left = (high - self.height) // 2, (wide - self.width) // 2
        return x[:, :, top : top + self.height, left : left + self.width]

    def call(self, inputs: Any) -> Any:
        x, single = self._batched(inputs)
        return self._back(self._center(x), single)


class _ByItself(_Image):
    """What is random in a call of its own, until `train()` or `eval()` says whether it is."""

    _trains_by_default = True

    def train(self, mode: bool = True) -> Self:
        """This layer in training mode, or out of it."""
        self._trains_by_default = False
        return super().train(mode)


class _Random(_ByItself):
    """What changes images at random while a model trains."""

    def __init__(self, seed: int | None, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.seed = seed
        self._draws = None if seed is None else random.SeedGenerator(seed)
        self._generator = None if self._draws is None else self._draws._generator

    def _draw(self, count: int, low: float, high: float, like: Tensor) -> Tensor:
        """A number for each image."""
        made = ops.rand(count, generator=self._generator, device="cpu") * (high - low) + low
        return made.to(like.device, like.dtype)

    def _changed(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if isinstance(inputs, dict):
            return self._with_labels(inputs, training)
        x, single = self._batched(inputs)
        return self._back(self._changed(x) if training and not x.is_meta else x, single)


class RandomCrop(CenterCrop, _ByItself):
    """A part of images at a random place while it trains, else their middle.

    Args:
        height: The height of the result.
        width: The width of the result.
        seed: With it, the same places every time.
        data_format: Where the channels are.
        name: Its name.
        **kwargs: See `Layer`.
    """

    _moves = True

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(height, width, data_format, name=name, **kwargs)
        self.seed = seed
        self._generator = None if seed is None else ops.Generator().manual_seed(int(seed))

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if isinstance(inputs, dict):
            return self._with_labels(inputs, training)
        x, single = self._batched(inputs)
        room = [x.shape[2] - self.height, x.shape[3] - self.width]
        if not training or min(room) < 0:
            return self._back(self._center(x), single)
        starts = [
            ops.randint(0, each + 1, (len(x),), generator=self._generator, device="cpu").tolist() for each in room
        ]
        parts = [x[i, :, t : t + self.height, s : s + self.width] for i, (t, s) in enumerate(zip(*starts, strict=True))]
        return self._back(ops.stack(parts), single)


class RandomFlip(_Random):
    """Images mirrored at random while it trains.

    Args:
        mode: "horizontal", "vertical" or "horizontal_and_vertical".
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    _moves = True

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(
                f"RandomFlip: mode is {mode!r}, but must be horizontal, vertical or horizontal_and_vertical"
            )
        self.mode = mode

    def _changed(self, x: Tensor) -> Tensor:
        for word, axis in (("horizontal", 3), ("vertical", 2)):
            if word in self.mode:
                chosen = (self._draw(len(x), 0.0, 1.0, x) < 0.5).reshape(-1, 1, 1, 1)
                x = ops.where(chosen, x.flip(axis), x)
        return x


def _bounds(name: str, factor: Any, low: float = -1.0, high: float = 1.0) -> tuple[float, float]:
    """(from, to) of a random number: a single one goes both ways."""
    given = (-abs(factor), abs(factor)) if isinstance(factor, (int, float)) else tuple(factor)
    if len(given) != 2 or given[0] > given[1] or given[0] < low or given[1] > high:
        raise ValueError(f"{name} is {factor!r}, but must be a number, or (from, to), between {low} and {high}")
    return given[0], given[1]


class _Moved(_Random):
    """Images that are turned, scaled or shifted at random."""

    _moves = True

    def _moving(self, fill_mode: str, interpolation: str, fill_value: float) -> None:
        if fill_mode not in _FILLS:
            raise NotImplementedError(
                f"{type(self).__name__}: fill_mode is {fill_mode!r}; {', '.join(_FILLS)} are there"
            )
        if interpolation not in ("bilinear", "nearest"):
            raise ValueError(
                f"{type(self).__name__}: interpolation is {interpolation!r}, but must be bilinear or nearest"
            )
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    def _warped(self, x: Tensor, matrix: Tensor) -> Tensor:
        """The images seen through an affine map (batch, 2, 3) of places from -1 to 1."""
        grid = functional.affine_grid(matrix, list(x.shape), align_corners=False)
        shift = self.fill_value if self.fill_mode == "constant" else 0.0
        moved = functional.grid_sample(
            x - shift, grid, mode=self.interpolation, padding_mode=_FILLS[self.fill_mode], align_corners=False
        )
        return moved + shift

    def _matrix(self, rows: list[list[Tensor]]) -> Tensor:
        return ops.stack([ops.stack(row, -1) for row in rows], 1)


class RandomRotation(_Moved):
    """Images turned at random while it trains.

    Args:
        factor: How far, in parts of a full turn: a number for both directions, or (from, to).
        fill_mode: "reflect", "constant" or "nearest": what stands beyond the edges.
        interpolation: "bilinear" or "nearest".
        seed: With it, the same turns every time.
        fill_value: What stands beyond the edges with "constant".
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor = _bounds("RandomRotation: factor", factor)
        self._moving(fill_mode, interpolation, fill_value)

    def _changed(self, x: Tensor) -> Tensor:
        turn = self._draw(len(x), *self.factor, x) * (2 * math.pi)
        cos, sin, none = ops.cos(turn), ops.sin(turn), ops.zeros_like(turn)
        high, wide = x.shape[2:]
        return self._warped(x, self._matrix([[cos, -sin * (high / wide), none], [sin * (wide / high), cos, none]]))


class RandomZoom(_Moved):
    """Images seen from nearer or farther at random while it trains.

    Args:
        height_factor: How much farther (above zero) or nearer (below): a number for both, or (from, to).
        width_factor: The same for the width; None keeps the proportions.
        fill_mode: "reflect", "constant" or "nearest": what stands beyond the edges.
        interpolation: "bilinear" or "nearest".
        seed: With it, the same numbers every time.
        fill_value: What stands beyond the edges with "constant".
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._high = _bounds("RandomZoom: height_factor", height_factor, -1.0, math.inf)
        self._wide = None if width_factor is None else _bounds("RandomZoom: width_factor", width_factor, -1.0, math.inf)
        self._moving(fill_mode, interpolation, fill_value)

    def _changed(self, x: Tensor) -> Tensor:
        high = 1.0 + self._draw(len(x), *self._high, x)
        wide = high if self._wide is None else 1.0 + self._draw(len(x), *self._wide, x)
        none = ops.zeros_like(high)
        return self._warped(x, self._matrix([[wide, none, none], [none, high, none]]))


class RandomTranslation(_Moved):
    """Images shifted at random while it trains.

    Args:
        height_factor: How far down (above zero) or up, in parts of the height.
        width_factor: How far right (above zero) or left, in parts of the width.
        fill_mode: "reflect", "constant" or "nearest": what stands beyond the edges.
        interpolation: "bilinear" or "nearest".
        seed: With it, the same shifts every time.
        fill_value: What stands beyond the edges with "constant".
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._high = _bounds("RandomTranslation: height_factor", height_factor)
        self._wide = _bounds("RandomTranslation: width_factor", width_factor)
        self._moving(fill_mode, interpolation, fill_value)

    def _changed(self, x: Tensor) -> Tensor:
        down, right = self._draw(len(x), *self._high, x), self._draw(len(x), *self._wide, x)
        one, none = ops.ones_like(down), ops.zeros_like(down)
        return self._warped(x, self._matrix([[one, none, -2 * right], [none, one, -2 * down]]))


class RandomBrightness(_Random):
    """Images made brighter or darker at random while it trains.

    Args:
        factor: How much, in parts of the range: a number for both, or (from, to).
        value_range: The range of the images' values.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, kwargs.pop("data_format", None), **kwargs)
        self.factor, self.value_range = _bounds("RandomBrightness: factor", factor), list(value_range)

    def _changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        more = self._draw(len(x), *self.factor, x).reshape(-1, 1, 1, 1) * (high - low)
        return ops.clamp(x + more, low, high)


class RandomContrast(_Random):
    """Images whose contrast is changed at random while it trains.

    Args:
        factor: How much more, or (less, more).
        value_range: The range of the images' values.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, kwargs.pop("data_format", None), **kwargs)
        # As in Keras, a single number only adds contrast.
        self.factor = (0, abs(factor)) if isinstance(factor, (int, float)) else tuple(factor)
        self.value_range = tuple(value_range)

    def _changed(self, x: Tensor) -> Tensor:
        times = self._draw(len(x), 1 - self.factor[0], 1 + self.factor[1], x).reshape(-1, 1, 1, 1)
        mean = x.mean((2, 3), keepdim=True)
        return ops.clamp((x - mean) * times + mean, *self.value_range)


class _OnNumbers(Layer):
    """A layer that takes lists of numbers too."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the layer gives."""
        if args and isinstance(args[0], (list, tuple)) and not any_symbolic(args[0]):
            args = (ops.as_tensor(args[0]), *args[1:])
        return super().forward(*args, **kwargs)


class Normalization(_OnNumbers):
    """`(inputs - mean) / sqrt(variance)`, with numbers that are given or learned by `adapt`.

    Args:
        axis: The axis or axes that keep numbers of their own; None for one mean of all.
        mean: The mean.
        variance: The variance.
        invert: Whether it goes the other way.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> layer = Normalization()
        >>> layer.adapt(pyburn.tensor([[0.0], [2.0]]))
        >>> layer(pyburn.tensor([[2.0]]))
        tensor([[1.]])
    """

    def __init__(
        self, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.axis = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        if (mean is None) != (variance is None):
            raise ValueError("Normalization: mean and variance must be given together")
        self.mean, self.variance, self.invert = mean, variance, invert
        self._given_mean = mean is not None

    def build(self, input_shape: Any) -> None:
        kept = {each % len(input_shape) for each in self.axis}
        self._shape = [size if place in kept else 1 for place, size in enumerate(input_shape)]
        self._others = [place for place in range(len(input_shape)) if place not in kept]
        if not self._given_mean:
            shape = [int(size) for place, size in enumerate(input_shape) if place in kept]
            self.adapt_mean = self.add_weight(shape, "zeros", trainable=False, name="adapt_mean")
            self.adapt_variance = self.add_weight(shape, "ones", trainable=False, name="adapt_variance")
            self.count = self.add_weight((), "zeros", dtype="int32", trainable=False, name="count")

    def adapt(self, data: Any) -> None:
        """Nothing; mean and variance are those of `data`."""
        from pyburn.keras.training.feeding import as_tensors

        x = as_tensors(data)
        if not isinstance(x, Tensor):
            raise ValueError("Normalization.adapt: give one array or tensor")
        x = x if x.is_floating_point() else x.float()
        if not self.built:
            self.build((None, *x.shape[1:]))
        self.adapt_mean.copy_(x.mean(self._others) if self._others else x)
        self.adapt_variance.copy_(x.var(self._others, correction=0))
        self.count.fill_(x.shape[0])

    def call(self, inputs: Any) -> Any:
        x = inputs.to(settings.as_dtype(self.compute_dtype))
        mean: Any = self.mean if self._given_mean else self.adapt_mean
        variance: Any = self.variance if self._given_mean else self.adapt_variance
        mean = ops.as_tensor(mean, dtype=x.dtype, device=x.device)
        spread = ops.sqrt(ops.as_tensor(variance, dtype=x.dtype, device=x.device))
        shape = [1 if size is None else size for size in self._shape]
        if mean.numel() == math.prod(shape):
            mean = mean.reshape(shape)
        if spread.numel() == math.prod(shape):
            spread = spread.reshape(shape)
        spread = ops.clamp(spread, min=settings.epsilon())
        return mean + x * spread if self.invert else (x - mean) / spread


class CategoryEncoding(_OnNumbers):
    """Class numbers as rows of zeros and ones, or of counts.

    Args:
        num_tokens: The number of classes.
        output_mode: "multi_hot", "one_hot" or "count".
        sparse: Accepted for Keras's sake: rows are always dense.
        **kwargs: See `Layer`.
    """

    def __init__(
        self, num_tokens: int | None = None, output_mode: str = "multi_hot", sparse: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if num_tokens is None or num_tokens < 1:
            raise ValueError(f"CategoryEncoding: num_tokens is {num_tokens}, but must be a positive number")
        if output_mode not in ("multi_hot", "one_hot", "count"):
            raise ValueError(
                f"CategoryEncoding: output_mode is {output_mode!r}, but must be multi_hot, one_hot or count"
            )
        self.num_tokens, self.output_mode = num_tokens, output_mode

    def call(self, inputs: Any, count_weights: Any = None) -> Any:
        places = inputs.long()
        if not places.is_meta and places.numel() and (int(places.min()) < 0 or int(places.max()) >= self.num_tokens):
            raise ValueError(
                f"{self.name} (CategoryEncoding): inputs must be between 0 and {self.num_tokens - 1}, but go from "
                f"{int(places.min())} to {int(places.max())}"
            )
        kind = settings.as_dtype(self.compute_dtype)
        rows = (
            functional.one_hot(places, self.num_tokens).to(kind)
            if not places.is_meta
            else ops.zeros(*places.shape, self.num_tokens, dtype=kind, device=places.device)
        )
        if self.output_mode == "one_hot":
            return rows.squeeze(-2) if places.dim() > 1 and places.shape[-1] == 1 else rows
        if places.dim() == 1:
            return rows
        if self.output_mode == "multi_hot":
            return rows.amax(-2)
        return (rows if count_weights is None else rows * count_weights.unsqueeze(-1).to(kind)).sum(-2)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("sparse", None)
        return config


class Discretization(_OnNumbers):
    """The number of the bin that a value falls into.

    Args:
        bin_boundaries: Where one bin ends and the next begins.
        num_bins: How many bins `adapt` makes, each with as many values.
        epsilon: Accepted for Keras's sake.
        output_mode: "int", "one_hot", "multi_hot" or "count".
        sparse: Accepted for Keras's sake.
        dtype: The dtype of the result.
        name: Its name.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        bin_boundaries: Any = None,
        num_bins: int | None = None,
        epsilon: float = 0.01,
        output_mode: str = "int",
        sparse: bool = False,
        dtype: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype or ("int64" if output_mode == "int" else None), **kwargs)
        if (bin_boundaries is None) == (num_bins is None):
            raise ValueError("Discretization: give either bin_boundaries or num_bins")
        self.bin_boundaries = None if bin_boundaries is None else list(bin_boundaries)
        self.num_bins, self.epsilon, self.output_mode, self.sparse = num_bins, epsilon, output_mode, sparse
        self.autocast = False

    def adapt(self, data: Any) -> None:
        """Nothing; the bins have as many values of `data` each."""
        from pyburn.keras.training.feeding import as_tensors

        if self.num_bins is None:
            raise ValueError("Discretization.adapt: the boundaries were given; make the layer with num_bins")
        flat = as_tensors(data).flatten().float()
        steps = ops.arange(1, self.num_bins) / self.num_bins
        self.bin_boundaries = ops.quantile(flat, steps.to(flat.dtype)).tolist()

    def call(self, inputs: Any) -> Any:
        if self.bin_boundaries is None:
            raise ValueError(f"{self.name} (Discretization): call adapt(data) first, which finds the boundaries")
        x = inputs if inputs.is_floating_point() else inputs.float()
        edges = ops.tensor(self.bin_boundaries, dtype=x.dtype, device=x.device)
        found = ops.bucketize(x, edges, right=True) if not x.is_meta else ops.zeros_like(x).long()
        if self.output_mode == "int":
            return found.to(settings.as_dtype(self.compute_dtype))
        encode = CategoryEncoding(len(self.bin_boundaries) + 1, self.output_mode, name=f"{self.name}_encoding")
        return encode.call(found)
