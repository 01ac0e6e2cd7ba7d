"""First values of weights, by name, dictionary or object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn import nn, ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras import config as settings
from pyburn.keras._registry import Configured, by_name, getter, serialize_keras_object
from pyburn.keras._registry import deserialize_keras_object as _deserialize

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "deserialize",
    "get",
    "serialize",
]


class Initializer(Configured):
    """Gives the first values of a weight: a subclass has `__call__(shape, dtype)`."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """A tensor of that shape."""
        raise NotImplementedError(f"{type(self).__name__}: an initializer must define __call__(shape, dtype=None)")

    def clone(self) -> Any:
        """Another one with the same settings."""
        return type(self).from_config(self.get_config())


def _dtype(dtype: Any) -> Any:
    return settings.as_dtype(dtype or settings.floatx())


class Zeros(Initializer):
    """All values 0."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        return ops.zeros(tuple(shape), dtype=_dtype(dtype), device="cpu")


class Ones(Initializer):
    """All values 1."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        return ops.ones(tuple(shape), dtype=_dtype(dtype), device="cpu")


class Constant(Initializer):
    """All values `value`, a number or what can be broadcast to the shape.

    Example:
        >>> Constant(3.0)((2,))
        tensor([3., 3.])
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        given = ops.as_tensor(self.value, dtype=_dtype(dtype), device="cpu")
        return given.broadcast_to(tuple(shape)).clone()


class Identity(Initializer):
    """The identity matrix times `gain`."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        if len(shape) != 2:
            raise ValueError(f"Identity: a matrix has 2 dimensions, but the shape is {tuple(shape)}")
        return self.gain * ops.eye(*shape, dtype=_dtype(dtype), device="cpu")


class _Random(Initializer):
    seed: int | None = None

    def _generator(self) -> Any:
        return None if self.seed is None else ops.Generator().manual_seed(int(self.seed))


class RandomNormal(_Random):
    """Numbers of a normal distribution."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        made = ops.empty(tuple(shape), dtype=_dtype(dtype), device="cpu")
        return made.normal_(self.mean, self.stddev, generator=self._generator())


class RandomUniform(_Random):
    """Numbers between `minval` and `maxval`, all equally likely."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        made = ops.empty(tuple(shape), dtype=_dtype(dtype), device="cpu")
        return made.uniform_(self.minval, self.maxval, generator=self._generator())


class TruncatedNormal(_Random):
    """Numbers of a normal distribution within two standard deviations."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        made = ops.empty(tuple(shape), dtype=_dtype(dtype), device="cpu")
        low, high = self.mean - 2 * self.stddev, self.mean + 2 * self.stddev
        return nn.init.trunc_normal_(made, self.mean, self.stddev, low, high, generator=self._generator())


class VarianceScaling(_Random):
    """Numbers whose variance is `scale` over the fan-in, the fan-out or their mean.

    Args:
        scale: The factor.
        mode: "fan_in", "fan_out" or "fan_avg".
        distribution: "truncated_normal", "untruncated_normal" or "uniform".
        seed: With it, the same numbers every time.
        input_axes: The axes of the shape that count as inputs, where the last but one is not the one.
        output_axes: The axes of the shape that count as outputs, where the last is not the one.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        if scale <= 0:
            raise ValueError(f"VarianceScaling: scale is {scale}, but must be positive")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"VarianceScaling: mode is {mode!r}, but must be fan_in, fan_out or fan_avg")
        distribution = "truncated_normal" if distribution == "normal" else distribution
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"VarianceScaling: distribution is {distribution!r}, but must be uniform, truncated_normal or "
                "untruncated_normal"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.input_axes, self.output_axes = input_axes, output_axes

    def _fans(self, shape: Sequence[int]) -> tuple[int, int]:
        if self.input_axes is not None and self.output_axes is not None:
            return math.prod(shape[a] for a in self.input_axes), math.prod(shape[a] for a in self.output_axes)
        if len(shape) < 2:
            size = shape[0] if shape else 1
            return size, size
        field = math.prod(shape[:-2])
        return field * shape[-2], field * shape[-1]

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        fan_in, fan_out = self._fans(shape)
        over = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        scale = self.scale / max(1.0, over)
        made = ops.empty(tuple(shape), dtype=_dtype(dtype), device="cpu")
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return made.uniform_(-limit, limit, generator=self._generator())
        if self.distribution == "untruncated_normal":
            return made.normal_(0.0, math.sqrt(scale), generator=self._generator())
        # The standard deviation of a normal distribution that is cut at two of its own.
        deviation = math.sqrt(scale) / 0.87962566103423978
        return nn.init.trunc_normal_(made, 0.0, deviation, -2 * deviation, 2 * deviation, generator=self._generator())


class _Scaled(VarianceScaling):
    _settings: tuple[float, str, str] = (1.0, "fan_in", "uniform")

    def __init__(
        self,
        seed: int | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(*self._settings, seed, input_axes, output_axes)


class GlorotUniform(_Scaled):
    """Glorot's uniform numbers, the default of most layers."""

    _settings = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Glorot's normal numbers."""

    _settings = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    """He's uniform numbers, for layers before a ReLU."""

    _settings = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """He's normal numbers, for layers before a ReLU."""

    _settings = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """LeCun's uniform numbers."""

    _settings = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    """LeCun's normal numbers, for layers before a SELU."""

    _settings = (1.0, "fan_in", "truncated_normal")


class Orthogonal(_Random):
    """A matrix whose rows or columns are orthogonal, times `gain`."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: the shape {tuple(shape)} has less than 2 dimensions")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        with no_grad():
            flat = ops.empty(rows, columns, dtype=_dtype(dtype), device="cpu")
            made = nn.init.orthogonal_(flat, self.gain, generator=self._generator())
        return made.reshape(tuple(shape))


_NAMES = by_name(
    Constant,
    GlorotNormal,
    GlorotUniform,
    HeNormal,
    HeUniform,
    Identity,
    LecunNormal,
    LecunUniform,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    VarianceScaling,
    Zeros,
    IdentityInitializer=Identity,
    OrthogonalInitializer=Orthogonal,
    normal=RandomNormal,
    one=Ones,
    uniform=RandomUniform,
    zero=Zeros,
)
IdentityInitializer, OrthogonalInitializer = Identity, Orthogonal
# Keras has its classes under these names too.
constant, identity, ones, orthogonal, zeros = Constant, Identity, Ones, Orthogonal, Zeros
glorot_normal, glorot_uniform, he_normal, he_uniform = GlorotNormal, GlorotUniform, HeNormal, HeUniform
lecun_normal, lecun_uniform, variance_scaling = LecunNormal, LecunUniform, VarianceScaling
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
get = getter("initializers", Initializer, _NAMES)
serialize = serialize_keras_object


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer that `serialize` described."""
    return _deserialize(config, custom_objects, "initializers")
