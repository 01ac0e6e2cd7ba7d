"""Tensors in shared memory: `share_memory_`, and what a tensor becomes on its way to another process."""

from __future__ import annotations

import math
import os
import pickle
import sys
import threading
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.reduction import ForkingPickler
from typing import Any

from pyburn import _core
from pyburn._core import Tensor

STRATEGIES = ("file_system",) if sys.platform in ("darwin", "win32") else ("file_descriptor", "file_system")

_strategy = STRATEGIES[0]
_lock = threading.Lock()


def strategy() -> str:
    """How new shared memory is told to other processes: by a descriptor or by the name of a file."""
    return _strategy


def set_strategy(new: str) -> None:
    """Nothing; memory that is shared from now on is told to others in this way."""
    global _strategy
    assert new in STRATEGIES, f"invalid sharing strategy {new!r}, expected one of {set(STRATEGIES)}"
    _strategy = new
    if new == "file_system" and sys.platform != "win32":
        # Children share the tracker of names that was there before them; one of their own would remove what they sent.
        resource_tracker.ensure_running()


def share(tensor: Tensor) -> Any:
    """The shared memory under a tensor, whose storage moves there first where it is not yet.

    Raises:
        NotImplementedError: The tensor is not in the CPU's memory, or the system shares none.
    """
    if not tensor.is_cpu or tensor.layout is not _strided():
        raise NotImplementedError(
            f"share_memory_: processes share only dense memory of the CPU, but this tensor is on {tensor.device} with "
            f"layout {tensor.layout}; call .cpu() or .to_dense() first, or send it: it arrives as a copy."
        )
    if sys.platform == "win32":
        raise NotImplementedError("share_memory_: processes share no memory on Windows; send values, or use threads.")
    from pyburn import _shared_blocks

    with _lock:
        known = _shared_blocks.find(tensor._storage_ptr())
        if known is not None:
            return known
        block = _shared_blocks.create(tensor._storage_nbytes(), _strategy)
        tensor._move_storage(block.tensor(_core.uint8))
        return block


def is_shared(tensor: Tensor) -> bool:
    """Whether other processes can see the memory under a tensor."""
    blocks = sys.modules.get("pyburn._shared_blocks")
    return blocks is not None and blocks.find(tensor._storage_ptr()) is not None


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """What a plain tensor is sent as: its shared memory and where it lies there; from a GPU, a copy of the values.

    Raises:
        RuntimeError: The tensor is a result that has a gradient: the graph stays in its process.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    if not tensor.is_cpu or tensor.layout is not _strided() or sys.platform == "win32":
        return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    block = share(tensor)
    place = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    return rebuild_tensor, (block.message(), tensor._storage_nbytes(), tensor.dtype, *place, tensor.requires_grad)


def rebuild_tensor(
    message: tuple[Any, ...],
    nbytes: int,
    dtype: _core.dtype,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    requires_grad: bool,
) -> Tensor:
    """The tensor that another process has sent, over the same memory."""
    from pyburn import _shared_blocks

    if len(size) != len(stride) or math.prod(size) >= 1 << 59:
        raise RuntimeError(f"shared memory: sizes {size} and strides {stride} are not of one tensor.")
    data: Tensor = _shared_blocks.open_(message, nbytes).tensor(dtype)._over(list(size), list(stride), offset)
    return data.requires_grad_() if requires_grad else data


def _strided() -> Any:
    from pyburn._formats import strided

    return strided


def _new_lock() -> None:
    # Another thread of the parent may have held it.
    global _lock
    _lock = threading.Lock()


def init_reductions() -> None:
    """Nothing; from now on tensors sent by `multiprocessing` are moved to shared memory."""
    register: Callable[..., None] = ForkingPickler.register
    register(Tensor, reduce_tensor)


init_reductions()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
