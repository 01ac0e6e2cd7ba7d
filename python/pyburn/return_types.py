"""Named results of functions that return several tensors: tuples whose items have names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from pyburn._core import Tensor

__all__ = [
    "Result",
    "aminmax",
    "cummax",
    "cummin",
    "histogram",
    "histogramdd",
    "kthvalue",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "sort",
    "topk",
]


class Result(tuple[Tensor, ...]):
    """A tuple of tensors with a name for each, shown in torch's format."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, sequence: Iterable[Tensor]) -> Result:
        """A result from its items in order."""
        items = tuple(sequence)
        if len(items) != len(cls._fields):
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(items)}-sequence given)"
            )
        return super().__new__(cls, items)

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True))
        return f"{type(self).__module__}.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[type[Result], tuple[tuple[Tensor, ...]]]:
        return type(self), (tuple(self),)


class _Chosen(Result):
    """Values and where they stand along the dimension."""

    __slots__ = ()
    _fields = ("values", "indices")

    @property
    def values(self) -> Tensor:
        """The values."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where the values stand along the dimension."""
        return self[1]


class max(_Chosen):
    """What :func:`pyburn.max` returns along a dimension."""

    __slots__ = ()


class min(_Chosen):
    """What :func:`pyburn.min` returns along a dimension."""

    __slots__ = ()


class median(_Chosen):
    """What :func:`pyburn.median` returns along a dimension."""

    __slots__ = ()


class nanmedian(_Chosen):
    """What :func:`pyburn.nanmedian` returns along a dimension."""

    __slots__ = ()


class mode(_Chosen):
    """What :func:`pyburn.mode` returns."""

    __slots__ = ()


class kthvalue(_Chosen):
    """What :func:`pyburn.kthvalue` returns."""

    __slots__ = ()


class sort(_Chosen):
    """What :func:`pyburn.sort` returns."""

    __slots__ = ()


class topk(_Chosen):
    """What :func:`pyburn.topk` returns."""

    __slots__ = ()


class cummax(_Chosen):
    """What :func:`pyburn.cummax` returns."""

    __slots__ = ()


class cummin(_Chosen):
    """What :func:`pyburn.cummin` returns."""

    __slots__ = ()


class aminmax(Result):
    """What :func:`pyburn.aminmax` returns."""

    __slots__ = ()
    _fields = ("min", "max")

    @property
    def min(self) -> Tensor:
        """The least values."""
        return self[0]

    @property
    def max(self) -> Tensor:
        """The greatest values."""
        return self[1]


class histogramdd(Result):
    """What :func:`pyburn.histogramdd` returns."""

    __slots__ = ()
    _fields = ("hist", "bin_edges")

    def __new__(cls, sequence: tuple[Tensor, tuple[Tensor, ...]]) -> histogramdd:
        """A result from the counts and the edges of each dimension."""
        return tuple.__new__(cls, sequence)

    @property
    def hist(self) -> Tensor:
        """The counts, or what the points weigh."""
        return self[0]

    @property
    def bin_edges(self) -> tuple[Tensor, ...]:
        """The edges along each dimension."""
        edges: Any = self[1]
        return tuple(edges)


class histogram(Result):
    """What :func:`pyburn.histogram` returns."""

    __slots__ = ()
    _fields = ("hist", "bin_edges")

    @property
    def hist(self) -> Tensor:
        """The count or weight in each bin."""
        return self[0]

    @property
    def bin_edges(self) -> Tensor:
        """The edges between bins, one more than bins."""
        return self[1]
