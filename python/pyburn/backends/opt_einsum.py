"""torch.backends.opt_einsum: einsum multiplies from left to right; the switches are kept."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: opt_einsum is not used.

    Example:
        >>> is_available()
        False
    """
    return False
