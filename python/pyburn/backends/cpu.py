"""torch.backends.cpu: what the processor can do, as torch words it."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The word DEFAULT: the kernels choose by themselves what they use.

    Example:
        >>> get_cpu_capability()
        'DEFAULT'
    """
    return "DEFAULT"
