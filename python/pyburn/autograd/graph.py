"""The graph from outside: its nodes and their hooks, and what is kept in place of saved tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyburn import _core
from pyburn._core import Node, Tensor
from pyburn._tensor import RemovableHandle
from pyburn.autograd.engine import queue_callback

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: an output of a node. It can stand for the tensor in `autograd.grad`."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph to which a gradient of this tensor goes; that of a leaf adds to its ``.grad``.

    Args:
        tensor: A tensor that requires grad.

    Raises:
        RuntimeError: If it does not.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor(3.0, requires_grad=True)
        >>> edge = get_gradient_edge(x * x)
        >>> edge.node.name(), edge.output_nr
        ('MulBackward0', 0)
        >>> pyburn.autograd.grad(edge, x)
        (tensor(6.),)
    """
    return GradientEdge(*tensor._gradient_edge())


def _register_hook(self: Node, fn: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
    """Calls ``fn(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces ``grad_inputs``."""
    number = self._register_hook(fn)
    return RemovableHandle(lambda: self._remove_hook(number), number)


def _register_prehook(self: Node, fn: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
    """Calls ``fn(grad_outputs)`` before the node runs; what it returns replaces ``grad_outputs``."""
    number = self._register_prehook(fn)
    return RemovableHandle(lambda: self._remove_hook(number), number)


for _name, _method in {"register_hook": _register_hook, "register_prehook": _register_prehook}.items():
    setattr(Node, _name, _method)

_disabled = threading.local()


class saved_tensors_hooks:
    """A context in which something else is kept for backward in place of each saved tensor.

    Args:
        pack_hook: Gets each tensor that an operation saves and returns what to keep.
        unpack_hook: Gets that back in backward and returns a tensor with the same values.

    Example:
        >>> import pyburn
        >>> kept = []
        >>> x = pyburn.tensor([3.0], requires_grad=True)
        >>> with saved_tensors_hooks(lambda t: kept.append(t) or len(kept) - 1, lambda index: kept[index]):
        ...     y = x * x
        >>> y.backward()
        >>> len(kept), x.grad
        (2, tensor([6.]))
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        reason = getattr(_disabled, "reason", None)
        if reason is not None:
            raise RuntimeError(reason)
        _core._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_error: object) -> None:
        _core._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A context in which tensors are kept on the CPU between forward and backward.

    Args:
        pin_memory: Accepted; memory is not pinned here.
        device_type: Accepted; tensors of every device are moved.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([3.0], requires_grad=True)
        >>> with save_on_cpu():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which `saved_tensors_hooks` raises.

    Args:
        error_message: What to say then.

    Example:
        >>> with disable_saved_tensors_hooks("not here"), save_on_cpu():
        ...     pass
        Traceback (most recent call last):
        ...
        RuntimeError: not here
    """
    before = getattr(_disabled, "reason", None)
    _disabled.reason = error_message
    try:
        yield
    finally:
        _disabled.reason = before


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """A handle; in each backward pass the function is called with the gradients of several tensors.

    A tensor that a pass does not reach has None for its gradient.

    Args:
        tensors: Tensors that require grad.
        fn: With ``mode="all"`` gets the list of gradients once all have been computed, with ``mode="any"`` the first.
        mode: ``"all"`` or ``"any"``.

    Raises:
        ValueError: If there is no such mode.

    Example:
        >>> import pyburn
        >>> a, b = (pyburn.ones(1, requires_grad=True) for _ in range(2))
        >>> handle = register_multi_grad_hook([a, b], lambda grads: print(grads))
        >>> (2 * a + 3 * b).backward()
        [tensor([2.]), tensor([3.])]

    Differs from torch:
        Where a pass does not reach all of them, the function is called when it ends, not when the last has come.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode is {mode!r} but must be 'all' or 'any'.")
    lock = threading.Lock()
    arrived: dict[int, Tensor] = {}

    def end() -> None:
        with lock:
            grads = [arrived.get(position) for position in range(len(tensors))]
            arrived.clear()
        if mode == "all" and any(grad is not None for grad in grads):
            fn(grads)

    def hook(index: int, grad: Tensor) -> None:
        with lock:
            is_first = not arrived
            arrived[index] = grad
            complete = len(arrived) == len(tensors)
        if is_first:
            queue_callback(end)
            if mode == "any":
                fn(grad)
        if complete and mode == "all":
            end()

    def listen(index: int) -> Callable[[Tensor], None]:
        return lambda grad: hook(index, grad)

    handles = [tensor.register_hook(listen(index)) for index, tensor in enumerate(tensors)]

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return RemovableHandle(remove, handles[0].id if handles else 0)
