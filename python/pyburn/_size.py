"""Size: the tuple that shapes are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex, overload

from pyburn import _core

# Bound once: shapes are indexed and cut in every call.
_item, _joined, _made = tuple.__getitem__, tuple.__add__, tuple.__new__


class Size(tuple[int, ...]):
    """The sizes of a tensor, a tuple with torch's extras.

    Example:
        >>> Size((2, 3)).numel()
        6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        if type(sizes) is tuple:
            return tuple.__new__(cls, sizes)
        return tuple.__new__(cls, (size.__index__() for size in sizes))

    def numel(self) -> int:
        """The number of elements of a tensor with these sizes."""
        count = 1
        for size in self:
            count *= size
        return count

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> int | Size:
        found = _item(self, index)
        return _made(Size, found) if type(index) is slice else found  # type: ignore[arg-type,return-value]

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return _made(Size, _joined(self, tuple(other)))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{_core._library()}.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


_core._set_size_class(Size)
