"""Reading and writing by index at sizes that use every path of the kernels: bit for bit what torch gives."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_error, from_torch, to_torch

ALONG = [
    ((1000, 300), 1, (1000, 300)),
    ((1000, 300), 0, (1000, 300)),
    ((37, 53), 1, (37, 7)),
    ((37, 53), 0, (5, 7)),
    ((10, 9, 8), 0, (5, 6, 7)),
    ((10, 9, 8), 1, (5, 30, 7)),
    ((10, 9, 8), 2, (5, 6, 7)),
    ((7,), 0, (70001,)),
    ((70001, 3), 1, (70001, 1)),
    ((2, 3, 40000), 1, (2, 5, 40000)),
    ((), 0, ()),
]
SLABS = [((300, 257), 0, 400), ((300, 257), 1, 301), ((300, 64), 0, 2000), ((50, 3, 7), 1, 11), ((9,), 0, 70001)]
DTYPES = [np.float32, np.float64, np.int64, np.int16]


def drawn(shape, dtype, seed=0):
    return torch.from_numpy(np.asarray(np.random.default_rng(seed).standard_normal(shape) * 100).astype(dtype))


def places(shape, size, seed=1):
    return torch.from_numpy(np.asarray(np.random.default_rng(seed).integers(0, size, shape)))


def same(fn, *args):
    expected, found = fn(*args), to_torch(fn(*(from_torch(arg) for arg in args)))
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim", "index_shape"), ALONG)
def test_along(shape, dim, index_shape, dtype):
    x, index = drawn(shape, dtype), places(index_shape, shape[dim] if shape else 1)
    source = drawn(index_shape, dtype, 2)
    same(lambda x, index: x.gather(dim, index), x, index)
    same(lambda x, index: x.gather(dim, index.int()), x, index)
    same(lambda x, index, source: x.scatter_add(dim, index, source), x, index, source)
    same(lambda x, index, source: x.clone().scatter_add_(dim, index, source), x, index, source)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, include_self):
    x, index, source = drawn((60, 700), np.float32), places((300, 700), 60), drawn((300, 700), np.float32, 2)
    source[5, 6] = float("nan")
    expected = x.scatter_reduce(0, index, source, reduce, include_self=include_self)
    found = from_torch(x).scatter_reduce(0, from_torch(index), from_torch(source), reduce, include_self=include_self)
    torch.testing.assert_close(to_torch(found), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim", "count"), SLABS)
def test_slabs(shape, dim, count, dtype):
    x, index = drawn(shape, dtype), places((count,), shape[dim])
    sizes = [count if at == dim else size for at, size in enumerate(shape)]
    source, some = drawn(sizes, dtype, 2), torch.randperm(shape[dim], generator=torch.Generator().manual_seed(0))
    same(lambda x, index: x.index_select(dim, index), x, index)
    same(lambda x, index, source: x.index_add(dim, index, source), x, index, source)
    same(lambda x, index, source: x.clone().index_add_(dim, index, source, alpha=2), x, index, source)
    same(lambda x, some: x.clone().index_copy_(dim, some, x), x, some)


def test_strided_operands():
    x, index, source = drawn((90, 80), np.float32), places((70, 80), 90), drawn((80, 70), np.float32, 2)
    same(lambda x, index, source: x.t().gather(1, index.t()), x, index, source)
    same(lambda x, index, source: x.scatter_add(0, index, source.t()), x, index, source)
    same(lambda x, index, source: x[:, ::2].index_select(0, index[:, 0]), x, index, source)

    def written(x, index, source):
        y = x.clone()
        y.t().index_add_(0, index[:, 0], y.new_ones(70, 90))
        y[::2].scatter_add_(0, index[:, :5] % 45, source.t()[:, :5])
        return y

    same(written, x, index % 80, source)


def spread(index, dim, shape):
    """A vector of positions along `dim`, the same for all other coordinates of a tensor of `shape`."""
    ones = [len(index) if at == dim else 1 for at in range(len(shape))]
    return index.reshape(ones).expand([-1 if at == dim else size for at, size in enumerate(shape)])


REPEATED = [((300, 64), 0, 2000), ((300, 64), 1, 700), ((40, 5, 33), 1, 300), ((7, 5, 3), 0, 9), ((500, 300), 0, 900)]


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16])
@pytest.mark.parametrize(("shape", "dim", "count"), REPEATED)
def test_an_index_that_names_whole_rows(shape, dim, count, dtype):
    x, index = drawn(shape, dtype), places((count,), shape[dim])
    sizes = [count if at == dim else size for at, size in enumerate(shape)]
    source = drawn(sizes, dtype, 2)
    same(lambda x, index: x.gather(dim, spread(index, dim, shape)), x, index)
    same(lambda x, index: x.gather(dim, spread(index, dim, shape)[::1]), x, index)
    same(lambda x, index, source: x.scatter(dim, spread(index, dim, shape), source), x, index, source)
    same(lambda x, index, source: x.scatter(dim, spread(index, dim, shape), 3), x, index, source)
    same(lambda x, index, source: x.clone().scatter_(dim, spread(index, dim, shape), source), x, index, source)
    if dtype != np.float16:
        same(lambda x, index, source: x.scatter_add(dim, spread(index, dim, shape), source), x, index, source)
        same(lambda x, index, source: x.clone().scatter_add_(dim, spread(index, dim, shape), source), x, index, source)
    # Part of the rows only, and positions that are not side by side.
    same(
        lambda x, index, s: x.scatter(dim, spread(index, dim, shape).narrow(1 - min(dim, 1), 0, 2), s), x, index, source
    )
    same(lambda x, index: x.gather(dim, spread(index[::2], dim, shape)), x, index)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("shape", "dim", "count"), REPEATED)
def test_rows_folded_into_rows(reduce, include_self, shape, dim, count):
    x, index, grad = drawn(shape, np.float32), places((count,), shape[dim]), drawn(shape, np.float32, 3)
    source = drawn([count if at == dim else size for at, size in enumerate(shape)], np.float32, 2) / 40
    found = []
    for lib in (torch, pyburn):
        a, i, b, g = (t.clone() if lib is torch else from_torch(t) for t in (x, index, source, grad))
        a.requires_grad_(), b.requires_grad_()
        out = a.scatter_reduce(dim, spread(i, dim, shape), b, reduce, include_self=include_self)
        out.backward(g)
        found.append([t if lib is torch else to_torch(t) for t in (out.detach(), a.grad, b.grad)])
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-6, atol=1e-6, equal_nan=True)
    torch.testing.assert_close(found[1][1:], found[0][1:], rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("reduce", ["mean", "amax", "amin", "sum"])
@pytest.mark.parametrize("own", [True, False])
def test_integers_folded_into_rows(reduce, own):
    x, index, source = drawn((30, 20), np.int64), places((400,), 30), drawn((400, 20), np.int64, 2)

    def fold(x, i, s):
        return x.scatter_reduce(0, spread(i, 0, (30, 20)), s, reduce, include_self=own)

    same(fold, x, index, source)


@pytest.mark.parametrize("kind", ["even", "one", "few"])
def test_long_rows_added_in_order(kind):
    index = {"even": places((500,), 300), "one": places((500,), 1), "few": places((500,), 2) * 299}[kind]
    x, source = drawn((300, 401), np.float32), drawn((500, 401), np.float32, 2)
    same(lambda x, i, s: x.index_add(0, i, s), x, index, source)
    same(lambda x, i, s: x.clone().index_add_(0, i, s), x, index, source)
    same(lambda x, i, s: x.scatter_reduce(0, spread(i, 0, x.shape), s, "amin"), x, index, source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_by_number(dtype):
    x, index = drawn((300, 500), dtype), places((401,), 500) - 250
    same(lambda x, i: x[:, i], x, index)
    same(lambda x, i: x.reshape(30, 10, 500)[:, :, i], x, index)
    same(lambda x, i: x.reshape(30, 10, 50, 10)[:, :, i % 50], x, index)

    def written(x, i, s):
        y = x.clone()
        y[:, i] = s
        return y

    same(written, x, index, drawn((300, 401), dtype, 2))


def test_one_hot_of_many_classes():
    for count, classes in ((3000, 700), (2, 300_000), (0, 5), (10, 1)):
        index = places((count,), classes)
        found = pyburn.nn.functional.one_hot(from_torch(index), classes)
        assert torch.equal(to_torch(found), torch.nn.functional.one_hot(index, classes))


@pytest.mark.parametrize("width", [1, 3, 8, 64, 100, 300])
def test_embedding(width):
    weight, index, grad = drawn((500, width), np.float32), places((40, 50), 500), drawn((40, 50, width), np.float32, 2)
    ours, theirs = from_torch(weight).requires_grad_(), weight.clone().requires_grad_()
    result = pyburn.nn.functional.embedding(from_torch(index), ours)
    expected = torch.nn.functional.embedding(index, theirs)
    assert torch.equal(to_torch(result.detach()), expected.detach())
    result.backward(from_torch(grad))
    expected.backward(grad)
    assert torch.equal(to_torch(ours.grad), theirs.grad)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x, i: x.gather(1, i),
        lambda lib, x, i: x.clone().scatter_add_(1, i, x.new_ones(1, 1)),
        lambda lib, x, i: x.clone().scatter_(1, i, 2.0),
        lambda lib, x, i: x.clone().scatter_(1, i.expand(3, 1), 2.0),
        lambda lib, x, i: x.gather(1, i.expand(3, 1)),
        lambda lib, x, i: x.clone().index_copy_(1, i[0], x.new_ones(3, 1)),
        lambda lib, x, i: x.t().index_select(0, i[0]),
        lambda lib, x, i: x[:, 0].clone().index_add_(0, i[0], x.new_ones(1)),
        lambda lib, x, i: lib.nn.functional.embedding(i, x),
    ],
)
@pytest.mark.parametrize("bad", [-1, 4, 2**62])
def test_out_of_range(fn, bad):
    check_error(fn, np.zeros((3, 4), np.float32), np.array([[bad]]), same_class=True)


@pytest.mark.parametrize("width", [8, 19, 1001, 1 << 21])
def test_far_results(width):
    """Results of more than 6 MB are written past the caches, in lines of 16 elements."""
    height = (2 << 20) // width
    x, index = drawn((height, 33), np.float32), places((height, width), 33)
    same(lambda x, index: x.gather(1, index), x, index)
    for place in (0, width // 2, width - 1):
        for bad in (-1, 33, 2**62):
            wrong = index.clone()
            wrong[-1, place] = bad
            with pytest.raises(RuntimeError, match="out of bounds"):
                from_torch(x).gather(1, from_torch(wrong))


def test_a_refused_write_leaves_the_tensor():
    x = pyburn.zeros(3, 4)
    with pytest.raises(IndexError):
        x.index_add_(0, pyburn.tensor([0, 3]), pyburn.ones(2, 4))
    assert x.sum().item() == 0


def test_in_place_writes_count_and_keep_history():
    x = pyburn.zeros(3, 4)
    before = x._version
    assert x.index_add_(0, pyburn.tensor([1]), pyburn.ones(1, 4)) is x
    assert x._version == before + 1
    source = pyburn.ones(1, 4, requires_grad=True)
    x.index_add_(0, pyburn.tensor([1]), source)
    (x * x).sum().backward()
    assert source.grad.tolist() == [[4.0] * 4]


def test_index_changed_before_backward_is_refused():
    x, index = pyburn.ones(4, requires_grad=True), pyburn.tensor([0, 1])
    y = x.gather(0, index)
    index[0] = 3
    with pytest.raises(RuntimeError, match="modified"):
        y.sum().backward()


CHECK = """
import numpy as np, pyburn
r = np.random.default_rng(0)
x, i = pyburn.tensor(r.standard_normal((300, 257)).astype("f")), pyburn.tensor(r.integers(0, 300, 900))
s, w = pyburn.tensor(r.standard_normal((900, 257)).astype("f")), pyburn.tensor(r.standard_normal((300, 64)).astype("f"))
pyburn.set_num_threads({threads})
j = pyburn.tensor(r.integers(0, 300, (300, 257)))
for y in (x.index_add(0, i, s), w[i], x.scatter_add(0, j, x), x.gather(0, j), w.index_select(0, i)):
    print(y.numpy().tobytes().hex()[::97])
"""


def test_widths_and_threads_agree():
    results = set()
    for vectors, threads in (("512", 1), ("256", 2), ("128", 3)):
        environment = {**os.environ, "PYBURN_VECTORS": vectors, "PYBURN_QUIET": "1"}
        run = subprocess.run(
            [sys.executable, "-c", CHECK.format(threads=threads)], env=environment, capture_output=True, check=True
        )
        results.add(run.stdout)
    assert len(results) == 1
