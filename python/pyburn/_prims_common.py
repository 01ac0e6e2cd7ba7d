"""torch._prims_common: what torch's own Python operators ask before they compute."""

from __future__ import annotations

import warnings

from pyburn._settings import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled

__all__ = ["alert_not_deterministic"]


def alert_not_deterministic(caller: str) -> None:
    """Nothing, unless the program has asked for deterministic algorithms only.

    Example:
        >>> alert_not_deterministic("scatter")

    Raises:
        RuntimeError: If `use_deterministic_algorithms` is on; with `warn_only` it warns.
    """
    if not are_deterministic_algorithms_enabled():
        return
    message = f"{caller} does not have a deterministic implementation"
    if not is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(f"{message}, but you set 'torch.use_deterministic_algorithms(True)'.")
    warnings.warn(f"{message}, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.", stacklevel=2)
