"""Numbers of a run as short text, the same in every renderer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["duration", "length", "number", "report", "sparkline", "summary"]

_BARS = "▁▂▃▄▅▆▇█"


def number(value: Any) -> str:
    """`value` with four digits.

    Example:
        >>> number(0.123456), number(12345.6), number(1e-05)
        ('0.1235', '1.235e+04', '1e-05')
    """
    if isinstance(value, (int, float)):
        return f"{value:.4g}"
    return f"{value.tolist():.4g}" if getattr(value, "ndim", 1) == 0 else "..."


def duration(seconds: float) -> str:
    """A time as people say it.

    Example:
        >>> duration(0.0123), duration(3.21), duration(75), duration(7260)
        ('12ms', '3.2s', '1m15s', '2h01m')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def summary(values: Mapping[str, Any]) -> str:
    """Names and numbers in one line."""
    return "  ".join(f"{name} {number(value)}" for name, value in values.items() if is_number(value))


def report(learner: Learner) -> str:
    """Where the report of a run that has got somewhere stands; empty for one without a folder."""
    if learner.folder is None or not learner.history:
        return ""
    return f"report: {learner.folder.path / 'report.html'}"


def length(data: Any) -> int | None:
    """How many batches `data` has; None where it does not know, as streams do not.

    Example:
        >>> length([1, 2]), length(iter([1, 2]))
        (2, None)
    """
    try:
        return len(data)
    except TypeError:
        return None


def is_number(value: Any) -> bool:
    """Whether a renderer can show `value` as one number."""
    return isinstance(value, (int, float)) or getattr(value, "ndim", 1) == 0


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """The course of `values` as a line of bars.

    Example:
        >>> sparkline([4, 3, 2, 1])
        '█▆▃▁'
    """
    shown = [value for value in map(float, values) if math.isfinite(value)][-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((value - low) * scale)] for value in shown)
