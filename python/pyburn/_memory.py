"""What tensors on the CPU take of its memory, and what is kept of it for the next ones."""

from __future__ import annotations

from pyburn import _core

__all__ = ["empty_cache", "memory_stats", "reset_peak_memory_stats"]


def memory_stats() -> dict[str, int]:
    """Bytes of CPU memory that tensors and kernels hold and held, and how often they asked for some.

    Returns:
        `live_bytes`, in use now; `peak_bytes`, the most that were in use since `reset_peak_memory_stats`;
        `cached_bytes`, freed and kept for the next tensors of such sizes; `allocations`, how often memory
        was asked for; `reused`, how often it was kept memory that answered. Scratch memory of kernels
        counts where it is 4 kB or more, memory of numpy arrays does not.

    Example:
        >>> import pyburn
        >>> before = pyburn.memory_stats()["live_bytes"]
        >>> x = pyburn.zeros(1000, 1000)
        >>> pyburn.memory_stats()["live_bytes"] - before
        4000000
    """
    return _core._memory_stats()


def reset_peak_memory_stats() -> None:
    """Nothing; `peak_bytes` begins anew at what is in use now.

    Example:
        >>> import pyburn
        >>> pyburn.reset_peak_memory_stats()
        >>> x = pyburn.zeros(1000, 1000).add(1)
        >>> stats = pyburn.memory_stats()
        >>> stats["peak_bytes"] - stats["live_bytes"] >= 4000000
        True
    """
    _core._reset_peak_memory()


def empty_cache() -> None:
    """Nothing; memory that was kept for the next tensors is the system's again.

    Example:
        >>> import pyburn
        >>> pyburn.empty_cache()
        >>> pyburn.memory_stats()["cached_bytes"]
        0
    """
    _core._empty_cache()
