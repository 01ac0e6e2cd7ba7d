"""A world of one process: every collective gives what torch gives there, and the rest raises."""

from __future__ import annotations

import os

import pyburn
import pytest
import torch
from pyburn import distributed as dist


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.usefixtures("world")
def test_who_is_there():
    assert dist.is_initialized() and dist.is_available()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    assert dist.group.WORLD is not None and dist.group.WORLD.size() == 1
    group = dist.new_group([0])
    assert dist.get_rank(group) == 0 and dist.get_process_group_ranks(group) == [0]
    assert dist.get_rank(dist.new_group([])) == -1


COLLECTIVES = {
    "all_reduce": "d.all_reduce(x, op=d.ReduceOp.SUM)",
    "reduce": "d.reduce(x, 0, op=d.ReduceOp.MAX)",
    "broadcast": "d.broadcast(x, 0)",
    "all_gather": "d.all_gather([y], x)",
    "all_gather_into_tensor": "d.all_gather_into_tensor(y, x)",
    "gather": "d.gather(x, [y], 0)",
    "scatter": "d.scatter(y, [x], 0)",
    "reduce_scatter": "d.reduce_scatter(y, [x])",
    "all_to_all_single": "d.all_to_all_single(y, x)",
    "all_gather_object": "d.all_gather_object(o, {'a': 1})",
    "broadcast_object_list": "d.broadcast_object_list(o, 0)",
    "gather_object": "d.gather_object(3, o, 0)",
    "scatter_object_list": "d.scatter_object_list(o, ['z'], 0)",
    "barrier": "d.barrier()",
}


@pytest.fixture(scope="module")
def torch_world(tmp_path_factory):
    store = torch.distributed.FileStore(str(tmp_path_factory.mktemp("store") / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("world", "torch_world")
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_give_what_torch_gives(name):
    found = []
    for library in (torch, pyburn):
        x, y, o = library.arange(3.0), library.zeros(3), [None]
        result = eval(COLLECTIVES[name], {"d": library.distributed, "x": x, "y": y, "o": o})
        found.append((x.tolist(), y.tolist(), o, result))
    assert found[0] == found[1]


@pytest.mark.usefixtures("world")
def test_work_that_is_not_waited_for_is_done():
    work = dist.all_reduce(pyburn.ones(1), async_op=True)
    assert work.wait() and work.is_completed() and work.get_future().wait() is None


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    "call",
    [
        lambda: dist.send(pyburn.ones(1), 1),
        lambda: dist.broadcast(pyburn.ones(1), 3),
        lambda: dist.all_gather([pyburn.ones(1)] * 2, pyburn.ones(1)),
        lambda: dist.new_group([0, 1]),
        lambda: dist.init_process_group("gloo", rank=0, world_size=1),
    ],
)
def test_other_processes_do_not_exist(call):
    with pytest.raises(ValueError, match=r"\w"):
        call()


def test_before_and_after_the_group():
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.destroy_process_group):
        with pytest.raises(ValueError, match="not been initialized"):
            call()
    dist.init_process_group()
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_larger_worlds_are_refused(monkeypatch):
    with pytest.raises(NotImplementedError, match="world_size=1"):
        dist.init_process_group("nccl", rank=0, world_size=2)
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "4")
    with pytest.raises(NotImplementedError, match="4 processes"):
        dist.init_process_group("nccl")
    assert not dist.is_initialized()


def test_calls_that_need_other_processes_can_be_decorated():
    from pyburn.distributed import rpc

    @rpc._require_initialized
    def gather(value):
        return value

    assert gather.__name__ == "gather" and rpc._is_current_rpc_agent_set() is False
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        gather(1)
