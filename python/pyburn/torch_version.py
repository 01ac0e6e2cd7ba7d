"""The version of torch's API that pyburn follows, as a string that compares like a version."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]


def _numbers(version: object) -> tuple[int, ...]:
    """The release part of a version: ``(2, 15, 0)`` for ``"2.15.0+pyburn"`` or ``(2, 15, 0)``."""
    parts = version if isinstance(version, tuple | list) else str(version).partition("+")[0].split(".")
    numbers = []
    for part in parts:
        digits = re.match(r"\d+", str(part))
        if digits is None:
            break
        numbers.append(int(digits.group()))
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A version that compares with strings, tuples and packaging's versions by its numbers.

    Example:
        >>> TorchVersion("2.15.0+pyburn") >= "2.9", TorchVersion("2.15.0+pyburn") >= (2, 16)
        (True, False)
    """

    __slots__ = ()

    def __eq__(self, other: Any) -> bool:
        return _numbers(self) == _numbers(other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return _numbers(self) < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return _numbers(self) <= _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return _numbers(self) > _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return _numbers(self) >= _numbers(other)

    __hash__ = str.__hash__
