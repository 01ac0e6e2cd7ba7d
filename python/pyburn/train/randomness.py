"""All random numbers that a run can draw on: caught and put back, so that a resumed run draws what it would have."""

from __future__ import annotations

import random
import sys
from typing import Any

from pyburn.ops import get_rng_state, set_rng_state

__all__ = ["capture", "restore"]


def capture(*loaders: Any) -> dict[str, Any]:
    """The states of pyburn's generator, Python's, numpy's where it is loaded, and of the generators of `loaders`."""
    state: dict[str, Any] = {"pyburn": get_rng_state(), "python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        state["numpy"] = (name, keys.tolist(), *rest)
    generators = [getattr(loader, "generator", None) for loader in loaders]
    state["loaders"] = [None if generator is None else generator.get_state() for generator in generators]
    return state


def restore(state: dict[str, Any], *loaders: Any) -> None:
    """Nothing; what is drawn next is what came after `capture`."""
    set_rng_state(state["pyburn"])
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        name, keys, *rest = state["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype="uint32"), *rest))
    for loader, saved in zip(loaders, state["loaders"], strict=True):
        if saved is not None:
            loader.generator.set_state(saved)
