"""torch.multiprocessing: Python's own, where tensors that are sent move to shared memory, with `spawn`."""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from pyburn import _sharing
from pyburn.multiprocessing import reductions as reductions
from pyburn.multiprocessing._processes import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *(name for name in multiprocessing.__all__),
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """The ways in which other processes can be told of shared memory on this system.

    Example:
        >>> "file_system" in get_all_sharing_strategies()
        True
    """
    return set(_sharing.STRATEGIES)


def get_sharing_strategy() -> str:
    """The way in which other processes are told of memory that is shared from now on."""
    return _sharing.strategy()


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing; memory that is shared from now on is told to others in this way.

    Args:
        new_strategy: "file_descriptor" keeps a descriptor open for each storage and sends it, so that nothing is left
            behind whatever happens; "file_system" needs none, and lets a tensor outlive its sender, by files with names
            (in /dev/shm), which Python's resource tracker removes after processes that were killed.

    Raises:
        AssertionError: There is no such way here.
    """
    _sharing.set_strategy(new_strategy)
