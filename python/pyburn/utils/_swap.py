"""Two tensors exchanged, whatever refers to them."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Nothing; each of the two objects has the other's class, attributes, values, gradient and history.

    Args:
        t1: A tensor that no graph and no view refers to.
        t2: Another.

    Raises:
        RuntimeError: If something else refers to the values of one of them.

    Example:
        >>> import pyburn
        >>> a, b = pyburn.ones(1), pyburn.zeros(2)
        >>> swap_tensors(a, b)
        >>> a, b
        (tensor([0., 0.]), tensor([1.]))
    """
    t1._swap(t2)
    one: Any = t1
    other: Any = t2
    one.__class__, other.__class__ = other.__class__, one.__class__
    mine, yours = dict(vars(one)), dict(vars(other))
    vars(one).clear()
    vars(one).update(yours)
    vars(other).clear()
    vars(other).update(mine)
