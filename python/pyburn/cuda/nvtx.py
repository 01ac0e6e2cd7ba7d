"""torch.cuda.nvtx: marks for NVIDIA's profiler, which sees nothing of pyburn; the calls do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_pop", "range_push"]

_depth = 0


def range_push(msg: str) -> int:
    """The depth of the range that begins.

    Example:
        >>> range_push("forward"), range_pop()
        (0, 0)
    """
    global _depth
    _depth += 1
    return _depth - 1


def range_pop() -> int:
    """The depth of the range that ends."""
    global _depth
    _depth -= 1
    return _depth


def mark(msg: str) -> None:
    """Nothing; there is no profiler to see the mark."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block that a profiler would show under this name."""
    range_push(msg)
    try:
        yield
    finally:
        range_pop()
