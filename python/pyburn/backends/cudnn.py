"""torch.backends.cudnn: NVIDIA's library is not here; its switches are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: there is no cuDNN.

    Example:
        >>> is_available()
        False
    """
    return False


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: no tensor is one for cuDNN."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[bool, bool, int | None, bool, bool]:
    """The switches as they were before."""
    global enabled, benchmark, benchmark_limit, deterministic, allow_tf32
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    enabled = enabled if _enabled is None else _enabled
    benchmark = benchmark if _benchmark is None else _benchmark
    benchmark_limit = benchmark_limit if _benchmark_limit is None else _benchmark_limit
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """A block with these switches.

    Example:
        >>> from pyburn.backends import cudnn
        >>> with cudnn.flags(benchmark=True):
        ...     cudnn.benchmark
        True
    """
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
