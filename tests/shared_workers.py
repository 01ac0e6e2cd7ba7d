"""What the child processes of test_sharing.py and test_multiprocessing.py run; nothing here imports torch."""

import os
import signal

import pyburn
import pyburn.nn.functional as F


class Marked(pyburn.Tensor):
    """A tensor of a user's own kind."""


def add_one(tensors):
    for tensor in tensors:
        tensor.data.add_(1)


def answer_writes(x, asked, done):
    """Doubles what the parent wrote, when it says so."""
    for _ in range(3):
        assert asked.wait(30)
        asked.clear()
        x.mul_(2)
        done.set()


def facts(x):
    """What a receiver must see as the sender does; values as bytes, since NaN is not itself."""
    grad = x.requires_grad
    return (type(x).__name__, str(x.dtype), tuple(x.shape), x.stride(), x.storage_offset(), grad, x.detach()._bytes())


def echo(connection):
    """Sends back what each tensor looks like here, then adds one to the numbers."""
    while (tensors := connection.recv()) is not None:
        views = [a.untyped_storage().data_ptr() for a in tensors]
        connection.send(([facts(x) for x in tensors], views, all(x.is_shared() for x in tensors)))
        with pyburn.no_grad():
            for x in tensors:
                x.logical_not_() if x.dtype == pyburn.bool else x.add_(1)
        connection.send("written")


def put_and_wait(queue, received):
    queue.put(pyburn.arange(4.0))
    received.wait(30)


def put_and_leave(queue):
    queue.put(pyburn.arange(4.0))


def double(x):
    return x * 2


def fill_row(index, x):
    x[index] = index + 1


def fail_at_one(index, stop):
    if index == 1:
        raise ValueError("from the process " + "x" * 100_000)
    stop.wait(60)


def end_by_signal(index):
    os.kill(os.getpid(), signal.SIGKILL)


def end_by_code(index):
    os._exit(3)


def data(seed):
    pyburn.manual_seed(seed)
    x = pyburn.randn(256, 8)
    return x, (x[:, 0] > x[:, 1]).long()


def loss_of(model, seed=1):
    x, y = data(seed)
    with pyburn.no_grad():
        return F.cross_entropy(model(x), y).item()


def train(rank, model, lock, steps=60):
    """Hogwild: steps on the parameters that all processes share; the lock guards only the count of steps."""
    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    x, y = data(1)
    for step in range(steps):
        rows = slice(step % 4 * 64, step % 4 * 64 + 64)
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
        with lock:
            model.steps += 1
