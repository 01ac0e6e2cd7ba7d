"""torch.cpu: the CPU asked in the words of a GPU."""

from __future__ import annotations

import contextlib
import importlib as _importlib
from collections.abc import Iterator
from typing import Any

from pyburn.cuda._streams import Event, Stream, current_stream

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def __getattr__(name: str) -> object:
    if name == "amp":
        return _importlib.import_module("pyburn.cpu.amp")
    raise AttributeError(f"module 'pyburn.cpu' has no attribute '{name}'")


def is_available() -> bool:
    """True: there is always a CPU.

    Example:
        >>> is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """True: the CPU needs no start."""
    return True


def device_count() -> int:
    """1: all cores together are one device."""
    return 1


def current_device() -> str:
    """The device's name, "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing; there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Nothing; the CPU has done its work when a call returns."""


@contextlib.contextmanager
def stream(stream: Any) -> Iterator[None]:
    """A block that runs as everywhere else."""
    yield
