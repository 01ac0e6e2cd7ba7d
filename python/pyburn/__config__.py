"""torch.__config__: how the library was built."""

from __future__ import annotations

import platform

from pyburn import _core

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A text about the build.

    Example:
        >>> show().splitlines()[0]
        'pyburn built with:'
    """
    return (
        f"pyburn built with:\n  - burn, in Rust\n  - Python {platform.python_version()}\n  - no CUDA, wgpu for GPUs\n"
    )


def parallel_info() -> str:
    """A text about threads."""
    return f"pyburn parallel info:\n\tthreads: {_core.get_num_threads()}\n"
