"""Nests of lists, tuples and dictionaries, as in `keras.tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyburn.keras import symbolic

__all__ = ["assert_same_structure", "flatten", "is_nested", "lists_to_tuples", "map_structure", "pack_sequence_as"]


def is_nested(structure: Any) -> bool:
    """Whether this is a list, tuple or dictionary.

    Example:
        >>> is_nested([1]), is_nested(1)
        (True, False)
    """
    return isinstance(structure, (list, tuple, dict))


def flatten(structure: Any) -> list[Any]:
    """The leaves; those of dictionaries in the order of their keys.

    Example:
        >>> flatten({"b": 3, "a": [1, 2]})
        [1, 2, 3]
    """
    return symbolic.flatten(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """The nest of `structure` with other leaves.

    Raises:
        ValueError: There are more or fewer leaves.

    Example:
        >>> pack_sequence_as({"a": [0, 0], "b": 0}, [1, 2, 3])
        {'a': [1, 2], 'b': 3}
    """
    leaves = list(flat_sequence)
    if len(leaves) != len(flatten(structure)):
        raise ValueError(
            f"pack_sequence_as: the structure has {len(flatten(structure))} leaves, but {len(leaves)} were given"
        )
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        made = {key: _packed(structure[key], leaves) for key in sorted(structure, key=str)}
        return type(structure)((key, made[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        parts = [_packed(each, leaves) for each in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return next(leaves)


def map_structure(func: Callable[..., Any], *structures: Any, none_is_leaf: bool = True) -> Any:
    """The nest of `func` of each leaf, or of the leaves at the same place of several nests.

    Example:
        >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
        {'x': 3}
    """
    if not structures:
        raise ValueError("map_structure: give at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    rows = zip(*(flatten(each) for each in structures), strict=True)
    kept = [None if not none_is_leaf and row[0] is None else func(*row) for row in rows]
    return pack_sequence_as(structures[0], kept)


def assert_same_structure(a: Any, b: Any) -> None:
    """Nothing; raises if the nests differ.

    Raises:
        ValueError: They do.
    """
    same = is_nested(a) == is_nested(b) and (not is_nested(a) or type(a) is type(b))
    if same and isinstance(a, dict):
        same = set(a) == set(b)
    if not same or (is_nested(a) and len(a) != len(b)):
        raise ValueError(f"assert_same_structure: the two do not have the same structure: {a!r} and {b!r}")
    if isinstance(a, dict):
        for key in a:
            assert_same_structure(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        for one, two in zip(a, b, strict=True):
            assert_same_structure(one, two)


def lists_to_tuples(structure: Any) -> Any:
    """The same nest with tuples instead of lists.

    Example:
        >>> lists_to_tuples([1, [2]])
        (1, (2,))
    """
    if isinstance(structure, dict):
        return {key: lists_to_tuples(value) for key, value in structure.items()}
    return tuple(lists_to_tuples(each) for each in structure) if isinstance(structure, (list, tuple)) else structure
