"""Top-k, distinct values, searches and masks at sizes that use every path of the kernels."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch


def both(fn, *args):
    expected, found = fn(torch, *args), fn(pyburn, *(from_torch(arg) for arg in args))
    expected, found = ([x] if hasattr(x, "shape") else list(x) for x in (expected, found))
    for ours, theirs in zip(found, expected, strict=True):
        ours = to_torch(ours)
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("k", [0, 1, 2, 10, 15, 16, 40])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["distinct", "ties", "nan", "equal", "rising", "falling"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int16, torch.float16])
def test_topk(k, largest, kind, dtype):
    rng = np.random.default_rng(k)
    x = rng.standard_normal((5, 1001)) * 1000
    if kind == "ties":
        x = rng.integers(-20, 20, (5, 1001)).astype(float)
        x[0, ::7] = -0.0
    if kind == "equal":
        x = np.zeros((5, 1001))
    if kind in ("rising", "falling"):
        x = np.sort(x)[:, :: 1 if kind == "rising" else -1].copy()
    if kind == "nan" and dtype.is_floating_point:
        x[:, ::100] = np.nan
    x = torch.from_numpy(x).to(dtype)
    both(lambda lib, x: x.topk(k, 1, largest), x)
    both(lambda lib, x: x.t().topk(min(k, 5), 1, largest), x)
    both(lambda lib, x: x.topk(k, 1, largest, False).values.sort().values, x)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.int16, torch.float32, torch.bool])
def test_unique(inverse, counts, dtype):
    rng = np.random.default_rng(0)
    for low, high, size in ((0, 100, 5000), (-7, 3, 300), (-(2**40), 2**40, 1000), (5, 6, 400), (0, 9, 20)):
        x = torch.from_numpy(rng.integers(low, high, size)).to(dtype).reshape(-1, 10)
        both(lambda lib, x: x.unique(return_inverse=inverse, return_counts=counts), x)


def test_unique_floats_with_nan_and_zeros():
    x = torch.tensor([0.0, -0.0, float("nan"), 1.0, float("nan"), 0.0] * 60)
    found, counts = pyburn.unique(from_torch(x), return_counts=True)
    assert counts.tolist() == [180, 60] + [1] * 120
    assert found.isnan().sum().item() == 120


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    rng = np.random.default_rng(0)
    one = torch.from_numpy(np.sort(rng.integers(0, 500, 999))).float()
    values = torch.from_numpy(rng.integers(-5, 505, (70, 301))).float()
    values[3, 5] = float("nan")
    both(lambda lib, s, v: lib.searchsorted(s, v, right=right), one, values)
    many = torch.from_numpy(np.sort(rng.standard_normal((70, 31)), axis=1))
    both(lambda lib, s, v: lib.searchsorted(s, v.double(), right=right), many, values)


@pytest.mark.parametrize("shape", [(70001,), (300, 301), (3, 0, 5), (40, 50, 41), (1,)])
def test_masks(shape):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    for share in (0.0, 0.3, 1.0):
        mask = torch.from_numpy(rng.random(shape) < share)
        both(lambda lib, x, m: x.masked_select(m), x, mask)
        both(lambda lib, x, m: x[m], x, mask)
        both(lambda lib, x, m: m.nonzero(), x, mask)
        both(lambda lib, x, m: m.nonzero(as_tuple=True), x, mask)
        both(lambda lib, x, m: lib.where(m, x, x).masked_scatter(m, x * 2), x, mask)
    assert pyburn.tensor(True).nonzero().shape == (1, 0)
    assert from_torch(mask).nonzero().stride() == mask.nonzero().stride()


@pytest.mark.parametrize("place", ["all", "first", "last", "middle"])
def test_filled_masks(place):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((4, 5, 6)).astype(np.float32))
    size = {"all": (4, 5, 6), "first": (4,), "last": (6,), "middle": (5, 6)}[place]
    mask = torch.from_numpy(rng.random(size) < 0.4)

    def filled(lib, x, mask):
        y = (x * 1).requires_grad_()
        z = y * 1
        key = {"all": mask, "first": mask, "last": (..., mask), "middle": (slice(None), mask)}[place]
        z[key] = 2.5
        (z * z).sum().backward()
        w = (x * 2).transpose(0, 2).contiguous().transpose(0, 2)
        w[key] = lib.tensor(3.5, dtype=lib.float64)
        return z.detach(), y.grad, w

    both(filled, x, mask)


@pytest.mark.parametrize("size", [17, 128, 130, 4097, 70001, 300_007])
@pytest.mark.parametrize("kind", ["random", "few", "nan", "equal", "rising", "falling", "organ", "killer"])
def test_sort_of_long_lines(size, kind):
    """Equal elements stand as GNU's `std::sort` leaves them, however many threads share the work."""
    rng = np.random.default_rng(size)
    x = rng.standard_normal(size).astype(np.float32)
    if kind == "few":
        x = rng.integers(-20, 20, size).astype(np.float32)
    if kind == "nan":
        x[rng.integers(0, size, size // 10)] = np.nan
    if kind == "equal":
        x[:] = 1
    if kind in ("rising", "falling"):
        x = np.sort(np.round(x, 2))[:: 1 if kind == "rising" else -1].copy()
    if kind == "organ":
        x = np.minimum(np.arange(size), np.arange(size)[::-1]).astype(np.float32)
    if kind == "killer":  # medians of three that cut off two elements each
        half = size // 2
        x[:half] = np.where(np.arange(half) % 2 == 0, np.arange(half) + 1, np.arange(half) + half)
        x[half:] = 2 * np.arange(size - half) + 2
    x = torch.from_numpy(x)
    for descending in (False, True):
        both(lambda lib, x, d=descending: x.sort(descending=d), x)
        both(lambda lib, x, d=descending: x.sort(descending=d, stable=True), x)
    both(lambda lib, x: x.double().sort(), x)
    both(lambda lib, x: lib.stack([x, -x]).sort(1), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float64, torch.bool])
@pytest.mark.parametrize("shape", [(1001, 67), (700, 3), (3, 500, 40)])
def test_topk_of_columns(dtype, shape):
    x = torch.from_numpy(np.random.default_rng(0).integers(-90, 90, shape)).to(dtype)
    if dtype.is_floating_point:
        x.view(-1)[::501] = float("nan")
    dim = len(shape) - 2
    if dtype != torch.bool:
        both(lambda lib, x: x.topk(5, dim), x)
        both(lambda lib, x: x.topk(3, dim, largest=False), x)
    both(lambda lib, x: x.sort(dim=dim, stable=True), x)


@pytest.mark.parametrize("size", [16_383, 16_384, 50_001, 200_001])
@pytest.mark.parametrize("span", [1, 2, 1000, 1 << 20, 1 << 31, 1 << 40])
@pytest.mark.parametrize("descending", [False, True])
def test_long_integers_in_stable_order(size, span, descending):
    x = torch.from_numpy(np.random.default_rng(size).integers(-span // 2, span, size))
    both(lambda lib, x: x.sort(stable=True, descending=descending), x)
    if span < 1 << 31:
        both(lambda lib, x: x.int().sort(stable=True, descending=descending), x)
        both(lambda lib, x: x.float().sort(stable=True, descending=descending), x)


def test_counts_of_many():
    for size, span in ((200_001, 1000), (70_000, 5), (70_000, 9000), (200_001, 1_000_000), (100, 7)):
        x = torch.from_numpy(np.random.default_rng(size).integers(0, span, size))
        both(lambda lib, x: lib.bincount(x), x)
    x[50] = -1
    with pytest.raises(RuntimeError, match="non-negative"):
        pyburn.bincount(from_torch(x))
