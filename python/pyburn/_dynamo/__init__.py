"""torch._dynamo: the front end of torch's compiler, of which nothing is needed; its switches are kept."""

from __future__ import annotations

from typing import Any, TypeVar

from pyburn._absent import absent_class
from pyburn._dynamo import config
from pyburn.compiler import allow_in_graph, disable, is_compiling, list_backends, reset

__all__ = ["allow_in_graph", "config", "disable", "graph_break", "is_compiling", "list_backends", "optimize", "reset"]

T = TypeVar("T")
OptimizedModule: Any = absent_class(
    "_dynamo.OptimizedModule", "torch.compile gives the module itself", "use the module that you compiled"
)


def graph_break(msg: str = "") -> None:
    """Nothing; there is no graph."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return lambda function: function


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """Nothing; every size may differ from call to call."""
