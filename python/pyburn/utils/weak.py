"""torch.utils.weak: mappings by identity that let their keys go."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to others of the same object, not of equal ones."""

    _id: int

    def __new__(cls, key: Any, callback: Any = None) -> WeakIdRef:
        """A reference to `key`."""
        made = super().__new__(cls, key, callback)
        made._id = id(key)
        return made

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, WeakIdRef) else None
        return mine is others if mine is not None and others is not None else self is other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping whose keys are compared by identity, and forgotten when nobody else holds them.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2)
        >>> names = WeakIdKeyDictionary({x: "x"})
        >>> names[x], pyburn.ones(2) in names
        ('x', False)
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None) -> None:
        self.data: Any = {}
        if dict is not None:
            self.update(dict)

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self.data
        self.data[WeakIdRef(key, lambda reference: data.pop(reference, None))] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[WeakIdRef(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[WeakIdRef(key)]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __contains__(self, key: object) -> bool:
        return WeakIdRef(key) in self.data


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None when it is gone.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(1)
        >>> TensorWeakRef(x)() is x
        True
    """

    __slots__ = ("ref",)

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        """The tensor, or None."""
        return self.ref()
