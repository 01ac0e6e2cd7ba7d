"""torch.distributed.elastic.multiprocessing.errors: a mark for the main function of torchrun's programs."""

from typing import TypeVar

__all__ = ["record"]

T = TypeVar("T")


def record(fn: T, error_handler: object = None) -> T:
    """The function itself: its errors reach the caller.

    Example:
        >>> record(len) is len
        True
    """
    return fn
