"""torch._dynamo: the front end of torch's compiler, of which nothing is needed; its switches are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypeVar

from pyburn.compiler import allow_in_graph, disable, is_compiling, list_backends, reset

__all__ = ["allow_in_graph", "config", "disable", "graph_break", "is_compiling", "list_backends", "optimize", "reset"]

T = TypeVar("T")

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, verbose=False, optimize_ddp=False)


def graph_break(msg: str = "") -> None:
    """Nothing; there is no graph."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return lambda function: function


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """Nothing; every size may differ from call to call."""
