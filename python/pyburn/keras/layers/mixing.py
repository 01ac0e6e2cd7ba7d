"""Layers that mix, cut and combine changes of images while a model trains."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import _image_ops, random
from pyburn.keras._registry import deserialize_keras_object, serialize_keras_object
from pyburn.keras.layer import Layer
from pyburn.keras.layers import colors
from pyburn.keras.layers.colors import factors, ranged
from pyburn.keras.layers.preprocessing import (
    RandomBrightness,
    RandomContrast,
    RandomRotation,
    RandomTranslation,
    _Moved,
    _Random,
)

__all__ = [
    "AugMix",
    "CutMix",
    "MixUp",
    "Pipeline",
    "RandAugment",
    "RandomErasing",
    "RandomPerspective",
    "RandomShear",
]


class _Mixed(_Random):
    """What makes one image of two; labels in `{"images": ..., "labels": ...}` are mixed alike."""

    def _mix(self, x: Tensor) -> tuple[Tensor, Any, Tensor]:
        """The images, how much of the first each keeps, and which the others are."""
        raise NotImplementedError

    def _order(self, count: int) -> Tensor:
        return ops.randperm(count, generator=self._generator, device="cpu")

    def _beta(self, count: int, alpha: float) -> Tensor:
        return random.beta((count,), alpha, alpha, seed=self._draws)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        data = dict(inputs) if isinstance(inputs, dict) else {"images": inputs}
        if "bounding_boxes" in data:
            raise ValueError(f"{self.name} ({type(self).__name__}): bounding boxes cannot be mixed; leave them out")
        x, single = self._batched(data["images"])
        if training and not single and not x.is_meta:
            made, share, order = self._mix(x)
            data["images"] = self._back(made, False)
            if "labels" in data:
                labels = ops.as_tensor(data["labels"])
                labels = labels if labels.is_floating_point() else labels.to(x.dtype)
                part = share.to(labels.dtype).reshape(-1, *[1] * (labels.dim() - 1))
                data["labels"] = part * labels + (1.0 - part) * labels[order.to(labels.device)]
        else:
            data["images"] = self._back(x, single)
        return data if isinstance(inputs, dict) else data["images"]


class MixUp(_Mixed):
    """Images blended with others of the batch while it trains, and their labels alike.

    Args:
        alpha: How strongly, from 0 to 1.
        data_format: Where the channels are.
        seed: With it, the same choices every time.
        **kwargs: See `Layer`.

    Example:
        >>> mixed = MixUp(seed=1)({"images": ops.rand(4, 8, 8, 3), "labels": ops.eye(4)}, training=True)
        >>> mixed["labels"].sum(-1).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self, alpha: float = 0.2, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.alpha = alpha

    def _mix(self, x: Tensor) -> tuple[Tensor, Any, Tensor]:
        order, share = self._order(len(x)), self._beta(1, self.alpha).to(x.device, x.dtype)
        return share * x + (1.0 - share) * x[order.to(x.device)], share, order


def _box(layer: _Random, x: Tensor, high: Tensor, wide: Tensor) -> Tensor:
    """Masks (B, 1, H, W) of boxes of these heights and widths (in parts of the image) at random places."""
    sides = []
    for length, share in ((x.shape[2], high), (x.shape[3], wide)):
        start = layer._draw(len(x), 0.0, 1.0, x) * (length - share * length)
        places = ops.arange(length, dtype=x.dtype, device=x.device)
        end = start + share * length
        sides.append((places >= start.unsqueeze(1)) & (places < end.unsqueeze(1)))
    return (sides[0].unsqueeze(2) & sides[1].unsqueeze(1)).unsqueeze(1)


class CutMix(_Mixed):
    """Images with a part of another of the batch pasted in while it trains; labels are mixed by its area.

    Args:
        factor: How much the areas vary, from 0 to 1: a number, or (from, to).
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self, factor: Any = 1.0, seed: int | None = None, data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor = factors("CutMix: factor", factor)

    def _mix(self, x: Tensor) -> tuple[Tensor, Any, Tensor]:
        alpha = float(self._draw(1, *self.factor, x)) + 1e-6
        side = ops.sqrt(1.0 - self._beta(len(x), alpha)).to(x.device, x.dtype)
        mask, order = _box(self, x, side, side), self._order(len(x))
        return ops.where(mask, x[order.to(x.device)], x), 1.0 - side * side, order


class RandomErasing(_Random):
    """Images with a box of noise or one colour in them while it trains.

    Args:
        factor: How probable that is: a number for from nothing to it, or (from, to).
        scale: The area of a side, in parts of the image: (from, to).
        fill_value: What the box is filled with: a number, three, or None for noise.
        value_range: The range of the images' values.
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = (0.02, 0.33),
        fill_value: Any = None,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor, self.scale = factors("RandomErasing: factor", factor), factors("RandomErasing: scale", scale)
        self.fill_value, self.value_range = fill_value, ranged("RandomErasing", value_range)

    def _filler(self, x: Tensor) -> Tensor:
        if self.fill_value is None:
            made = ops.randn(*x.shape, generator=self._generator, device="cpu").to(x.device, x.dtype)
            made = made * self.value_range[1]
        else:
            made = ops.tensor(self.fill_value, dtype=x.dtype, device=x.device).reshape(1, -1, 1, 1)
        return ops.clamp(made, *self.value_range)

    def _changed(self, x: Tensor) -> Tensor:
        high, wide = (ops.sqrt(self._draw(len(x), *self.scale, x)) for _ in range(2))
        mask = _box(self, x, high, wide)
        chosen = self._draw(len(x), 0.0, 1.0, x) < self._draw(len(x), *self.factor, x)
        return ops.where(mask & chosen.reshape(-1, 1, 1, 1), self._filler(x), x)


class RandomShear(_Moved):
    """Images pulled into slanted form at random while it trains.

    Args:
        x_factor: How far along the width, in parts of it: a number for both directions, or (from, to).
        y_factor: The same along the height.
        interpolation: "bilinear" or "nearest".
        fill_mode: "reflect", "constant" or "nearest": what stands beyond the edges.
        fill_value: What stands beyond the edges with "constant".
        data_format: Where the channels are.
        seed: With it, the same numbers every time.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        x_factor: Any = 0.0,
        y_factor: Any = 0.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.x_factor, self.y_factor = (
            factors(f"RandomShear: {name}", given, -1.0)
            for name, given in (("x_factor", x_factor), ("y_factor", y_factor))
        )
        self._moving(fill_mode, interpolation, fill_value)

    def _changed(self, x: Tensor) -> Tensor:
        way = ops.where(self._draw(len(x), 0.0, 1.0, x) > 0.5, -1.0, 1.0).to(x.dtype)
        across, along = (self._draw(len(x), *each, x) * way for each in (self.x_factor, self.y_factor))
        one, none = ops.ones_like(way), ops.zeros_like(way)
        rows = ops.stack([one, across, none, along, one, none, none, none], 1)
        return _image_ops.warped(x, rows, self.interpolation, self.fill_mode, self.fill_value)


class RandomPerspective(_Random):
    """Images seen from another side at random while it trains.

    Args:
        factor: How probable that is: a number for from nothing to it, or (from, to).
        scale: How far corners move, in parts of the image.
        interpolation: "bilinear" or "nearest".
        fill_value: What stands beyond the edges.
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    _moves = True

    def __init__(
        self,
        factor: Any = 1.0,
        scale: float = 1.0,
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.factor = factors("RandomPerspective: factor", factor)
        self.scale, self.interpolation, self.fill_value = scale, interpolation, fill_value

    def _changed(self, x: Tensor) -> Tensor:
        count, (high, wide) = len(x), x.shape[2:]
        chosen = self._draw(count, 0.0, 1.0, x) < self._draw(count, *self.factor, x)
        moves = self._draw(count * 8, -0.5 * self.scale, 0.5 * self.scale, x).reshape(count, 4, 2)
        corners = [[0, 0], [wide - 1, 0], [0, high - 1], [wide - 1, high - 1]]
        start = ops.tensor(corners, dtype=x.dtype, device=x.device).expand(count, 4, 2)
        rows = _image_ops.homography(start, start + start * moves)
        made = _image_ops.warped(x, rows, self.interpolation, "constant", self.fill_value)
        return ops.where(chosen.reshape(-1, 1, 1, 1), made, x)


class _Several(_Random):
    """What chooses among other changes at random."""

    value_range: Any

    def _kinds(self, amount: Any, interpolation: str, all_of_them: bool = True) -> dict[str, Any]:
        """The changes by name, each of this strength."""
        bits = max(1, int(8 * amount[1]))
        shared: dict[str, Any] = {"seed": self.seed, "data_format": "channels_first"}
        ranged_too = {**shared, "value_range": self.value_range}
        plain = {"value_range": self.value_range, "data_format": "channels_first"}
        found: dict[str, Any] = {
            "random_shear": RandomShear(amount, amount, interpolation, **shared),
            "random_translation": RandomTranslation(amount, amount, interpolation=interpolation, **shared),
            "random_rotation": RandomRotation(amount, interpolation=interpolation, **shared),
            "random_posterization": colors.RandomPosterization(bits, **ranged_too),
            "solarization": colors.Solarization(amount, amount, **ranged_too),
            "auto_contrast": colors.AutoContrast(**plain),
            "equalization": colors.Equalization(**plain),
        }
        if all_of_them:
            found |= {
                "random_brightness": RandomBrightness(amount, **ranged_too),
                "random_color_degeneration": colors.RandomColorDegeneration(amount, **ranged_too),
                "random_contrast": RandomContrast(amount, **ranged_too),
                "random_sharpness": colors.RandomSharpness(amount, **ranged_too),
            }
        return found

    def _one_of(self, kinds: list[Any], x: Tensor) -> Tensor:
        kind = kinds[int(ops.randint(0, len(kinds), (1,), generator=self._generator, device="cpu"))]
        if kind is None:
            return x
        made: Tensor = kind._changed(x) if isinstance(kind, _Random) else kind.call(x)
        return made


class RandAugment(_Several):
    """Images changed in a few ways that are drawn for each batch while it trains.

    Args:
        value_range: The range of the images' values.
        num_ops: How many changes are made one after the other.
        factor: How strong they are, from 0 to 1.
        interpolation: "bilinear" or "nearest".
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_ops: int = 2,
        factor: Any = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.value_range, self.num_ops, self.interpolation = value_range, num_ops, interpolation
        self.factor = factors("RandAugment: factor", factor)
        self._ways = list(self._kinds(self.factor, interpolation).values())

    def _changed(self, x: Tensor) -> Tensor:
        for _ in range(self.num_ops):
            x = self._one_of(self._ways, x)
        return x


class AugMix(_Several):
    """Images blended with several chains of changes of themselves while it trains.

    Args:
        value_range: The range of the images' values.
        num_chains: How many chains there are.
        chain_depth: How many changes a chain has at most.
        factor: How strong they are, from 0 to 1.
        alpha: How even the chains are mixed.
        all_ops: Whether brightness, colour, contrast and sharpness are among the changes.
        interpolation: "bilinear" or "nearest".
        seed: With it, the same choices every time.
        data_format: Where the channels are.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_chains: int = 3,
        chain_depth: int = 3,
        factor: Any = 0.3,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, data_format, **kwargs)
        self.value_range, self.num_chains, self.chain_depth = value_range, num_chains, chain_depth
        self.factor = factors("AugMix: factor", factor)
        self.alpha, self.all_ops, self.interpolation = alpha, all_ops, interpolation
        self._ways = [*self._kinds(self.factor, interpolation, all_ops).values(), None]

    def _changed(self, x: Tensor) -> Tensor:
        shares = random.gamma((self.num_chains,), self.alpha, seed=self._draws)
        shares = shares / shares.sum()
        kept = float(random.beta((1,), self.alpha, self.alpha, seed=self._draws))
        mixed = ops.zeros_like(x)
        for share in shares.tolist():
            chain = x
            for _ in range(self.chain_depth):
                chain = self._one_of(self._ways, chain)
            mixed = mixed + chain * share
        return ops.clamp(kept * x + (1.0 - kept) * mixed, *self.value_range)


class Pipeline(Layer):
    """Layers one after the other, as one layer.

    Args:
        layers: The layers.
        name: Its name.
    """

    def __init__(self, layers: Any, name: str | None = None) -> None:
        super().__init__(name=name)
        self._pipeline_layers = list(layers)
        self._trains_by_default = True

    @property
    def layers(self) -> list[Any]:
        """The layers."""
        return list(self._pipeline_layers)

    def call(self, inputs: Any, training: bool | None = True, mask: Any = None) -> Any:
        for layer in self._pipeline_layers:
            inputs = layer(inputs, training=training)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {"layers": [serialize_keras_object(each) for each in self._pipeline_layers], "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        return cls([deserialize_keras_object(each, None, "layers") for each in config["layers"]], config.get("name"))
