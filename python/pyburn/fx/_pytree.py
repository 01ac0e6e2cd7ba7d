"""torch.fx._pytree: the leaves of nested arguments after a shape that is known."""

from __future__ import annotations

from typing import Any

from pyburn.utils._pytree import TreeSpec

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of nested lists, tuples and dicts that have the shape of `spec`.

    Example:
        >>> from pyburn.utils._pytree import tree_flatten
        >>> tree_flatten_spec([3, {"a": 4}], tree_flatten([1, {"a": 2}])[1])
        [3, 4]
    """
    if spec.is_leaf():
        return [pytree]
    if isinstance(pytree, dict):
        children = [pytree[key] for key in spec.context]
    else:
        children = list(pytree)
    if len(children) < len(spec.children_specs):
        raise ValueError(f"tree_flatten_spec: expected {len(spec.children_specs)} values, got {len(children)}")
    found: list[Any] = []
    for child, below in zip(children, spec.children_specs):
        found += tree_flatten_spec(child, below)
    return found
