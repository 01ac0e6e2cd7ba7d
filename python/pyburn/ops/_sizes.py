"""Arguments that are one number for all dimensions or one for each."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._integers import is_integer

Sizes = int | Sequence[int]


def spread(op: str, name: str, value: Sizes, n: int) -> list[int]:
    """`value` as `n` numbers; one number, or a sequence of one, stands for all.

    Raises:
        RuntimeError: There are more or fewer numbers.
    """
    if type(value) is int:
        return [value] * n
    if type(value) is tuple and len(value) == n and all(type(number) is int for number in value):
        return list(value)
    if is_integer(value):  # numpy's integers too
        return [int(value)] * n
    numbers = [int(number) for number in value]
    if len(numbers) == 1:
        return numbers * n
    if len(numbers) != n:
        raise RuntimeError(
            f"{op}: {name} has {len(numbers)} numbers but needs {n}; give one, or one for each dimension"
        )
    return numbers
