"""All random numbers that a run can draw on: caught and put back, so that a resumed run draws what it would have."""

from __future__ import annotations

import json
import random
import struct
import sys
from typing import Any

from pyburn._core import Generator
from pyburn.ops import get_rng_state, manual_seed, set_rng_state

__all__ = ["capture", "packed", "restore", "seed"]

_HELD = ("batch_sampler", "dataset", "datasets", "sampler")


def seed(number: int) -> None:
    """Nothing; pyburn's numbers, Python's, and numpy's where it is loaded begin from `number`."""
    manual_seed(number)
    random.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % 2**32)


def capture(*loaders: Any) -> dict[str, Any]:
    """The states of pyburn's generator, Python's, numpy's where it is loaded, and of those that `loaders` hold."""
    state: dict[str, Any] = {"pyburn": get_rng_state(), "python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    state["sources"] = [_state_of(source) for source in _sources(loaders)]
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
    for source, saved in zip(_sources(loaders), state["sources"], strict=False):
        _put_back(source, saved)


def _sources(loaders: tuple[Any, ...]) -> list[Any]:
    """The generators that loaders, their samplers and their datasets have of their own, always in one order."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    waiting = list(loaders)
    while waiting:
        holder = waiting.pop(0)
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        for name, value in getattr(holder, "__dict__", {}).items():
            if _is_source(value):
                found[id(value)] = value
            elif name in _HELD:
                waiting += value if name == "datasets" and isinstance(value, (list, tuple)) else [value]
    return list(found.values())


def _is_source(value: Any) -> bool:
    # By its shape: numpy need not be loaded.
    return isinstance(value, (Generator, random.Random)) or hasattr(value, "bit_generator")


def _state_of(source: Any) -> Any:
    if isinstance(source, Generator):
        return source.get_state()
    if isinstance(source, random.Random):
        return json.dumps(source.getstate())
    return json.dumps(source.bit_generator.state, default=lambda array: array.tolist())


def _put_back(source: Any, saved: Any) -> None:
    if isinstance(source, Generator):
        source.set_state(saved)
    elif isinstance(source, random.Random):
        version, numbers, gauss = json.loads(saved)
        source.setstate((version, tuple(numbers), gauss))
    else:
        source.bit_generator.state = json.loads(saved)
