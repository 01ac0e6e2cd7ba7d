"""All random numbers that a run can draw on: caught and put back, so that a resumed run draws what it would have."""

from __future__ import annotations

import random
import struct
import sys
from typing import Any

from pyburn.ops import get_rng_state, set_rng_state

__all__ = ["capture", "restore"]


def capture(*loaders: Any) -> dict[str, Any]:
    """The states of pyburn's generator, Python's, numpy's where it is loaded, and of the generators of `loaders`."""
    version, numbers, gauss = random.getstate()
    # As text: hundreds of numbers one by one would take most of the time of a small checkpoint.
    packed = struct.pack(f"<{len(numbers)}I", *numbers).hex()
    state: dict[str, Any] = {"pyburn": get_rng_state(), "python": (version, packed, gauss)}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        state["numpy"] = (name, keys.astype("<u4").tobytes().hex(), *rest)
    generators = [getattr(loader, "generator", None) for loader in loaders]
    state["loaders"] = [None if generator is None else generator.get_state() for generator in generators]
    return state


def restore(state: dict[str, Any], *loaders: Any) -> None:
    """Nothing; what is drawn next is what came after `capture`."""
    set_rng_state(state["pyburn"])
    version, packed, gauss = state["python"]
    random.setstate((version, struct.unpack(f"<{len(packed) // 8}I", bytes.fromhex(packed)), gauss))
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        name, packed, *rest = state["numpy"]
        numpy.random.set_state((name, numpy.frombuffer(bytes.fromhex(packed), "<u4").astype("uint32"), *rest))
    for loader, saved in zip(loaders, state["loaders"], strict=True):
        if saved is not None:
            loader.generator.set_state(saved)
