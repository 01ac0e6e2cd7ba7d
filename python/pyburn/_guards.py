"""torch._guards: what tracing compilers know of the tensors they pretend to compute; here nobody pretends."""

from __future__ import annotations

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """The mode in which tensors have no values, of which there is none: the meta device does that."""
    return


def detect_fake_mode(inputs: Any = None) -> None:
    """The mode of these inputs, of which there is none."""
    return
