"""What scripts written for CUDA ask: there is none here, so the answers are no, and the calls do nothing.

GPUs are reached through wgpu: ``pyburn.devices()`` lists them, ``device="wgpu"`` uses one.
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any, NoReturn

from pyburn import _core
from pyburn._absent import absent_class, absent_function
from pyburn.cuda._streams import Event, Stream, StreamContext, current_stream, default_stream, stream
from pyburn.cuda._tensors import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from pyburn.ops import random as _random

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "stream",
    "synchronize",
]

_NO_GRAPHS = ("there is no CUDA here", "run the work itself")
CUDAGraph: Any = absent_class("cuda.CUDAGraph", *_NO_GRAPHS)
graph: Any = absent_class("cuda.graph", *_NO_GRAPHS)
make_graphed_callables = absent_function("cuda.make_graphed_callables", *_NO_GRAPHS)
default_generators: tuple[_core.Generator, ...] = ()
has_half = False
_initialized = False
has_magma = False

# Loaded when first named: automatic precision stands above this layer.
_LAZY = ("amp", "memory", "nvtx", "random")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"pyburn.cuda.{name}")
    raise AttributeError(f"module 'pyburn.cuda' has no attribute '{name}'")


class OutOfMemoryError(RuntimeError):
    """What torch raises when a CUDA device has no memory left; there is none here, so nothing raises it."""


def _absent(name: str) -> NoReturn:
    raise _core.DeviceError(f"cuda.{name}: there is no CUDA here; pyburn.devices() lists the GPUs for wgpu.")


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
    _absent("current_device")


def get_device_name(device: Any = None) -> str:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("get_device_name")


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


def reset_max_memory_allocated(device: Any = None) -> None:
    """Nothing; there is no CUDA memory."""


def reset_max_memory_cached(device: Any = None) -> None:
    """Nothing; there is no CUDA memory."""


def memory_cached(device: Any = None) -> int:
    """0, the bytes of CUDA memory that are held."""
    return 0


def max_memory_cached(device: Any = None) -> int:
    """0, the most bytes of CUDA memory that were held."""
    return 0


def memory_stats(device: Any = None) -> dict[str, int]:
    """An empty dict; there is no CUDA memory."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """An empty text; there is no CUDA memory."""
    return ""


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("mem_get_info")


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Nothing; there is no CUDA memory."""


def get_device_properties(device: Any = None) -> NoReturn:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("get_device_properties")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("get_device_capability")


def get_arch_list() -> list[str]:
    """An empty list: nothing is compiled for CUDA."""
    return []


def init() -> None:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("init")


def seed() -> None:
    """Nothing; there is no CUDA generator."""


def seed_all() -> None:
    """Nothing; there is no CUDA generator."""


def initial_seed() -> int:
    """The seed of the one generator that there is."""
    return _random.initial_seed()


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """Nothing: raises, as torch does where CUDA is absent.

    Raises:
        DeviceError: Always.
    """
    _absent("get_rng_state")


def get_rng_state_all() -> list[_core.Tensor]:
    """An empty list: there is no CUDA device to have a state."""
    return []


def set_rng_state(new_state: _core.Tensor, device: Any = "cuda") -> None:
    """Nothing; there is no CUDA generator."""


def set_rng_state_all(new_states: Any) -> None:
    """Nothing; there are no CUDA generators."""


class device:
    """A block in which a CUDA device would be the current one; harmless without any.

    Example:
        >>> import pyburn
        >>> with pyburn.cuda.device(0):
        ...     pyburn.ones(1).device
        device(type='cpu')
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class device_of(device):
    """As `device`, for the device of a tensor."""


def is_current_stream_capturing() -> bool:
    """False: there are no CUDA graphs."""
    return False
