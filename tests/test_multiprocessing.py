"""Processes that see the same tensors, by every way to start them and to send things to them."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyburn
import pyburn.multiprocessing as mp
import pytest
import shared_workers as workers
import torch

METHODS = ["fork", "spawn", "forkserver"]


def run(method, function, *args):
    process = mp.get_context(method).Process(target=function, args=args)
    process.start()
    return process


def ended(process):
    process.join(60)
    assert process.exitcode == 0


@pytest.fixture
def busy():
    """A thread that computes while the test forks."""
    stop = threading.Event()

    def compute():
        x = pyburn.rand(300, 300)
        while not stop.is_set():
            (x @ x).sum().item()

    thread = threading.Thread(target=compute)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_and_parent_see_each_others_writes(method):
    context = mp.get_context(method)
    x, asked, done = pyburn.ones(3).share_memory_(), context.Event(), context.Event()
    process = run(method, workers.answer_writes, x, asked, done)
    for number in (1.0, 5.0, -2.0):
        x.fill_(number)
        asked.set()
        assert done.wait(60)
        done.clear()
        assert x.tolist() == [2 * number] * 3
    ended(process)


@pytest.mark.parametrize("method", METHODS)
def test_a_shared_model_is_trained_by_two_processes(method):
    pyburn.manual_seed(0)
    model = pyburn.nn.Sequential(pyburn.nn.Linear(8, 32), pyburn.nn.ReLU(), pyburn.nn.Linear(32, 2))
    model.register_buffer("steps", pyburn.zeros((), dtype=pyburn.int64))
    parameters = list(model.parameters())
    assert model.share_memory() is model and [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    before, lock = workers.loss_of(model), mp.get_context(method).Lock()
    processes = [run(method, workers.train, rank, model, lock) for rank in range(2)]
    for process in processes:
        ended(process)
    assert model.steps.item() == 120
    assert workers.loss_of(model) < 0.6 * before
    # The parent goes on with the same memory.
    middle = workers.loss_of(model)
    workers.train(0, model, lock, steps=20)
    assert workers.loss_of(model) < middle and all(p.is_shared() for p in parameters)


def test_a_script_trains_in_spawned_processes():
    """mnist_hogwild's form, not a line changed; tests/programs compares its numbers with torch's, by fork."""
    script = Path(__file__).parent / "programs" / "hogwild.py"
    command = [sys.executable, "-m", "pyburn", "run", str(script), "spawn", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = json.loads(done.stdout)
    assert second < first < 1.38


def test_a_forked_child_trains_beside_a_busy_thread(busy):
    model = pyburn.nn.Sequential(pyburn.nn.Linear(8, 2))
    model.register_buffer("steps", pyburn.zeros((), dtype=pyburn.int64))
    model.share_memory()
    before = workers.loss_of(model)
    ended(run("fork", workers.train, 0, model, mp.get_context("fork").Lock(), 20))
    assert workers.loss_of(model) < before and model.steps.item() == 20


DTYPES = ["float32", "float64", "float16", "bfloat16", "bool", "int64", "int8", "uint8", "complex64", "complex128"]


def test_every_kind_of_tensor_arrives_as_it_was_sent():
    base = pyburn.arange(24.0).view(2, 3, 4)
    sent = [
        *(pyburn.arange(6).to(getattr(pyburn, dtype)) for dtype in DTYPES),
        pyburn.tensor([float("nan"), float("inf"), -0.0]), pyburn.tensor(3.5), pyburn.zeros(0), pyburn.zeros(2, 0, 3),
        base, base[1], base[:, ::2, 1:], base.permute(2, 0, 1), base.view(-1)[5:7],
        pyburn.ones(2, requires_grad=True), pyburn.nn.Parameter(pyburn.ones(2, 2)),
        pyburn.nn.Parameter(pyburn.ones(2), requires_grad=False), pyburn.nn.Buffer(pyburn.ones(2)),
        pyburn.ones(3).as_subclass(workers.Marked), pyburn.ones(4)[1:].as_subclass(workers.Marked),
    ]  # fmt: skip
    connection, other = mp.get_context("fork").Pipe()
    process = run("fork", workers.echo, other)
    expected = [workers.facts(x) for x in sent]
    connection.send(sent)
    found, storages, shared = connection.recv()
    assert found == expected and shared and all(x.is_shared() for x in sent)
    # Views of one storage are views of one storage there too.
    where = [x.untyped_storage().data_ptr() for x in sent]
    assert [storages.index(a) for a in storages] == [where.index(a) for a in where]
    assert connection.recv() == "written"
    assert sent[0].tolist() == [1.0, 2, 3, 4, 5, 6] and sent[4].tolist() == [True] + [False] * 5
    assert base[1, 2, 3] == 23 + 1 + 1 + 1 + 1 and base[0, 0, 0] == 2.0  # once for each view that has the element
    connection.send(None)
    ended(process)


@pytest.mark.gpu
def test_tensors_of_a_gpu_arrive_as_copies():
    connection, other = mp.get_context("fork").Pipe()
    x = pyburn.arange(4.0, device="wgpu")
    with pytest.raises(NotImplementedError, match=r"call \.cpu\(\)"):
        x.share_memory_()
    connection.send(x)
    y = other.recv().add_(1)
    assert y.device.type == "wgpu" and y.tolist() == [1.0, 2.0, 3.0, 4.0] and x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue", "JoinableQueue"])
def test_queues(kind):
    context = mp.get_context("fork")
    queue, received = getattr(context, kind)(), context.Event()
    process = context.Process(target=workers.put_and_wait, args=(queue, received))
    process.start()
    x = queue.get()
    received.set()
    ended(process)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and x.is_shared()


def test_a_sender_that_has_ended():
    queue = mp.get_context("fork").SimpleQueue()
    ended(run("fork", workers.put_and_leave, queue))
    with pytest.raises(OSError, match="the process that sent this tensor has ended"):
        queue.get()
    mp.set_sharing_strategy("file_system")
    try:
        sender = run("fork", workers.put_and_leave, queue)
        ended(sender)
        x = queue.get()
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and x.is_shared()
    finally:
        mp.set_sharing_strategy("file_descriptor")
    del x
    assert not any(name.startswith(f"pyburn_{sender.pid}_") for name in os.listdir("/dev/shm"))


SENDING = """
import os
import pyburn
import pyburn.multiprocessing as mp

mp.set_sharing_strategy("file_system")
context = mp.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=lambda: queue.put(pyburn.arange(3.0)))
process.start()
process.join()
print(queue.get().tolist(), process.pid)
kept = pyburn.ones(3).share_memory_()
"""


def test_named_memory_outlives_its_sender_and_goes_with_the_program():
    command = [sys.executable, "-c", SENDING]
    quiet = {**os.environ, "PYBURN_QUIET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=quiet)
    values, _, pid = done.stdout.rpartition(" ")
    assert values == "[0.0, 1.0, 2.0]" and done.stderr == ""
    assert not any(name.startswith(f"pyburn_{pid.strip()}_") for name in os.listdir("/dev/shm"))


def test_pools():
    with mp.get_context("fork").Pool(2) as pool:
        found = pool.map(workers.double, [pyburn.full((3,), float(i)) for i in range(6)])
        assert [x.tolist() for x in found] == [[2.0 * i] * 3 for i in range(6)]
        shared = pyburn.zeros(2, 3)
        pool.starmap(workers.fill_row, [(0, shared), (1, shared)])
        assert shared.tolist() == [[1.0] * 3, [2.0] * 3]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_spawned_functions_write_into_their_arguments(method):
    x = pyburn.zeros(2, 3)
    assert mp.start_processes(workers.fill_row, args=(x,), nprocs=2, start_method=method) is None
    # Forked arguments are not sent, so that only memory that was shared before is seen.
    assert x.tolist() == ([[0.0] * 3] * 2 if method == "fork" else [[1.0] * 3, [2.0] * 3])


def test_a_model_of_many_tensors_is_sent():
    # More than the 256 descriptors that Python's forkserver takes at once.
    model = pyburn.nn.ModuleList([pyburn.nn.Linear(2, 2) for _ in range(130)])
    before = [p.detach().clone() for p in model.parameters()]
    for method in ("spawn", "forkserver"):
        ended(run(method, workers.add_one, list(model.parameters())))
    assert all(bool((p == old + 1 + 1).all()) for p, old in zip(model.parameters(), before, strict=True))


def test_errors_name_the_process():
    stop = mp.get_context("fork").Event()
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: from the process") as raised:
        mp.start_processes(workers.fail_at_one, args=(stop,), nprocs=2, start_method="fork")
    error = raised.value
    assert error.error_index == 1 and error.error_pid > 0 and "-- Process 1 terminated with" in error.msg
    assert isinstance(error, mp.ProcessException) and type(error)(*error.__reduce__()[1]).msg == error.msg
    for function, code, name in ((workers.end_by_signal, -9, "SIGKILL"), (workers.end_by_code, 3, None)):
        with pytest.raises(mp.ProcessExitedException, match=name or "exit code 3") as left:
            mp.start_processes(function, nprocs=1, start_method="fork")
        assert (left.value.exit_code, left.value.signal_name) == (code, name)
        with pytest.raises(torch.multiprocessing.ProcessExitedException) as expected:
            torch.multiprocessing.start_processes(function, nprocs=1, start_method="fork")
        assert str(left.value) == str(expected.value)
