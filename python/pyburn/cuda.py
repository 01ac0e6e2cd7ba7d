"""What scripts written for CUDA ask: there is none here, so the answers are no, and the calls do nothing.

GPUs are reached through wgpu: ``pyburn.devices()`` lists them, ``device="wgpu"`` uses one.
"""

from __future__ import annotations

from typing import Any

from pyburn import _core

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """False: use ``pyburn.devices()`` to see which GPUs there are.

    Example:
        >>> is_available()
        False
    """
    return False


def device_count() -> int:
    """0, the number of CUDA devices.

    Example:
        >>> device_count()
        0
    """
    return 0


def is_initialized() -> bool:
    """False: there is nothing to initialize."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: no CUDA device, no bfloat16 on one."""
    return False


def current_device() -> int:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    raise _core.DeviceError("cuda.current_device: there is no CUDA here; pyburn.devices() lists the GPUs for wgpu.")


def get_device_name(device: Any = None) -> str:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    raise _core.DeviceError("cuda.get_device_name: there is no CUDA here; pyburn.devices() lists the GPUs for wgpu.")


def set_device(device: Any) -> None:
    """Nothing; there is no CUDA device to choose."""


def synchronize(device: Any = None) -> None:
    """Nothing; returns when the default device has done its work."""
    _core.synchronize()


def empty_cache() -> None:
    """Nothing; there is no CUDA memory."""


def ipc_collect() -> None:
    """Nothing; there is no CUDA memory."""


def manual_seed(seed: int) -> None:
    """Nothing; ``pyburn.manual_seed`` seeds every device."""


def manual_seed_all(seed: int) -> None:
    """Nothing; ``pyburn.manual_seed`` seeds every device."""


def memory_allocated(device: Any = None) -> int:
    """0, the bytes of CUDA memory in use."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0, the most bytes of CUDA memory that were in use."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0, the bytes of CUDA memory that are held."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0, the most bytes of CUDA memory that were held."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing; there is no CUDA memory."""
