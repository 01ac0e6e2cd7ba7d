"""torch.random: the generator of the whole process."""

from pyburn._core import Generator
from pyburn.ops.random import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def thread_safe_generator() -> Generator | None:
    """None, which stands for the default generator: a worker of a DataLoader, a thread too, has one of its own.

    Example:
        >>> import pyburn
        >>> pyburn.randint(0, 10, (5,), generator=thread_safe_generator()).shape
        pyburn.Size([5])
    """
    return None
