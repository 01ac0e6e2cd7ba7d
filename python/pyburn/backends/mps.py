"""torch.backends.mps: Apple's Metal through torch is not here; pyburn reaches such a GPU as "wgpu"."""

from __future__ import annotations


def is_available() -> bool:
    """False: use ``pyburn.devices()`` to see which GPUs there are.

    Example:
        >>> is_available()
        False
    """
    return False


def is_built() -> bool:
    """False: there is no Metal through MPS here."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: there is no Metal through MPS here."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: there is no Metal through MPS here."""
    return False
