"""Memory that processes share: where it lies, who sees it, and when it goes."""

import gc
import mmap
import os
import pickle

import numpy as np
import pyburn
import pyburn._shared_blocks as blocks
import pyburn.multiprocessing as mp
import pytest
import shared_workers as workers
import torch
from pyburn._sharing import rebuild_tensor, reduce_tensor, share

from oracle import check_error

DTYPES = ["float32", "float64", "float16", "bfloat16", "bool", "int64", "int8", "uint8", "complex64", "complex128"]
OWN = f"pyburn_{os.getpid()}_"


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def window(x):
    """The bytes of the file under a tensor, by a mapping that knows nothing of tensors."""
    block = share(x)
    with open(f"/proc/self/fd/{block.descriptor}", "rb") as file:
        return mmap.mmap(file.fileno(), block.nbytes, access=mmap.ACCESS_READ)


def opened():
    gc.collect()
    with open("/proc/self/maps") as file:
        maps = sum("memfd:pyburn" in line or "/dev/shm/pyburn" in line for line in file)
    return len(os.listdir("/proc/self/fd")), maps, sum(name.startswith(OWN) for name in os.listdir("/dev/shm"))


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_a_storage_moves_with_all_its_aliases(lib):
    base = lib.arange(12.0)
    view, data, storage = base.view(3, 4)[1:, ::2], base.data, base.untyped_storage()
    leaf = lib.nn.Parameter(base)
    assert not any(x.is_shared() for x in (base, view, data, storage, leaf))
    assert leaf.share_memory_() is leaf and leaf.requires_grad and leaf.is_leaf
    assert all(x.is_shared() for x in (base, view, data, storage, leaf))
    with lib.no_grad():
        leaf.mul_(2)
    assert view.tolist() == [[8.0, 12.0], [16.0, 20.0]] and data.sum().item() == base.sum().item() == 132.0
    base.numpy()[0] = 5.0
    assert data[0].item() == leaf[0].item() == 5.0 and storage.nbytes() == 48
    pointer = base.data_ptr()
    assert view.share_memory_().data_ptr() == view.data_ptr() and base.data_ptr() == pointer


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_a_graph_survives_the_move(lib):
    x = lib.arange(3.0, requires_grad=True)
    y = x.detach().clone()
    out = (x * y).exp().sum()
    x.share_memory_()
    y.share_memory_()
    out.backward()
    assert x.grad.tolist() == pytest.approx((lib.tensor([0.0, 1, 2]) * lib.tensor([1.0, np.e, np.e**4])).tolist())
    (x * y).sum().backward()
    y.add_(1)
    late = (x * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        late.backward()


def test_memory_of_numpy_is_left_to_numpy():
    array = np.arange(4.0)
    x = pyburn.from_numpy(array)
    y = x[1:]
    x.share_memory_()
    x.fill_(7.0)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0] and y.tolist() == [7.0] * 3


def test_an_exported_array_keeps_the_old_memory():
    x = pyburn.arange(4.0)
    array = x.numpy()
    x.share_memory_().fill_(7.0)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0] and x.numpy().tolist() == [7.0] * 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_kept(dtype):
    x = pyburn.arange(-3, 7).to(getattr(pyburn, dtype)).reshape(5, 2).t()
    before = workers.facts(x)
    assert workers.facts(x.share_memory_()) == before and x.is_shared()
    assert pyburn.zeros(0, dtype=x.dtype).share_memory_().is_shared()
    assert pyburn.zeros((), dtype=x.dtype).share_memory_().item() == 0


def test_storages_and_modules_are_shared():
    model = pyburn.nn.BatchNorm1d(3)
    parameters = dict(model.named_parameters())
    model(pyburn.randn(4, 3)).sum().backward()
    assert model.share_memory() is model and dict(model.named_parameters()) == parameters
    shared = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())]
    assert all(x.is_shared() for x in shared)
    for x in (pyburn.zeros(3), pyburn.zeros(0)):
        storage = x.untyped_storage()
        assert storage.share_memory_() is storage and x.is_shared() and x.storage().is_shared()
    optimizer = pyburn.optim.Adagrad(model.parameters())
    optimizer.share_memory()
    assert all(state["sum"].is_shared() for state in optimizer.state.values())


@pytest.mark.parametrize("lib", [pyburn, torch])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_batches_are_collated_into_shared_memory(lib):
    """As functions do that were written after an old `default_collate` of torch."""
    batch = [lib.arange(3.0), lib.ones(3)]
    storage = batch[0].storage()._new_shared(6)
    out = batch[0].new(storage)
    assert out.shape == (6,) and out.is_shared() and out.data_ptr() == storage.data_ptr()
    made = lib.stack(batch, 0, out=out.resize_(2, 3))
    assert made.is_shared() and storage.tolist() == [0.0, 1.0, 2.0, 1.0, 1.0, 1.0]
    assert lib.UntypedStorage._new_shared(5).is_shared()


def test_what_cannot_be_shared():
    check_error(lambda lib: lib.zeros(2, device="meta").share_memory_())
    with pytest.raises(NotImplementedError, match="to_dense"):
        pyburn.eye(2).to_sparse().share_memory_()
    x = pyburn.zeros(2).share_memory_()
    with pytest.raises(RuntimeError):
        x.resize_(1000)
    check_error(lambda lib: lib.multiprocessing.set_sharing_strategy("smoke"), same_class=True)
    assert mp.get_all_sharing_strategies() == torch.multiprocessing.get_all_sharing_strategies()
    assert mp.get_sharing_strategy() == torch.multiprocessing.get_sharing_strategy()


OPTIMIZERS = {
    **{name: {} for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adadelta", "Adagrad", "ASGD", "Rprop")},
    "RMSprop": {"momentum": 0.9}, "SGD": {"momentum": 0.9, "nesterov": True}, "LBFGS": {}, "Lion": {}, "Lamb": {},
    "Muon": {}, "Adafactor": {},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("foreach", [False, True])
def test_optimizers_write_into_the_shared_memory(name, foreach):
    pyburn.manual_seed(0)
    layer = pyburn.nn.Linear(40, 30, bias=False).share_memory()
    arguments = OPTIMIZERS[name] | ({"lr": 0.1} if name == "SGD" else {})
    kind = getattr(pyburn.optim, name)
    if foreach and "foreach" in kind.__init__.__annotations__:
        arguments |= {"foreach": True}
    optimizer = kind(layer.parameters(), **arguments)
    file, address = window(layer.weight), layer.weight.data_ptr()

    def closure():
        optimizer.zero_grad()
        loss = layer(pyburn.ones(4, 40)).square().sum()
        loss.backward()
        return loss

    before = file[:]
    optimizer.step(closure)
    assert layer.weight.data_ptr() == address and file[:] == layer.weight.detach()._bytes() != before


def test_in_place_functions_write_into_the_shared_memory():
    x = pyburn.rand(6, 5).share_memory_()
    file = window(x)
    writes = [
        lambda: x.add_(1), lambda: x.copy_(pyburn.randn(5)), lambda: x.zero_(), lambda: x.uniform_(),
        lambda: x.__setitem__((slice(None), 1), 3.0), lambda: x.t().mul_(2), lambda: x.data.sub_(pyburn.rand(6, 5)),
        lambda: x.addmm_(pyburn.randn(6, 2), pyburn.randn(2, 5)), lambda: x.masked_fill_(x > 0, 9.0), x.sigmoid_,
        lambda: x.index_add_(0, pyburn.tensor([1]), pyburn.ones(1, 5)), lambda: x.set_(x.view(30).view(6, 5)).add_(1),
        lambda: pyburn.nn.init.normal_(x), lambda: pyburn.add(x, 2, out=x), lambda: x.view(-1)[3:].fill_(2.5),
        lambda: pyburn._foreach_mul_([x], 3.0),
    ]  # fmt: skip
    for write in writes:
        before = file[:]
        write()
        assert file[:] == x._bytes() != before


def test_results_do_not_alias_shared_memory():
    x = pyburn.ones(1000).share_memory_()
    before = window(x)[:]
    y = (x + 1).mul_(2) + x.exp()
    y.zero_()
    pyburn.ones(1000, requires_grad=True).backward(x)
    assert window(x)[:] == before


def message(x):
    return reduce_tensor(x)[1]


def test_sent_tensors_are_the_same_memory_in_one_process(strategy):
    x = pyburn.arange(12.0).view(3, 4)
    got = [rebuild_tensor(*message(part)) for part in (x, x[:, 1], x.t())]
    got[0][0, 1] = 50.0
    assert got[1][0] == got[2][1, 0] == x[0, 1] == 50.0
    assert {part.untyped_storage().data_ptr() for part in got} == {x.data_ptr()}


@pytest.mark.parametrize("sends", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_nothing_is_left_behind(strategy, sends):
    connection, other = mp.get_context("fork").Pipe()
    connection.send(pyburn.zeros(3))
    other.recv()  # the thread that hands out descriptors runs from now on
    before = opened()
    kept = pyburn.zeros(3).share_memory_()
    for index in range(sends // 2):
        connection.send(pyburn.full((500,), float(index)))
        connection.send(kept)
        assert other.recv()[-1] == index
        assert other.recv().data_ptr() == kept.data_ptr()
    assert opened() != before
    del kept
    assert opened() == before


def test_memory_lives_as_long_as_a_receiver_has_it(strategy):
    x = pyburn.arange(1000.0)
    sent = message(x)
    address = x.data_ptr()
    del x
    y = rebuild_tensor(*sent)
    row = y[500:]
    del y
    assert row[0].item() == 500.0 and row.is_shared()
    fresh = pyburn.zeros(1000)
    assert fresh.data_ptr() != address and not fresh.is_shared()


def test_damaged_messages_are_errors(strategy):
    for change in [
        {1: 1 << 40}, {1: -4}, {1: float("inf")}, {1: None}, {3: (1 << 40,)}, {3: (-1,)}, {3: (5,)}, {4: (1 << 62,)},
        {4: (-1,)}, {4: ()}, {5: 1}, {5: -1}, {5: 1 << 63}, {2: pyburn.float64}, {2: "tensor"}, {0: (print, 1)},
        {0: ()}, {3: (float("nan"),)}, {3: (1 << 62, 1 << 62), 4: (1, 1)},
    ]:  # fmt: skip
        for alive in (True, False):
            x = pyburn.zeros(4)
            fields = list(message(x))
            if not alive:
                del x  # only the message knows the memory
            for place, value in change.items():
                fields[place] = value
            with pytest.raises((RuntimeError, OverflowError, TypeError, ValueError)):
                pytest.fail(f"{change}: {rebuild_tensor(*fields)}")


def test_a_file_that_is_no_block_is_refused(tmp_path):
    (tmp_path / "short").write_bytes(b"abc")
    with open(tmp_path / "short", "r+b") as file, pytest.raises(RuntimeError, match="3 bytes but 8"):
        pyburn._core._SharedMemory(file.fileno(), 8)
    with pytest.raises(RuntimeError, match="fstat"):
        pyburn._core._SharedMemory(-1, 8)
    for name in ("../etc/passwd", "pyburn_1_0123456789abcdef", "", 3):
        with pytest.raises((RuntimeError, FileNotFoundError)):
            blocks.open_((blocks._named, name), 8)


def test_memory_cannot_be_cut_under_a_tensor():
    block = share(pyburn.zeros(4))
    with pytest.raises(PermissionError):
        os.ftruncate(block.descriptor, 0)


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_more_than_there_is_is_refused_before_any_page_is_asked_for(strategy, monkeypatch):
    monkeypatch.setattr(blocks, "_reserve", lambda *_: pytest.fail("pages were asked for"))
    with pytest.raises(Exception, match="allocate"):
        blocks.create(1 << 60, strategy)


def test_the_graph_stays_in_its_process():
    check_error(
        lambda lib: lib.multiprocessing.reductions.reduce_tensor(lib.ones(2, requires_grad=True) * 2), same_class=True
    )
    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        reduce_tensor(pyburn.ones(2, requires_grad=True) * 2)


def test_ordinary_pickles_are_copies():
    x = pyburn.zeros(3).share_memory_()
    y = pickle.loads(pickle.dumps(x))
    y.add_(1)
    assert x.sum() == 0 and not y.is_shared() and not x.clone().is_shared()
