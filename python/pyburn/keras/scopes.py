"""What stands at Keras's top level beside layers and models: its version, devices and names of parts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pyburn._core import device as _device
from pyburn.keras._context import placed

__all__ = ["__version__", "device", "name_scope", "remat", "version"]

F = TypeVar("F", bound=Callable[..., Any])

# The version of Keras whose names and behaviour this is.
__version__ = "3.15.1"


def version() -> str:
    """The version of Keras whose names and behaviour this is."""
    return __version__


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
    """While the block runs, new weights are put on this device ("cpu", "cpu:0", "gpu:0" or a name of pyburn's).

    Example:
        >>> from pyburn.keras import Dense
        >>> with device("cpu:0"):
        ...     layer = Dense(2)
    """
    name = device_name.lower().replace("/device:", "").lstrip("/") if isinstance(device_name, str) else device_name
    kind = name.split(":")[0] if isinstance(name, str) else ""
    chosen = "wgpu" if kind in ("gpu", "cuda") else "cpu" if kind == "cpu" else name
    with placed(_device(chosen)):
        yield


@contextlib.contextmanager
def name_scope(name: str, **kwargs: Any) -> Iterator[None]:
    """While the block runs, nothing differs: the names of weights come from the layers around them.

    Args:
        name: The name.
        **kwargs: Accepted for Keras's sake.
    """
    yield


def remat(f: F) -> F:
    """The function itself: `pyburn.utils.checkpoint` computes parts again to save memory.

    Example:
        >>> remat(len)([1, 2])
        2
    """
    return f
