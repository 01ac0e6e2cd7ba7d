"""How elements lie in memory: torch's `memory_format` and `layout` names."""

from __future__ import annotations

from typing import Final

from pyburn import _core

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "jagged",
    "layout",
    "memory_format",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


class _Name:
    """A named constant: equal only to itself, pickled by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return f"{_core._library()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(_Name):
    """The order of a tensor's elements in memory: `contiguous_format`, `channels_last` and so on."""

    __slots__ = ()


class layout(_Name):
    """The kind of a tensor's memory: `strided`, `sparse_coo` or `sparse_csr`."""

    __slots__ = ()


contiguous_format: Final[memory_format] = memory_format("contiguous_format")
channels_last: Final[memory_format] = memory_format("channels_last")
channels_last_3d: Final[memory_format] = memory_format("channels_last_3d")
preserve_format: Final[memory_format] = memory_format("preserve_format")
strided: Final[layout] = layout("strided")
sparse_coo: Final[layout] = layout("sparse_coo")
sparse_csr: Final[layout] = layout("sparse_csr")
# No tensor here has one of these; programs ask whether one does.
jagged: Final[layout] = layout("jagged")
sparse_bsc: Final[layout] = layout("sparse_bsc")
sparse_bsr: Final[layout] = layout("sparse_bsr")
sparse_csc: Final[layout] = layout("sparse_csc")
