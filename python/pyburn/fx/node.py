"""torch.fx.node: the types of a graph's nodes."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pyburn.fx import Node

__all__ = ["Argument", "Node", "Target"]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
