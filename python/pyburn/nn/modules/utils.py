"""Small helpers that layers written for torch import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from pyburn._integers import is_integer

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each entry `n` times, the last first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list[int | None] | int, defaults: list[int]) -> list[int] | int:
    """The sizes, with that of `defaults` where one is None."""
    if is_integer(out_size):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    given = zip(out_size, defaults[-len(out_size) :], strict=True)
    return [default if size is None else size for size, default in given]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Nothing; keys that begin with `prefix` lose it, in place, as does the metadata.

    Args:
        state_dict: What `state_dict()` of a wrapped module gave.
        prefix: For example "module.".

    Example:
        >>> state = {"module.weight": 1}
        >>> consume_prefix_in_state_dict_if_present(state, "module."); state
        {'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
