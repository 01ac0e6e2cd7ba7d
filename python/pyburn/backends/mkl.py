"""torch.backends.mkl: Intel's MKL is not in pyburn, whose kernels have threads of their own."""

from __future__ import annotations


def is_available() -> bool:
    """False: Intel's MKL is not used.

    Example:
        >>> is_available()
        False
    """
    return False
