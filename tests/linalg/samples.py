"""Matrices for the tests of linear algebra, drawn with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    """Normal values: matrices that are well enough conditioned."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def regular(*shape: int, seed: int = 0) -> Array:
    """Square matrices far from singular."""
    return normal(*shape, seed=seed) + 3.0 * np.eye(shape[-1])


def definite(*shape: int, seed: int = 0) -> Array:
    """Positive-definite matrices."""
    a = normal(*shape, seed=seed)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])
