"""torch.nn._reduction: reductions as the numbers that torch's own operators take."""

from __future__ import annotations

__all__ = ["get_enum", "get_string", "legacy_get_enum", "legacy_get_string"]

_NAMES = ("none", "mean", "sum")


def get_enum(reduction: str) -> int:
    """0, 1 or 2 for "none", "mean" or "sum".

    Example:
        >>> get_enum("sum")
        2
    """
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NAMES.index(reduction)


def get_string(reduction: int | str) -> str:
    """The name of a reduction given by number or by name.

    Example:
        >>> get_string(1)
        'mean'
    """
    if isinstance(reduction, str):
        return reduction
    if not 0 <= reduction < len(_NAMES):
        raise ValueError(f"reduction must be 0 (none), 1 (mean) or 2 (sum), not {reduction}")
    return _NAMES[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The name of the reduction that torch's two old switches mean.

    Example:
        >>> legacy_get_string(None, False)
        'none'
    """
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that torch's two old switches mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
