"""torch._dynamo: the front end of torch's compiler, of which nothing is needed; its switches are kept."""

from __future__ import annotations

from typing import Any, TypeVar

from pyburn._dynamo import config
from pyburn._dynamo.eval_frame import OptimizedModule
from pyburn.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "list_backends",
    "optimize",
    "reset",
]

T = TypeVar("T")


def graph_break(msg: str = "") -> None:
    """Nothing; there is no graph."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return lambda function: function


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """Nothing; every size may differ from call to call."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_unbacked = mark_dynamic
nonstrict_trace = substitute_in_graph = allow_in_graph


def is_dynamo_supported() -> bool:
    """False: there is no such compiler here."""
    return False
