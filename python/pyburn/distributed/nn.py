"""torch.distributed.nn: collectives through which gradients flow; with one process they are the identity."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor
from pyburn.distributed._collectives import ReduceOp
from pyburn.distributed._group import get_rank, group

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _alone(rank: int = 0) -> None:
    """Nothing; raises when there is no group, or when another process is named."""
    get_rank()
    if rank != 0:
        raise ValueError(f"there is one process, of rank 0; {rank} was given")


def all_gather(tensor: Tensor, group: Any = group.WORLD) -> tuple[Tensor, ...]:
    """The tensors of all processes, with gradients: this one alone."""
    _alone()
    return (tensor.clone(),)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = group.WORLD) -> Tensor:
    """The tensors of all processes put together, with gradients."""
    _alone()
    return tensor.clone()


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = group.WORLD) -> Any:
    """What each process has for this one, with gradients."""
    _alone()
    return tuple(tensor.clone() for tensor in input_tensor_list)


def broadcast(tensor: Tensor, src: int, group: Any = group.WORLD) -> Tensor:
    """The tensor of process `src`, with gradients."""
    _alone(src)
    return tensor.clone()


def gather(tensor: Tensor, dst: int = 0, group: Any = group.WORLD) -> tuple[Tensor, ...]:
    """The tensors of all processes on process `dst`, with gradients."""
    _alone(dst)
    return (tensor.clone(),)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = group.WORLD) -> Tensor:
    """The tensors of all processes put together on process `dst`, with gradients."""
    _alone(dst)
    return tensor.clone()


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = group.WORLD
) -> Tensor:
    """This process's part of the tensors of all put together, with gradients."""
    _alone()
    return input_list[0].clone()


def scatter(tensors: list[Tensor], src: int = 0, group: Any = group.WORLD) -> Tensor:
    """This process's part of the tensors of process `src`, with gradients."""
    _alone(src)
    return tensors[0].clone()
