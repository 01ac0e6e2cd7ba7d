"""Collectives of one process: what a process would receive is what it sends."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.distributed._group import get_rank

__all__ = [
    "P2POp",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]


class ReduceOp(Enum):
    """How the values of processes are put together; one value stays as it is under each of them."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __int__(self) -> int:
        return self.value


# In torch the kinds stand in a class of their own, which type hints name.
setattr(ReduceOp, "RedOpType", ReduceOp)  # noqa: B010
reduce_op = ReduceOp


class Work:
    """A call that is done; `async_op=True` returns one."""

    def wait(self, timeout: Any = None) -> bool:
        """True: it is done."""
        return True

    def is_completed(self) -> bool:
        """True: it is done."""
        return True

    def is_success(self) -> bool:
        """True: it is done."""
        return True

    def get_future(self) -> Any:
        """A future that is done."""
        from pyburn.futures import Future

        future: Future[Any] = Future()
        future.set_result(None)
        return future


class P2POp:
    """A message to another process, of which there is none."""

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, *_: Any, **__: Any) -> None:
        self.op, self.tensor, self.peer = op, tensor, peer


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _copy(target: Tensor, source: Tensor) -> None:
    with no_grad():
        target.copy_(source.reshape(target.shape))


def _peer(name: str, rank: int | None) -> None:
    get_rank()
    if rank not in (None, 0):
        raise ValueError(f"{name}: rank {rank} does not exist in a world of 1 process.")


def _only(name: str, tensors: Any) -> Any:
    if not isinstance(tensors, list | tuple) or len(tensors) != 1:
        raise ValueError(f"{name}: expected a list of 1 entry, one for each process.")
    return tensors[0]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """None, or a Work that is done; the tensor holds what all processes together have, which is its own values.

    Example:
        >>> import pyburn
        >>> pyburn.distributed.init_process_group(world_size=1, rank=0)
        >>> x = pyburn.ones(2)
        >>> pyburn.distributed.all_reduce(x)
        >>> x
        tensor([1., 1.])
        >>> pyburn.distributed.destroy_process_group()
    """
    get_rank()
    return _done(async_op)


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, **_: Any
) -> Work | None:
    """None, or a Work that is done; the tensor keeps its values."""
    _peer("reduce", dst)
    return _done(async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, **_: Any
) -> Work | None:
    """None, or a Work that is done; the tensor keeps its values."""
    _peer("broadcast", src)
    return _done(async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """None, or a Work that is done: there is nobody to wait for."""
    get_rank()
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Nothing; there is nobody to wait for."""
    get_rank()


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """None, or a Work that is done; the one tensor of the list has the values of `tensor`."""
    get_rank()
    _copy(_only("all_gather", tensor_list), tensor)
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """None, or a Work that is done; the output has the values of the input."""
    get_rank()
    _copy(output_tensor, input_tensor)
    return _done(async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    **_: Any,
) -> Work | None:
    """None, or a Work that is done; the one tensor of the list has the values of `tensor`."""
    _peer("gather", dst)
    _copy(_only("gather", gather_list), tensor)
    return _done(async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    **_: Any,
) -> Work | None:
    """None, or a Work that is done; `tensor` has the values of the one tensor of the list."""
    _peer("scatter", src)
    _copy(tensor, _only("scatter", scatter_list))
    return _done(async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """None, or a Work that is done; the output has the values of the one tensor of the list."""
    get_rank()
    _copy(output, _only("reduce_scatter", input_list))
    return _done(async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """None, or a Work that is done; the output has the values of the input."""
    get_rank()
    _copy(output, input)
    return _done(async_op)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """None, or a Work that is done; the one output has the values of the one input."""
    get_rank()
    _copy(_only("all_to_all", output_tensor_list), _only("all_to_all", input_tensor_list))
    return _done(async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """None, or a Work that is done; the output has the values of the input."""
    get_rank()
    _copy(output, input)
    return _done(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Nothing; the list has the object."""
    get_rank()
    _only("all_gather_object", object_list)
    object_list[0] = obj


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, **_: Any
) -> None:
    """Nothing; the list has the object."""
    _peer("gather_object", dst)
    _only("gather_object", object_gather_list)
    if object_gather_list is not None:
        object_gather_list[0] = obj


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, **_: Any
) -> None:
    """Nothing; the list keeps its objects."""
    _peer("broadcast_object_list", src)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    **_: Any,
) -> None:
    """Nothing; the output list begins with the one object of the input list."""
    _peer("scatter_object_list", src)
    scatter_object_output_list[0] = _only("scatter_object_list", scatter_object_input_list)


def _alone(name: str) -> NoReturn:
    get_rank()
    raise ValueError(f"{name}: there is no other process to talk to in a world of 1.")


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, **_: Any) -> NoReturn:
    """Nothing: raises, since there is nobody to send to.

    Raises:
        ValueError: Always.
    """
    _alone("send")


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, **_: Any) -> NoReturn:
    """Nothing: raises, since there is nobody to receive from.

    Raises:
        ValueError: Always.
    """
    _alone("recv")


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, **_: Any) -> NoReturn:
    """Nothing: raises, since there is nobody to send to.

    Raises:
        ValueError: Always.
    """
    _alone("isend")


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, **_: Any) -> NoReturn:
    """Nothing: raises, since there is nobody to receive from.

    Raises:
        ValueError: Always.
    """
    _alone("irecv")
