"""What can compute here: the devices of this machine and the backends by their names."""

from __future__ import annotations

import enum
import platform
from typing import NamedTuple

from pyburn import _core

__all__ = ["Backend", "DeviceInfo", "devices"]


class Backend(enum.Enum):
    """An engine for tensors; members may be given wherever a `device=` is expected.

    Example:
        >>> import pyburn
        >>> pyburn.zeros(1, device=pyburn.Backend.NDARRAY).device
        device(type='cpu')
    """

    NDARRAY = "ndarray"
    """The CPU."""
    WGPUDEVICE = "wgpudevice"
    """A GPU of any vendor through wgpu."""
    FUSIONJITBACKEND = "fusionjitbackend"
    """wgpu with kernel fusion, which is always on."""
    PYTORCH = "pytorch"
    """libtorch, which this wheel does not have: using it raises DeviceError."""


class DeviceInfo(NamedTuple):
    """A device that is really there."""

    device: _core.device
    name: str
    kind: str
    """`cpu` or `wgpu`."""
    software: bool
    """Whether a GPU is only imitated by the CPU; such a one is never chosen by default."""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as facts:
            names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    except OSError:
        names = []
    return (names or [platform.processor() or platform.machine()])[0]


def devices() -> list[DeviceInfo]:
    """The devices that tensors can live on: the CPU first, then the adapters that wgpu finds.

    Example:
        >>> import pyburn
        >>> pyburn.devices()[0].kind
        'cpu'
    """
    found = [DeviceInfo(_core.device("cpu"), _processor(), "cpu", False)]
    for place, name, software in _core._adapters():
        found.append(DeviceInfo(_core.device(place), name, "wgpu", software))
    return found
