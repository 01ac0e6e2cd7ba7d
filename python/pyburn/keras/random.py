"""Random tensors with Keras's names; a seed gives the same numbers every time, none those of `set_random_seed`."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as _settings

__all__ = [
    "SeedGenerator",
    "beta",
    "binomial",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]


class SeedGenerator:
    """Seeds one after the other: each draw with it gives other numbers, in the same order in every run.

    Args:
        seed: The first; without one, a random one.
        name: Accepted for Keras's sake.
        **kwargs: Accepted for Keras's sake.

    Example:
        >>> draws = SeedGenerator(3)
        >>> bool((uniform((2,), seed=draws) == uniform((2,), seed=draws)).all())
        False
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **kwargs: Any) -> None:
        self._initial_seed = int(ops.randint(0, 2**31 - 1, ()).item()) if seed is None else int(seed)
        self._generator = ops.Generator().manual_seed(self._initial_seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same generator."""
        return {"seed": self._initial_seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """The generator that `get_config` described."""
        return cls(**config)


def _source(seed: Any) -> Any:
    if isinstance(seed, SeedGenerator):
        return seed._generator
    return None if seed is None else ops.Generator().manual_seed(int(seed))


def _kind(dtype: Any) -> Any:
    return _settings.as_dtype(dtype or _settings.floatx())


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of a normal distribution.

    Example:
        >>> normal((2, 3), seed=0).shape
        pyburn.Size([2, 3])
    """
    made: Tensor = ops.randn(tuple(shape), generator=_source(seed), dtype=_kind(dtype))
    return made * stddev + mean


def uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers between two bounds, each as likely as another."""
    made: Tensor = ops.rand(tuple(shape), generator=_source(seed), dtype=_kind(dtype))
    return made * (maxval - minval) + minval


def randint(shape: Any, minval: int, maxval: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Whole numbers from `minval` to below `maxval`."""
    made: Tensor = ops.randint(int(minval), int(maxval), tuple(shape), generator=_source(seed))
    return made.to(_settings.as_dtype(dtype))


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of a normal distribution that are no farther than two deviations from its mean.

    Example:
        >>> bool((truncated_normal((1000,), seed=0).abs() <= 2).all())
        True
    """
    # The inverse of the distribution, of shares between those of the two bounds.
    low = 0.02275013194817921
    shares = ops.rand(tuple(shape), generator=_source(seed), dtype=_kind(dtype)) * (1 - 2 * low) + low
    made: Tensor = ops.erfinv(2 * shares - 1) * 2**0.5
    return made.clamp(-2.0, 2.0) * stddev + mean


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Tensor:
    """The inputs with a share of them set to 0 and the others larger by what was lost."""
    inputs = inputs if isinstance(inputs, Tensor) else ops.as_tensor(inputs)
    if not 0 <= rate < 1:
        raise ValueError(f"dropout: rate is {rate}, but must be from 0 to below 1")
    shape = tuple(inputs.shape) if noise_shape is None else noise_shape
    shape = tuple(size if given is None else given for given, size in zip(shape, inputs.shape, strict=True))
    kept = ops.rand(shape, generator=_source(seed), device="cpu").to(inputs.device) >= rate
    found: Tensor = ops.where(kept, inputs / (1 - rate), ops.zeros_like(inputs))
    return found


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Tensor:
    """`x` with its entries along an axis in random order."""
    x = x if isinstance(x, Tensor) else ops.as_tensor(x)
    order = ops.randperm(x.shape[axis], generator=_source(seed))
    found: Tensor = x.index_select(axis, order.to(x.device))
    return found


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Classes drawn by their logits, `num_samples` for each row."""
    logits = logits if isinstance(logits, Tensor) else ops.as_tensor(logits)
    drawn = ops.multinomial(logits.softmax(-1), num_samples, replacement=True, generator=_source(seed))
    return drawn.to(_settings.as_dtype(dtype))


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of gamma distributions of rate 1 (by the method of Marsaglia and Tsang).

    Example:
        >>> bool((gamma((1000,), 2.0, seed=0) > 0).all())
        True
    """
    wanted = ops.as_tensor(alpha).float().expand(tuple(shape)).reshape([-1])
    source = _source(seed)
    d = ops.where(wanted < 1.0, wanted + 1.0, wanted) - 1.0 / 3.0
    c = (9.0 * d) ** -0.5
    found, missing = ops.zeros_like(wanted), ops.ones_like(wanted).bool()
    while bool(missing.any()):
        number, chance = ops.randn(len(wanted), generator=source), ops.rand(len(wanted), generator=source)
        cube = (1.0 + c * number) ** 3
        log = ops.log(ops.clamp(cube, min=1e-30))
        fits = missing & (cube > 0) & (ops.log(chance) < 0.5 * number**2 + d * (1.0 - cube + log))
        found, missing = ops.where(fits, d * cube, found), missing & ~fits
    # A shape below 1 is one of more than 1 times a power of chance.
    small = ops.rand(len(wanted), generator=source) ** (1.0 / wanted)
    made: Tensor = ops.clamp(ops.where(wanted < 1.0, found * small, found), min=1e-30)
    return made.reshape(tuple(shape)).to(_kind(dtype))


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of beta distributions, between 0 and 1."""
    source = seed if isinstance(seed, SeedGenerator) or seed is None else SeedGenerator(int(seed))
    one, two = gamma(shape, alpha, None, source), gamma(shape, beta, None, source)
    found: Tensor = one / (one + two)
    return found.to(_kind(dtype))


def binomial(shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """How many of `counts` tries succeed.

    Example:
        >>> binomial((3,), 5, 1.0, seed=0)
        tensor([5., 5., 5.])
    """
    tries = ops.as_tensor(counts).long().expand(tuple(shape))
    chance = ops.as_tensor(probabilities).float().expand(tuple(shape))
    most = int(tries.max()) if tries.numel() else 0
    draws = ops.rand((most, *shape), generator=_source(seed))
    numbers = ops.arange(most).reshape([-1] + [1] * len(tuple(shape)))
    found: Tensor = ((draws < chance) & (numbers < tries)).sum(0)
    return found.to(_kind(dtype))
