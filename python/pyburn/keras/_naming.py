"""Names that Keras gives to what has none: `dense`, `dense_1`, ..."""

from __future__ import annotations

import re
from collections import Counter

_USED: Counter[str] = Counter()


def snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`.

    Example:
        >>> snake_case("Conv2DTranspose")
        'conv2d_transpose'
    """
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def unique_name(prefix: str) -> str:
    """The prefix, and a number after it from the second time on."""
    count = _USED[prefix]
    _USED[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def forget_names() -> None:
    """Nothing; numbering starts anew."""
    _USED.clear()
