"""What convolutions keep beside a weight that stays as it is: nobody may ever see what it was made of before."""

import ctypes
import gc
import threading

import numpy as np
import pyburn
import pytest
import torch
from pyburn import nn
from pyburn.nn import functional as F

CHANNELS = 64
# Sizes of images: large enough for Winograd's kernel, and so small that it needs what is kept.
SIZES = [28, 14]
KEPT = 16 * CHANNELS * CHANNELS * 4


def live():
    gc.collect()
    return pyburn._core._memory_stats()["live_bytes"]


def weight():
    return pyburn.randn(CHANNELS, CHANNELS, 3, 3, generator=pyburn.Generator().manual_seed(1))


def image(size, batch=1):
    return pyburn.randn(batch, CHANNELS, size, size, generator=pyburn.Generator().manual_seed(2))


def convolve(x, w, times=1):
    with pyburn.no_grad():
        for _ in range(times):
            out = F.conv2d(x, w, padding=1)
    return out


@pytest.fixture(scope="module", autouse=True)
def room():
    """The memory that a thread works in, which stays with it, is there before any is counted."""
    for size in SIZES:
        convolve(image(size, batch=2), weight(), times=3)


def exact(x, w):
    x, w = (torch.tensor(part.detach().tolist(), dtype=torch.float64) for part in (x, w))
    return torch.nn.functional.conv2d(x, w, padding=1)


def close(found, expected):
    found = torch.tensor(found.detach().tolist(), dtype=torch.float64)
    return bool((found - expected).abs().max() <= 4e-6 * expected.abs().max())


def by_optimizer(kind, **options):
    def write(w):
        w.requires_grad_()
        w.grad = pyburn.ones_like(w)
        kind([w], lr=0.5, **options).step()
        w.requires_grad_(False)

    return write


def by_other_storage(w):
    w.set_(pyburn.randn(CHANNELS, CHANNELS, 3, 3))


def by_data(w):
    w.data = pyburn.randn(CHANNELS, CHANNELS, 3, 3)


def by_address(w):
    ctypes.cast(w.data_ptr(), ctypes.POINTER(ctypes.c_float))[5] = 100.0


def by_storage_address(w):
    ctypes.cast(w.untyped_storage().data_ptr(), ctypes.POINTER(ctypes.c_float))[5] = 100.0


def by_thread(w):
    thread = threading.Thread(target=lambda: w.mul_(-2))
    thread.start()
    thread.join()


def by_part(w):
    w.view(-1)[7:200].zero_()


def by_index(w):
    w[:, 3] = 2.0


def by_masked(w):
    w[w > 0] = 1.0


def by_numpy(w):
    w.numpy()[3] = 5.0


def by_memoryview(w):
    memoryview(w).cast("B").cast("f")[:100] = memoryview(np.full(100, 3.0, np.float32))


def by_dlpack(w):
    torch.from_dlpack(w).mul_(3.0)


def by_shared_memory(w):
    other = w.view(-1)
    w.share_memory_()
    other.mul_(-1.0)


def by_bits(w):
    w.view(pyburn.int32).zero_()


def by_storage(w):
    w.untyped_storage()[:400] = 0


ROUTES = {
    "mul_": lambda w: w.mul_(-2),
    "add_ of a tensor": lambda w: w.add_(pyburn.ones(3, 3)),
    "copy_": lambda w: w.copy_(pyburn.ones(3, 3)),
    "clamp_": lambda w: w.clamp_(min=0),
    "tanh_": lambda w: w.tanh_(),
    "fill_": lambda w: w.fill_(1.0),
    "normal_": lambda w: w.normal_(),
    "init": lambda w: nn.init.kaiming_uniform_(w),
    "data": lambda w: w.data.mul_(-2),
    "detach": lambda w: w.detach().mul_(-2),
    "transposed": lambda w: w.transpose(0, 1).exp_(),
    "out": lambda w: pyburn.add(pyburn.ones_like(w), 1.0, out=w),
    "out of itself": lambda w: pyburn.mul(w, 2.0, out=w),
    "index_add_": lambda w: w.index_add_(0, pyburn.tensor([3]), pyburn.ones(1, CHANNELS, 3, 3)),
    "index_fill_": lambda w: w.index_fill_(1, pyburn.tensor([3]), 4.0),
    "scatter_": lambda w: w.scatter_(0, pyburn.zeros(1, CHANNELS, 3, 3, dtype=pyburn.int64), 9.0),
    "foreach": lambda w: pyburn._foreach_mul_([w], -2.0),
    "sgd": by_optimizer(pyburn.optim.SGD),
    "momentum": by_optimizer(pyburn.optim.SGD, momentum=0.9),
    "adam": by_optimizer(pyburn.optim.Adam),
    "adamw one by one": by_optimizer(pyburn.optim.AdamW, foreach=False),
    "rmsprop": by_optimizer(pyburn.optim.RMSprop),
    "swapped": lambda w: pyburn.utils.swap_tensors(w, pyburn.zeros(CHANNELS, CHANNELS, 3, 3)),
    **{route.__name__: route for route in (by_other_storage, by_data, by_address, by_storage_address, by_thread)},
    **{route.__name__: route for route in (by_part, by_index, by_masked, by_numpy, by_memoryview, by_dlpack)},
    **{route.__name__: route for route in (by_shared_memory, by_bits, by_storage)},
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("route", ROUTES)
def test_every_write_is_seen(route, size):
    w, x = weight(), image(size)
    before = convolve(x, w, times=3)
    assert close(before, exact(x, w))
    ROUTES[route](w)
    assert not close(before, exact(x, w))
    for _ in range(3):
        assert close(convolve(x, w), exact(x, w))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lend", [lambda w: w.numpy(), memoryview, torch.from_dlpack, lambda w: w.data])
def test_lent_memory(lend, size):
    # The alias is older than everything that could be kept, and writes after it.
    w, x = weight(), image(size)
    alias = lend(w)
    convolve(x, w, times=3)
    if isinstance(alias, memoryview):
        alias = np.asarray(alias)
    alias *= -2.0
    assert close(convolve(x, w), exact(x, w))


@pytest.mark.parametrize("size", SIZES)
def test_alias_that_was_set(size):
    w, other, x = nn.Parameter(weight()), weight(), image(size)
    w.data = other
    convolve(x, w, times=3)
    other.mul_(-2.0)
    assert close(convolve(x, w), exact(x, w))


@pytest.mark.parametrize("size", SIZES)
def test_load_state_dict(size):
    first, second, x = (nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False) for _ in range(2)), None, image(size)
    first, second = first
    convolve(x, first.weight, times=3)
    first.load_state_dict(second.state_dict())
    assert close(convolve(x, first.weight), exact(x, second.weight))
    first.load_state_dict({"weight": weight()}, assign=True)
    assert close(convolve(x, first.weight), exact(x, weight()))


def test_kept_the_second_time_and_freed_with_the_weight():
    w, x = weight(), image(28)
    convolve(x, w)
    once = live()
    convolve(x, w, times=2)
    assert live() == once + KEPT
    w.mul_(2.0)
    assert live() == once
    convolve(x, w, times=2)
    assert live() == once + KEPT
    size = w.nbytes
    del w
    assert live() == once - size


def test_training_and_lent_memory_keep_nothing():
    w, x = weight().requires_grad_(), image(28)
    F.conv2d(x, w, padding=1)
    once = live()
    for _ in range(3):
        F.conv2d(x, w, padding=1)
    assert live() == once
    w.detach().numpy()
    convolve(x, w, times=3)
    assert live() == once


@pytest.mark.parametrize("size", SIZES)
def test_calls_are_equal_with_any_number_of_threads(size):
    x, threads = image(size, batch=2), pyburn.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            pyburn.set_num_threads(count)
            w = weight()
            results += [convolve(x, w) for _ in range(3)]
    finally:
        pyburn.set_num_threads(threads)
    assert all(pyburn.equal(results[0], other) for other in results[1:])


def test_weights_over_one_memory():
    both, x = pyburn.cat([weight(), -weight()]), image(14)
    before = live()
    for _ in range(3):
        for half in (both[:CHANNELS], both[CHANNELS:]):
            assert close(convolve(x, half), exact(x, half))
    assert live() == before + 2 * KEPT
    both[0].zero_()
    for half in (both[:CHANNELS], both[CHANNELS:]):
        assert close(convolve(x, half), exact(x, half))


@pytest.mark.parametrize("shape", [(80, 50, 9, 27), (48, 100, 20, 14), (64, 69, 14, 14), (256, 261, 17, 15)])
def test_odd_sizes(shape):
    channels, filters, *spatial = shape
    x, w, b = pyburn.randn(2, channels, *spatial), pyburn.randn(filters, channels, 3, 3), pyburn.randn(filters)
    for padding in (0, 1, 2):
        for _ in range(3):
            with pyburn.no_grad():
                found = F.conv2d(x, w, b, padding=padding)
            expected = torch.nn.functional.conv2d(
                *(torch.tensor(part.tolist(), dtype=torch.float64) for part in (x, w, b)), padding=padding
            )
            assert close(found, expected)


def test_special_numbers():
    w, x = weight(), image(14)
    convolve(x, w, times=2)
    x[0, 3, 5, 5] = float("inf")
    found, expected = convolve(x, w), exact(x, w)
    assert np.array_equal(np.isfinite(found.numpy()), torch.isfinite(expected).numpy())
    x[0, 3, 5, 5] = 1.0
    w[2, 3, 1, 1] = float("nan")
    for _ in range(3):
        bad = ~np.isfinite(convolve(x, w).numpy())
        assert bad[0, 2].all()
        assert bad.sum() == bad[0, 2].size


def test_panels_of_small_images_are_kept_and_dropped():
    """Strided windows over small images keep the weight in panels; a write, or another window, sees none of them."""
    rng = pyburn.Generator().manual_seed(3)
    x, w = pyburn.randn(8, 64, 14, 14, generator=rng), pyburn.randn(100, 64, 3, 3, generator=rng)

    def check(**options):
        with pyburn.no_grad():
            found = [F.conv2d(x, w, padding=1, **options) for _ in range(3)]
        exact = torch.nn.functional.conv2d(
            *(torch.tensor(t.tolist(), dtype=torch.float64) for t in (x, w)), **options, padding=1
        )
        assert close(found[-1], exact)
        assert all(pyburn.equal(found[0], other) for other in found[1:])

    check(stride=2)
    before = live()
    w.mul_(0.5)
    assert before - live() >= 64 * 9 * 100 * 4
    check(stride=2)
    check(stride=1)  # Winograd's windows of the same weight
    check(stride=2)
    w[3] = 1.0
    check(stride=2)


@pytest.mark.parametrize("size", [7, 16, 32, 48])
@pytest.mark.parametrize("kernel", [3, 4, 5])
def test_strided_and_transposed_windows(size, kernel):
    """Rows of one vector, of several, and results that lie two apart."""
    rng = np.random.default_rng(size * kernel)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 18, size, size), (34, 18, kernel, kernel)))
    for call in (
        lambda lib, x, w: lib.nn.functional.conv2d(x, w, stride=2, padding=1),
        lambda lib, x, w: lib.nn.functional.conv2d(x, w, padding=kernel // 2),
        lambda lib, x, w: lib.nn.functional.conv_transpose2d(x, w.transpose(0, 1), stride=2, padding=1),
    ):
        exact = call(torch, torch.from_numpy(x).double(), torch.from_numpy(w).double())
        assert close(call(pyburn, pyburn.tensor(x), pyburn.tensor(w)), exact)
