"""torch.fx.immutable_collections: lists and dicts of a node's arguments, which only the node may replace."""

from __future__ import annotations

from typing import Any, NoReturn

from pyburn.utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Nothing: this collection does not change.

    Raises:
        TypeError: Always.
    """
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation: it belongs to a node; make a plain copy, change "
        "that, and assign it to node.args or node.kwargs."
    )


class immutable_list(list[Any]):
    """A list that refuses to change and can be hashed.

    Example:
        >>> immutable_list([1, 2])
        [1, 2]
    """

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that refuses to change and can be hashed.

    Example:
        >>> immutable_dict(a=1)
        {'a': 1}
    """

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


register_pytree_node(immutable_list, lambda x: (list(x), None), lambda leaves, _: immutable_list(leaves))
register_pytree_node(
    immutable_dict, lambda x: (list(x.values()), list(x)), lambda leaves, keys: immutable_dict(zip(keys, leaves))
)
