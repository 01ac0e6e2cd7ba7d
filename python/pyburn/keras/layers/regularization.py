"""Noise and losses against learning by heart."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras import regularizers
from pyburn.keras.layer import InputSpec, Layer
from pyburn.nn import functional

__all__ = [
    "ActivityRegularization",
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
]


class _Random(Layer):
    """What draws random numbers, from the global generator or from one of its own where there is a seed."""

    seed: int | None = None

    def _setup(self, seed: int | None) -> None:
        self.seed = seed
        self._generator = None if seed is None else ops.Generator().manual_seed(int(seed))
        self.supports_masking = True

    def _uniform(self, shape: Any, like: Tensor) -> Tensor:
        made = ops.rand(tuple(shape), generator=self._generator, device="cpu")
        return made.to(like.device, like.dtype)

    def _normal(self, like: Tensor) -> Tensor:
        return ops.randn(tuple(like.shape), generator=self._generator, device="cpu").to(like.device, like.dtype)


def _rate(name: str, rate: float) -> float:
    if not 0 <= rate <= 1:
        raise ValueError(f"{name}: rate is {rate}, but must be between 0 and 1")
    return rate


class Dropout(_Random):
    """While it trains, a share of the numbers is set to 0 and the rest is enlarged.

    Args:
        rate: The share.
        noise_shape: The shape of the mask, 1 where it is the same along an axis.
        seed: With it, the same masks every time.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Dropout(0.5)(pyburn.ones(3))
        tensor([1., 1., 1.])
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape = _rate(type(self).__name__, rate), noise_shape
        self._setup(seed)

    def _shape(self, inputs: Tensor) -> Any:
        if self.noise_shape is None:
            return inputs.shape
        return [own if given is None else given for own, given in zip(inputs.shape, self.noise_shape, strict=True)]

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if not training or self.rate == 0:
            return inputs
        if self.noise_shape is None and self._generator is None:
            return functional.dropout(inputs, self.rate, True)
        if self.rate == 1:
            return ops.zeros_like(inputs)
        kept = self._uniform(self._shape(inputs), inputs) >= self.rate
        return inputs * kept.to(inputs.dtype) / (1.0 - self.rate)


class _Spatial(Dropout):
    """Dropout of whole channels."""

    _rank = 1

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(rate, None, seed, name=name, dtype=dtype, **kwargs)
        self.data_format = "channels_last"
        self.input_spec = InputSpec(ndim=self._rank + 2)
        self.noise_shape = (None, *[1] * self._rank, None)

    def get_config(self) -> dict[str, Any]:
        config = {"rate": self.rate, "seed": self.seed, "name": self.name}
        return super().get_config() | config

    def _given_arguments(self) -> dict[str, Any]:
        return {key: value for key, value in super()._given_arguments().items() if key != "noise_shape"}


class SpatialDropout1D(_Spatial):
    """While it trains, whole channels of a sequence are set to 0."""


class _SpatialImage(_Spatial):
    def __init__(
        self,
        rate: float,
        data_format: str | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rate, seed, name, dtype, **kwargs)
        self.data_format = settings.data_format_of(data_format)
        ones = [1] * self._rank
        self.noise_shape = (None, *ones, None) if self.data_format == "channels_last" else (None, None, *ones)


class SpatialDropout2D(_SpatialImage):
    """While it trains, whole channels of an image are set to 0."""

    _rank = 2


class SpatialDropout3D(_SpatialImage):
    """While it trains, whole channels of a volume are set to 0."""

    _rank = 3


class GaussianNoise(_Random):
    """While it trains, normal noise is added.

    Args:
        stddev: The noise's standard deviation.
        seed: With it, the same noise every time.
        **kwargs: See `Layer`.
    """

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= stddev <= 1:
            raise ValueError(f"GaussianNoise: stddev is {stddev}, but must be between 0 and 1")
        self.stddev = stddev
        self._setup(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return inputs + self.stddev * self._normal(inputs) if training and self.stddev > 0 else inputs


class GaussianDropout(_Random):
    """While it trains, numbers are multiplied by normal noise around 1.

    Args:
        rate: The share that a dropout of the same strength would drop.
        seed: With it, the same noise every time.
        **kwargs: See `Layer`.
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = _rate("GaussianDropout", rate)
        self._setup(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if not training or self.rate == 0:
            return inputs
        return inputs * (1.0 + math.sqrt(self.rate / (1.0 - self.rate)) * self._normal(inputs))


class AlphaDropout(_Random):
    """The dropout of networks of SELUs: mean and variance stay.

    Args:
        rate: The share that is dropped.
        noise_shape: The shape of the mask, 1 where it is the same along an axis.
        seed: With it, the same masks every time.
        **kwargs: See `Layer`.
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape = _rate("AlphaDropout", rate), noise_shape
        self._setup(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if not training or self.rate == 0:
            return inputs
        # What a SELU gives far below zero.
        low = -1.0507009873554805 * 1.6732632423543772
        shape = inputs.shape if self.noise_shape is None else self.noise_shape
        shape = [own if given is None else given for own, given in zip(inputs.shape, shape, strict=True)]
        kept = (self._uniform(shape, inputs) >= self.rate).to(inputs.dtype)
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        return a * (inputs * kept + low * (1 - kept)) - a * low * self.rate


class ActivityRegularization(Layer):
    """What it is given, whose size is part of the loss.

    Args:
        l1: The factor of the sum of sizes.
        l2: The factor of the sum of squares.
        **kwargs: See `Layer`.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)
        self.l1, self.l2 = l1, l2
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("activity_regularizer", None)
        return config
