"""Layers made without drawing their first weights."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from pyburn.nn.module import Module
from pyburn.ops import get_rng_state, set_rng_state

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A layer whose weights are arbitrary; the random number generator is as before.

    Args:
        module_cls: The layer's class, which takes `device`.
        *args: Its arguments.
        **kwargs: Its keyword arguments.

    Raises:
        RuntimeError: It is no Module, or takes no `device`.

    Example:
        >>> from pyburn import nn
        >>> nn.utils.skip_init(nn.Linear, 2, 3)
        Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        set_rng_state(state)
