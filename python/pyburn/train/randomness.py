"""All random numbers that a run can draw on: caught and put back, so that a resumed run draws what it would have."""

from __future__ import annotations

import random
import struct
import sys
from typing import Any

from pyburn.ops import get_rng_state, set_rng_state

__all__ = ["capture", "packed", "restore"]


def capture(*loaders: Any) -> dict[str, Any]:
    """The states of pyburn's generator, Python's, numpy's where it is loaded, and of the generators of `loaders`."""
    state: dict[str, Any] = {"pyburn": get_rng_state(), "python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    generators = [getattr(loader, "generator", None) for loader in loaders]
    state["loaders"] = [None if generator is None else generator.get_state() for generator in generators]
    return state


def packed(state: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same as text, for a file: numbers one by one would take most of the time of a small checkpoint."""
    if state is None or isinstance(state["python"][1], str):
        return state
    version, numbers, gauss = state["python"]
    made = {**state, "python": (version, struct.pack(f"<{len(numbers)}I", *numbers).hex(), gauss)}
    if "numpy" in state:
        name, keys, *rest = state["numpy"]
        made["numpy"] = (name, keys.astype("<u4").tobytes().hex(), *rest)
    return made


def restore(state: dict[str, Any], *loaders: Any) -> None:
    """Nothing; what is drawn next is what came after `capture`, which may have been `packed` since."""
    state = packed(state) or state
    set_rng_state(state["pyburn"])
    version, text, gauss = state["python"]
    random.setstate((version, struct.unpack(f"<{len(text) // 8}I", bytes.fromhex(text)), gauss))
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        name, text, *rest = state["numpy"]
        numpy.random.set_state((name, numpy.frombuffer(bytes.fromhex(text), "<u4").astype("uint32"), *rest))
    for loader, saved in zip(loaders, state["loaders"], strict=True):
        if saved is not None:
            loader.generator.set_state(saved)
