"""Datasets, samplers and the loader against torch.utils.data."""

import collections
import gc
import itertools
import subprocess
import sys
import threading
import traceback

import pyburn
import pytest
import torch
from pyburn import data

Point = collections.namedtuple("Point", "x y")


def listed(value):
    """Plain numbers and containers of a batch of either library."""
    if isinstance(value, torch.Tensor | pyburn.Tensor):
        return [str(value.dtype).rpartition(".")[2], value.tolist()]
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    if isinstance(value, Point):
        return Point(listed(value.x), listed(value.y))
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value


BATCHES = [
    [1, 2, 3],
    [1.5, 2.5],
    [True, False],
    ["a", "b"],
    [(1, 2.0), (3, 4.0)],
    [{"x": 1, "y": (1.0, "s")}, {"x": 2, "y": (2.0, "t")}],
    [Point(1, 2.0), Point(3, 4.0)],
    [[1, 2], [3, 4]],
]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_collate(batch):
    assert listed(data.default_collate(batch)) == listed(torch.utils.data.default_collate(batch))


def test_collate_of_tensors_and_arrays():
    np = pytest.importorskip("numpy")
    assert data.default_collate([pyburn.ones(2), pyburn.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert data.default_collate([np.float32(1.0), np.float32(2.0)]).tolist() == [1.0, 2.0]
    assert data.default_collate([np.ones((2, 2)), np.ones((2, 2))]).dtype == pyburn.float64
    with pytest.raises(TypeError, match="holds no numbers"):
        data.default_collate([np.array(["a"])])


def test_collate_names_what_it_cannot_join():
    with pytest.raises(TypeError, match="found <class 'object'>"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, None])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("num_workers", [0, 3])
def test_loader_gives_torchs_batches(batch_size, drop_last, num_workers):
    if batch_size is None and drop_last:
        pytest.skip("excluded by both libraries")
    settings = {"batch_size": batch_size, "drop_last": drop_last}
    samples = [(i, i / 2) for i in range(7)]
    mine = data.DataLoader(samples, num_workers=num_workers, **settings)
    theirs = torch.utils.data.DataLoader(samples, **settings)
    assert [listed(batch) for batch in mine] == [listed(batch) for batch in theirs]
    assert len(mine) == len(theirs)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_shuffle_is_torchs_for_the_same_seed(num_workers):
    pyburn.manual_seed(7)
    mine = data.DataLoader(range(20), batch_size=4, shuffle=True, num_workers=num_workers)
    batches = [batch.tolist() for _ in range(2) for batch in mine]
    torch.manual_seed(7)
    theirs = torch.utils.data.DataLoader(range(20), batch_size=4, shuffle=True)
    assert batches == [batch.tolist() for _ in range(2) for batch in theirs]


def test_a_generator_fixes_the_order():
    orders = []
    for _ in range(2):
        loader = data.DataLoader(range(9), shuffle=True, generator=pyburn.Generator().manual_seed(3))
        orders.append([batch.item() for batch in loader])
    assert orders[0] == orders[1]
    theirs = torch.utils.data.DataLoader(range(9), shuffle=True, generator=torch.Generator().manual_seed(3))
    assert orders[0] == [batch.item() for batch in theirs]


def test_samplers_draw_as_torch():
    for name, args in (
        ("RandomSampler", (range(10),)),
        ("RandomSampler", (range(10), True, 70)),
        ("RandomSampler", (range(10), False, 25)),
        ("SubsetRandomSampler", ([4, 7, 9, 2],)),
        ("WeightedRandomSampler", ([0.1, 0.5, 0.4, 0.2], 20)),
        ("WeightedRandomSampler", ([0.1, 0.5, 0.4, 0.2], 3, False)),
    ):
        mine = getattr(data, name)(*args, generator=pyburn.Generator().manual_seed(5))
        theirs = getattr(torch.utils.data, name)(*args, generator=torch.Generator().manual_seed(5))
        assert list(mine) == list(theirs), name
        assert len(mine) == len(theirs)


def test_random_split():
    for lengths in ([3, 7], [0.3, 0.3, 0.4], [0.25, 0.75]):
        mine = data.random_split(range(10), lengths, pyburn.Generator().manual_seed(1))
        theirs = torch.utils.data.random_split(range(10), lengths, torch.Generator().manual_seed(1))
        assert [list(part) for part in mine] == [list(part) for part in theirs]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(10), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        data.random_split(range(10), [1.5, -0.5])


def test_datasets():
    rows = data.TensorDataset(pyburn.arange(4), pyburn.arange(4) * 2)
    assert [tuple(v.item() for v in row) for row in (rows[1], rows[3])] == [(1, 2), (3, 6)]
    assert len(rows) == 4
    with pytest.raises(AssertionError, match="Size mismatch"):
        data.TensorDataset(pyburn.zeros(2), pyburn.zeros(3))
    joined = data.ConcatDataset([range(3), range(10, 12)])
    assert [joined[i] for i in range(-5, 5)] == [0, 1, 2, 10, 11] * 2
    with pytest.raises(IndexError, match="out of range for 5 samples"):
        joined[5]
    assert len(data.Subset(rows, [1]) + rows) == 5
    assert data.StackDataset(range(2), "ab")[1] == (1, "b")


class Stream(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))


@pytest.mark.parametrize("drop_last", [False, True])
def test_streams(drop_last):
    loader = data.DataLoader(Stream(7), batch_size=2, drop_last=drop_last)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6]][: 3 if drop_last else 4]
    shared = data.DataLoader(Stream(9), batch_size=2, num_workers=2, drop_last=drop_last)
    expected = [[0, 2], [1, 3], [4, 6], [5, 7]] + ([] if drop_last else [[8]])
    assert [batch.tolist() for batch in shared] == expected
    assert list(data.DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    with pytest.raises(ValueError, match="unspecified shuffle"):
        data.DataLoader(Stream(3), shuffle=True)


class Failing(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            raise LookupError("sample 3 is broken")
        return index


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_workers_error_reaches_the_caller_with_its_traceback(num_workers):
    batches = iter(data.DataLoader(Failing(), batch_size=1, num_workers=num_workers))
    assert [next(batches).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(LookupError, match="sample 3 is broken") as caught:
        next(batches)
    assert "__getitem__" in "".join(traceback.format_exception(caught.value))


def test_workers_are_told_who_they_are_and_begin_with_their_function():
    seen = []
    loader = data.DataLoader(range(4), num_workers=2, worker_init_fn=seen.append)
    assert [batch.item() for batch in loader] == [0, 1, 2, 3]
    assert sorted(seen) == [0, 1]


class Blocking(data.Dataset):
    """Waits until two samples are asked for at the same time: only threads side by side get past it."""

    def __init__(self):
        self.barrier = threading.Barrier(2, timeout=20)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        self.barrier.wait()
        return index


def test_workers_run_side_by_side():
    assert [batch.item() for batch in data.DataLoader(Blocking(), num_workers=2)] == [0, 1]


def test_a_slow_worker_runs_into_the_timeout():
    gate = threading.Event()

    class Waiting(data.Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            gate.wait(20)
            return index

    try:
        with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds"):
            next(iter(data.DataLoader(Waiting(), num_workers=1, timeout=0.05)))
    finally:
        gate.set()


def worker_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("pyburn-data-")]


def test_an_abandoned_loader_ends_its_threads():
    batches = iter(data.DataLoader(range(1000), num_workers=3))
    next(batches)
    started = worker_threads()
    assert len(started) >= 3
    del batches
    gc.collect()
    for thread in started:
        thread.join(20)
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"num_workers": -1}, "non-negative"),
        ({"timeout": -1}, "timeout option"),
        ({"prefetch_factor": 2}, "num_workers > 0"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive"),
    ],
)
def test_mistakes_are_named(settings, text):
    with pytest.raises(ValueError, match=text):
        data.DataLoader(range(3), **settings)


def test_a_dataset_may_fetch_a_whole_batch():
    class Many(data.Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    assert [batch.tolist() for batch in data.DataLoader(Many(), batch_size=2)] == [[0, 10], [20, 30]]
    assert [b.tolist() for b in data.DataLoader(data.Subset(Many(), [3, 1]), batch_size=2)] == [[30, 10]]


def test_torchs_name_of_the_module():
    from pyburn.utils.data import DataLoader

    assert DataLoader is data.DataLoader


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize(("num_workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_three_epochs_of_shuffled_batches_are_torchs(seeded, num_workers, persistent):
    orders = []
    for lib, loaders in ((pyburn, data), (torch, torch.utils.data)):
        lib.manual_seed(5)
        generator = lib.Generator().manual_seed(11) if seeded else None
        loader = loaders.DataLoader(
            list(range(13)),
            batch_size=3,
            shuffle=True,
            generator=generator,
            num_workers=num_workers,
            persistent_workers=persistent,
        )
        orders.append([[batch.tolist() for batch in loader] + [lib.rand(1).item()] for _ in range(3)])
    assert orders[0] == orders[1]


@pytest.mark.parametrize("settings", [{}, {"shuffle": False}, {"drop_last": True, "seed": 4}])
@pytest.mark.parametrize("count", [2, 7, 12])
def test_distributed_sampler(settings, count):
    for rank in range(4):
        mine = data.DistributedSampler(range(count), num_replicas=4, rank=rank, **settings)
        theirs = torch.utils.data.DistributedSampler(range(count), num_replicas=4, rank=rank, **settings)
        for epoch in (0, 3):
            mine.set_epoch(epoch), theirs.set_epoch(epoch)
            assert list(mine) == list(theirs)
        assert (len(mine), mine.total_size) == (len(theirs), theirs.total_size)
    with pytest.raises(ValueError, match="Invalid rank 4"):
        data.DistributedSampler(range(3), num_replicas=4, rank=4)


def test_workers_that_persist_begin_once_and_serve_every_epoch():
    begun = []
    loader = data.DataLoader(
        list(range(6)), num_workers=2, persistent_workers=True, worker_init_fn=begun.append, batch_size=2
    )
    expected = [[0, 1], [2, 3], [4, 5]]
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == expected
    next(iter(loader))
    assert [batch.tolist() for batch in loader] == expected
    assert sorted(begun) == [0, 1]
    stream = data.DataLoader(Stream(7), num_workers=2, persistent_workers=True)
    assert sorted(x.item() for x in stream) == sorted(x.item() for x in stream)


def test_a_loader_with_persistent_workers_that_is_dropped_ends_its_threads():
    loader = data.DataLoader([1, 2, 3], num_workers=2, persistent_workers=True)
    list(loader)
    before = [thread for thread in threading.enumerate() if thread.name.startswith("pyburn-data")]
    assert len(before) >= 2
    del loader
    gc.collect()
    for thread in before:
        thread.join(10)
    assert not any(thread.is_alive() for thread in before)


def test_a_worker_that_exits_does_not_leave_the_caller_waiting():
    class Exiting(data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        list(data.DataLoader(Exiting(), num_workers=1))


def test_an_interrupt_stops_a_loader_that_waits():
    """Ctrl-C while the only worker sleeps: the program ends at once, with a KeyboardInterrupt."""
    program = """
import os, signal, threading, time
import pyburn

signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background of a shell ignore

class Slow(pyburn.data.Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

try:
    list(pyburn.data.DataLoader(Slow(), num_workers=1))
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "interrupted\n", done.stderr


def test_what_the_batches_depend_on_is_fixed():
    loader = data.DataLoader([1, 2])
    for name in ("batch_size", "sampler", "dataset"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, None)
    loader.collate_fn = list
    assert list(loader) == [[1], [2]]


def test_torchs_other_modules():
    from pyburn.utils.data._utils.collate import default_collate
    from pyburn.utils.data.dataloader import DataLoader
    from pyburn.utils.data.dataset import Subset
    from pyburn.utils.data.distributed import DistributedSampler
    from pyburn.utils.data.sampler import Sampler

    assert (DataLoader, Sampler, Subset) == (data.DataLoader, data.Sampler, data.Subset)
    assert (default_collate, DistributedSampler) == (data.default_collate, data.DistributedSampler)
    assert pyburn.utils.data.DataLoader is data.DataLoader
    assert data.DataLoader[int]


class _Foreign:
    """What fastai gives to torch's iterator in place of a loader."""

    _auto_collation, collate_fn, drop_last, num_workers, generator = False, staticmethod(lambda x: x), False, 0, None
    _dataset_kind, _index_sampler, _IterableDataset_len_called = 1, itertools.count(), None
    pin_memory, timeout, worker_init_fn, multiprocessing_context = False, 0, None, None
    persistent_workers, pin_memory_device, prefetch_factor, in_order = False, "", None, True
    _get_shared_seed = None

    def __init__(self):
        self.dataset = self

    def __iter__(self):
        return iter(["a", "b", "c"])


def test_iterators_of_loaders_of_other_libraries():
    for module in (torch.utils.data.dataloader, pyburn.utils.data.dataloader):
        assert list(module._SingleProcessDataLoaderIter(_Foreign())) == ["a", "b", "c"]
    for lib in (torch, pyburn):
        loader = lib.utils.data.DataLoader(range(7), 3, shuffle=True, generator=lib.Generator().manual_seed(4))
        expected = [batch.tolist() for batch in loader]
        loader.generator.manual_seed(4)
        found = lib.utils.data.dataloader._SingleProcessDataLoaderIter(loader)
        assert len(found) == 3 and [batch.tolist() for batch in found] == expected


class _Words(pyburn.utils.data.IterableDataset[int]):
    def __iter__(self):
        return iter(range(5))


@pytest.mark.parametrize("drop_last", [False, True])
def test_iterators_of_streams(drop_last):
    loader = pyburn.utils.data.DataLoader(_Words(), 2, drop_last=drop_last)
    found = pyburn.utils.data.dataloader._SingleProcessDataLoaderIter(loader)
    assert [batch.tolist() for batch in found] == [batch.tolist() for batch in loader]
