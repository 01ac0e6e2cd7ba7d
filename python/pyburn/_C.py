"""torch._C: the few names of torch's own binary that programs reach for.

Switches of compilers that are not here answer that they are off. What only torch's binary has is absent, so that
programs which look for it with `hasattr` take their other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn import fft as _fft
from pyburn import linalg as _linalg
from pyburn import special as _special
from pyburn._core import Generator, Tensor, _set_grad_enabled, device, dtype
from pyburn._formats import layout, memory_format
from pyburn._size import Size
from pyburn._storage import TypedStorage, UntypedStorage
from pyburn._subclass import disabled
from pyburn.autograd.engine import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from pyburn.cuda import Event, Stream
from pyburn.futures import Future
from pyburn.jit import ScriptFunction, ScriptModule
from pyburn.nn import functional as _nn

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Event",
    "Future",
    "Generator",
    "ScriptFunction",
    "ScriptModule",
    "Size",
    "Stream",
    "TypedStorage",
    "UntypedStorage",
    "_TensorBase",
    "_disabled_torch_function_impl",
    "_fft",
    "_get_tracing_state",
    "_is_tracing",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_nvfuser_enabled",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_linalg",
    "_log_api_usage_once",
    "_nn",
    "_set_grad_enabled",
    "_special",
    "device",
    "dtype",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "layout",
    "memory_format",
    "set_anomaly_enabled",
]

_TensorBase = Tensor
_GLIBCXX_USE_CXX11_ABI = True
has_cuda = has_cudnn = has_mkl = has_mps = has_xpu = False
has_lapack = has_openmp = has_spectral = True
DisableTorchFunction = DisableTorchFunctionSubclass = disabled


def _disabled_torch_function_impl(
    func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """What `func` gives for plain tensors: the `__torch_function__` of a subclass that stays out of the results."""
    with disabled():
        return func(*args, **(kwargs or {}))


def _log_api_usage_once(key: str) -> None:
    """Nothing; nobody is told what a program uses."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """False: it was off before, and there is no compiler that would use it."""
    return False


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """False: it was off before, and there is no compiler that would use it."""
    return False


def _jit_override_can_fuse_on_cpu(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_override_can_fuse_on_gpu(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_set_nvfuser_enabled(enabled: bool) -> bool:
    """False: it was off before, and there is no such compiler."""
    return False
