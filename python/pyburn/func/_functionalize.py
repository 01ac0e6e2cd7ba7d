"""functionalize: a function without writes in place, for what traces it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["functionalize"]

_REMOVABLE = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the same results; what `func` writes into its inputs is in them afterwards, as in torch.

    Args:
        func: A function of tensors.
        remove: "mutations", or "mutations_and_views".

    Raises:
        RuntimeError: `remove` is neither.

    Differs from torch:
        A tracer of the function sees the writes in place that it contains; the values are torch's.

    Example:
        >>> import pyburn
        >>> pyburn.func.functionalize(lambda x: x.clone().add_(1))(pyburn.tensor([1.0, 2.0]))
        tensor([2., 3.])
    """
    if remove not in _REMOVABLE:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced\n"
            "         with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be\n"
            "         replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapper
