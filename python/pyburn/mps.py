"""torch.mps: Apple's Metal through torch is not here; the answers are no, and the calls do nothing."""

from __future__ import annotations

from typing import Any, NoReturn

from pyburn import _core
from pyburn.cuda._streams import Event, Stream

__all__ = [
    "Event",
    "Stream",
    "current_allocated_memory",
    "current_device",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "memory_allocated",
    "set_device",
    "set_per_process_memory_fraction",
    "synchronize",
]


def current_allocated_memory() -> int:
    """0, the bytes of such memory in use."""
    return 0


def driver_allocated_memory() -> int:
    """0, the bytes of such memory that are held."""
    return 0


def set_per_process_memory_fraction(fraction: float) -> None:
    """Nothing; there is no memory of such a device."""


def is_available() -> bool:
    """False: use ``pyburn.devices()`` to see which GPUs there are.

    Example:
        >>> is_available()
        False
    """
    return False


def device_count() -> int:
    """0, the number of such devices."""
    return 0


def current_device() -> NoReturn:
    """Nothing: raises, since there is none.

    Raises:
        DeviceError: Always.
    """
    raise _core.DeviceError("mps.current_device: there is no such device here; pyburn.devices() lists the GPUs.")


def set_device(device: Any) -> None:
    """Nothing; there is no device to choose."""


def synchronize(device: Any = None) -> None:
    """Nothing; returns when the default device has done its work."""
    _core.synchronize()


def empty_cache() -> None:
    """Nothing; there is no memory of such a device."""


def manual_seed(seed: int) -> None:
    """Nothing; ``pyburn.manual_seed`` seeds every device."""


def manual_seed_all(seed: int) -> None:
    """Nothing; ``pyburn.manual_seed`` seeds every device."""


def memory_allocated(device: Any = None) -> int:
    """0, the bytes of such memory in use."""
    return 0
