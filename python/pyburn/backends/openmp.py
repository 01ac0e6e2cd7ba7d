"""torch.backends.openmp: OpenMP is not in pyburn, whose kernels have threads of their own."""

from __future__ import annotations


def is_available() -> bool:
    """False: OpenMP is not used.

    Example:
        >>> is_available()
        False
    """
    return False
