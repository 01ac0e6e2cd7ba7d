"""torch._dynamo.utils: questions about torch's compiler."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """True: `compile` gives every function back, and it runs on every device.

    Example:
        >>> is_compile_supported("cpu")
        True
    """
    return True
