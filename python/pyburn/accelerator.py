"""torch.accelerator: the GPU asked without its vendor's name; none of torch's kinds is here."""

from __future__ import annotations

from typing import Any

from pyburn import _core

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


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


def current_accelerator(check_available: bool = False) -> _core.device | None:
    """None: programs then use the CPU; name ``"wgpu"`` for a GPU."""
    return None


def synchronize(device: Any = None) -> None:
    """Nothing; returns when the default device has done its work."""
    _core.synchronize()
