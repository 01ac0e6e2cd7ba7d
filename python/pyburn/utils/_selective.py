"""Which results a checkpointed part may keep: said as in torch, while pyburn computes all of them again."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from pyburn._core import Tensor

__all__ = [
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an operation inside a checkpointed part."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy is told beside the operation.

    Args:
        is_recompute: Whether this is the second run.
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> Contexts:
    """Two contexts for ``checkpoint(context_fn=...)``: everything is computed again, which gives the same numbers.

    Args:
        policy_fn_or_list: The policy, or the operations whose results would be kept; taken as a wish.
        allow_cache_entry_mutation: Accepted; nothing is kept that could be changed.

    Raises:
        TypeError: If it is neither a function nor a list of operations.

    Example:
        >>> import pyburn
        >>> from functools import partial
        >>> x = pyburn.tensor([1.0], requires_grad=True)
        >>> contexts = partial(create_selective_checkpoint_contexts, lambda ctx, op, *args, **kwargs: False)
        >>> run = pyburn.utils.checkpoint.checkpoint
        >>> run(lambda x: x.exp() * 2, x, use_reentrant=False, context_fn=contexts).backward()
        >>> x.grad
        tensor([5.4366])
    """
    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that changes nothing: the second run of a part always goes to its end."""
    yield


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that changes nothing: an error already names what differs between the two runs."""
    yield


def _detached(value: Any) -> Any:
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values with their tensors cut from the graph, each a leaf that requires grad if it did.

    Raises:
        RuntimeError: If it is not a tuple.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(1, requires_grad=True) * 2
        >>> [found] = detach_variable((x,))
        >>> found.is_leaf, found.requires_grad
        (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(map(_detached, inputs))
