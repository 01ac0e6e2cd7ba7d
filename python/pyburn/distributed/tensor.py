"""torch.distributed.tensor: tensors in pieces on several processes, of which there are none; using it raises.

How a tensor would be placed can be said: programs make such descriptions when they are imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyburn._absent import absent_class, absent_function

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]

_WHY = ("pyburn computes in one process", "use a plain tensor")

DTensor: Any = absent_class("distributed.tensor.DTensor", *_WHY)
distribute_tensor = absent_function("distributed.tensor.distribute_tensor", *_WHY)
distribute_module = absent_function("distributed.tensor.distribute_module", *_WHY)


class Placement:
    """How a tensor lies on one dimension of a mesh of processes."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along `dim` if given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether every process has one term of it."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along `dim`, one piece for each process."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """A copy on each process.

    Example:
        >>> Replicate() == Replicate(), Shard(1).is_shard(0)
        (True, False)
    """


@dataclass(frozen=True)
class Partial(Placement):
    """A term on each process, to be joined by `reduce_op`."""

    reduce_op: str = "sum"
