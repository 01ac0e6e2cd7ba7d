"""Stores and meshes of one process answer as torch's."""

from datetime import timedelta

import pyburn
import pytest
import torch
from pyburn import distributed


def story(library, store):
    """What a program does with a store, and what it is answered."""
    store.set("a", "1")
    answers = [store.get("a"), store.add("n", 2), store.add("n", 3), store.get("n"), store.check(["a", "n"])]
    store.append("log", "x")
    store.append("log", "yz")
    answers += [store.get("log"), store.compare_set("a", "0", "9"), store.compare_set("a", "1", "7"), store.get("a")]
    answers += [store.compare_set("new", "", "first"), store.num_keys(), store.delete_key("a"), store.delete_key("a")]
    prefixed = library.distributed.PrefixStore("p", store)
    prefixed.set("k", "v")
    return [*answers, store.get("p/k"), prefixed.get("k"), prefixed.add("c", 1), store.check(["p/c"]), store.num_keys()]


def test_a_store_answers_as_torchs():
    assert story(pyburn, distributed.HashStore()) == story(torch, torch.distributed.HashStore())


@pytest.mark.parametrize(
    "make", [lambda: distributed.TCPStore("localhost", 29500, 1, True), lambda: distributed.FileStore("f", 1)]
)
def test_stores_of_one_process_need_no_port_and_no_file(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert story(pyburn, make()) == story(torch, torch.distributed.HashStore())
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_never_comes_ends_in_an_error():
    store = distributed.HashStore()
    store.set_timeout(timedelta(milliseconds=20))
    with pytest.raises(distributed.DistStoreError, match="keys: absent"):
        store.get("absent")


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_several_keys_and_a_barrier(lib):
    dist = lib.distributed
    store = dist.PrefixStore("p", dist.HashStore())
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"] and store.has_extended_api()
    store.barrier("all", 1)
    with pytest.raises(dist.DistStoreError):
        store.barrier("two", 2, timedelta(milliseconds=20))
    for error in (dist.DistBackendError, dist.DistNetworkError, dist.DistStoreError):
        assert issubclass(error, dist.DistError) and issubclass(error, RuntimeError)


def test_more_processes_are_refused():
    with pytest.raises(NotImplementedError, match="world_size=1"):
        distributed.TCPStore("localhost", 1, 2)
    with pytest.raises(NotImplementedError, match="asks for 4 processes"):
        distributed.init_device_mesh("cpu", (2, 2))


def test_a_mesh_of_one_process():
    mesh = distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    try:
        assert distributed.is_initialized()
        assert (mesh.shape, mesh.size(), mesh.size(0), mesh.ndim) == ((1, 1), 1, 1, 2)
        assert mesh["dp"].mesh_dim_names == ("dp",)
        assert mesh.get_group("tp").size() == 1
        assert mesh.get_coordinate() == [0, 0]
        with pytest.raises(KeyError, match="no dimension 'pp'"):
            mesh["pp"]
    finally:
        distributed.destroy_process_group()
