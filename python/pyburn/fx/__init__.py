"""torch.fx: graphs of Python programs, which pyburn does not make; it can be imported, and raises when it is used."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from pyburn._absent import absent_class, absent_function

T = TypeVar("T")

_WHY = ("pyburn does not trace programs", "call the module itself, or use hooks to see inside it")

symbolic_trace = absent_function("fx.symbolic_trace", *_WHY)
replace_pattern = absent_function("fx.replace_pattern", *_WHY)
Graph: Any = absent_class("fx.Graph", *_WHY)
GraphModule: Any = absent_class("fx.GraphModule", *_WHY)
Interpreter: Any = absent_class("fx.Interpreter", *_WHY)
Node: Any = absent_class("fx.Node", *_WHY)
Proxy: Any = absent_class("fx.Proxy", *_WHY)
Tracer: Any = absent_class("fx.Tracer", *_WHY)
Transformer: Any = absent_class("fx.Transformer", *_WHY)


def wrap(fn_or_name: T) -> T:
    """The function or its name itself: a mark for tracing, which does not happen.

    Example:
        >>> wrap(len) is len
        True
    """
    return fn_or_name


# torch has these as attributes without an import of their own; here all of them are this file.
_symbolic_trace = graph = graph_module = interpreter = proxy = sys.modules[__name__]
from pyburn.fx import node as node  # noqa: E402
