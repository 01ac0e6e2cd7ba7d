"""Constants, and torch's switches for the whole process: each is kept and can be read back.

The CPU of pyburn gives the same numbers on every run whatever these say, so the switches for deterministic work and
for matrix precision change no result there.
"""

from __future__ import annotations

import math
import os
from typing import Any, Literal

from pyburn import _core
from pyburn._core import Tensor

__all__ = [
    "are_deterministic_algorithms_enabled",
    "e",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "inf",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "nan",
    "newaxis",
    "pi",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
]

pi = math.pi
e = math.e
inf = math.inf
nan = math.nan
newaxis = None

_EXPLORATIONS = "BURN_FUSION_MAX_EXPLORATIONS"  # of burn-fusion, which reads it once
_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_state: dict[str, Any] = {"deterministic": 0, "precision": "highest", "interop": 1, "warn_always": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing; the wish is kept, and the CPU gives the same numbers on every run anyway.

    On a GPU burn merges neighbouring operations; which ones depends on what the process did before, and merged ones
    round differently in the last digit. Asked for before the first tensor on a GPU, True turns that off for good: a run
    then has the same numbers in every process, at the cost of speed.

    Example:
        >>> import pyburn
        >>> pyburn.use_deterministic_algorithms(True)
        >>> pyburn.are_deterministic_algorithms_enabled()
        True
        >>> pyburn.use_deterministic_algorithms(False)

    Raises:
        TypeError: `mode` is no bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms: mode must be a bool, not {type(mode).__name__}")
    _state["deterministic"] = 0 if not mode else 1 if warn_only else 2
    if mode and _EXPLORATIONS not in os.environ:
        os.environ[_EXPLORATIONS], _state["unmerged"] = "0", True
    elif not mode and _state.pop("unmerged", False):
        os.environ.pop(_EXPLORATIONS, None)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic work was asked for."""
    return bool(_state["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether deterministic work was asked for with warnings instead of errors."""
    return bool(_state["deterministic"] == 1)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Nothing; as `use_deterministic_algorithms`, by "default", "warn" or "error", or their numbers."""
    number = (
        _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) and debug_mode in _DEBUG_MODES else debug_mode
    )
    if isinstance(number, str) or number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected one of {_DEBUG_MODES}, but got {debug_mode}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2 for "default", "warn" and "error".

    Example:
        >>> get_deterministic_debug_mode()
        0
    """
    return int(_state["deterministic"])


def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None:
    """Nothing; the wish is kept, and float32 products are always computed in float32."""
    if precision not in _PRECISIONS:
        raise RuntimeError(f"set_float32_matmul_precision: expected one of {_PRECISIONS}, but got {precision!r}")
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The precision that was asked for.

    Example:
        >>> get_float32_matmul_precision()
        'highest'
    """
    return str(_state["precision"])


def set_num_interop_threads(num: int) -> None:
    """Nothing; one operation runs at a time, with `set_num_threads` threads inside it."""
    if num <= 0:
        raise RuntimeError("Expected positive number of threads")
    _state["interop"] = num


def get_num_interop_threads() -> int:
    """The number that was set, or 1."""
    return int(_state["interop"])


def set_flush_denormal(mode: bool) -> bool:
    """False: tiny numbers are never rounded to zero, as torch answers where the processor cannot do it."""
    return False


def set_warn_always(b: bool) -> None:
    """Nothing; pyburn has no warnings that are given only once."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given."""
    return bool(_state["warn_always"])


def set_default_tensor_type(t: Any) -> None:
    """Nothing; from now on new float tensors have the dtype of this type or its name.

    Example:
        >>> import pyburn
        >>> pyburn.set_default_tensor_type("torch.DoubleTensor")
        >>> pyburn.zeros(1).dtype
        pyburn.float64
        >>> pyburn.set_default_tensor_type(pyburn.FloatTensor)
    """
    from pyburn import _legacy

    if isinstance(t, str):
        *where, name = t.split(".")
        if "cuda" in where:
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        t = getattr(_legacy, name, None)
    dtype = getattr(t, "dtype", None)
    if not isinstance(dtype, _core.dtype) or isinstance(t, Tensor):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    _core.set_default_dtype(dtype)


def typename(obj: Any, /) -> str:
    """The full name of an object's type, for tensors that of their legacy type.

    Example:
        >>> import pyburn
        >>> pyburn.typename(pyburn.ones(1)), pyburn.typename(1)
        ('pyburn.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"
