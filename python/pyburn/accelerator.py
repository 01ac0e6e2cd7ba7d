"""torch.accelerator: the GPU asked for without its vendor's name; here it is the one that wgpu finds.

A software adapter does not count, as in the choice of the default device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyburn import _core
from pyburn._devices import devices

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a GPU.

    Example:
        >>> is_available() == (device_count() > 0)
        True
    """
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs.

    Example:
        >>> device_count() >= 0
        True
    """
    return sum(found.kind == "wgpu" and not found.software for found in devices())


def current_accelerator(check_available: bool = False) -> _core.device | None:
    """The device of the GPU without a number; None where there is no GPU.

    Example:
        >>> device = current_accelerator().type if is_available() else "cpu"
        >>> device in ("cpu", "wgpu")
        True
    """
    return _core.device("wgpu") if is_available() else None


def current_device_index() -> int:
    """0: tensors go to the first GPU unless another is named.

    Raises:
        RuntimeError: If there is no GPU.
    """
    if not is_available():
        raise RuntimeError("accelerator: there is no GPU here; pyburn.devices() lists what there is.")
    return 0


def set_device_index(device: Any, /) -> None:
    """Nothing: name a GPU by its number instead, as in ``"wgpu:1"``."""


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """A context that changes nothing: name a GPU by its number instead."""
    yield


def current_stream(device: Any = None, /) -> Any:
    """The one queue of work of the GPU."""
    from pyburn.cuda import current_stream  # one class of streams for both

    return current_stream(device)


def set_stream(stream: Any) -> None:
    """Nothing: there is one queue."""


def synchronize(device: Any = None, /) -> None:
    """Nothing; returns when the default device has done its work."""
    _core.synchronize()


def empty_cache() -> None:
    """Nothing: wgpu gives memory back by itself."""


def memory_stats(device_index: Any = None, /) -> dict[str, int]:
    """Nothing is known of the memory of a GPU: an empty dictionary."""
    return {}


def memory_allocated(device_index: Any = None, /) -> int:
    """0: what a GPU holds is not counted."""
    return 0


def max_memory_allocated(device_index: Any = None, /) -> int:
    """0: what a GPU holds is not counted."""
    return 0


def memory_reserved(device_index: Any = None, /) -> int:
    """0: what a GPU holds is not counted."""
    return 0


def max_memory_reserved(device_index: Any = None, /) -> int:
    """0: what a GPU holds is not counted."""
    return 0


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Nothing: there is no peak to forget."""


current_device_idx = current_device_index
set_device_idx = set_device_index
