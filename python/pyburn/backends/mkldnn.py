"""torch.backends.mkldnn: oneDNN is not in pyburn; its switches are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: oneDNN is not used.

    Example:
        >>> is_available()
        False
    """
    return False


@contextlib.contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """A block that runs as everywhere else."""
    yield
