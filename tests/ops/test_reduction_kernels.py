"""Extremes with places, products, norms, scans and dots by vectors: odd sizes, special values, any thread count."""

import math

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import from_torch, to_torch

SHAPES = [(1, 1), (3, 5), (5, 17), (16, 16), (130, 33), (257, 300), (40, 1100), (1000, 70), (2, 40000), (70000, 17)]


def numbers(*shape, dtype=np.float32, special=False):
    values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    if special:
        values.reshape(-1)[3::411] = math.nan
        values.reshape(-1)[5::43] = math.inf
        values.reshape(-1)[6::47] = -math.inf
    return torch.from_numpy(values)


def check(call, *tensors, rtol=0.0, atol=0.0):
    expected, found = call(torch, *tensors), call(pyburn, *(from_torch(tensor) for tensor in tensors))
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(to_torch(other), one, rtol=rtol, atol=atol, equal_nan=True)


def close(call, x):
    """Ours of float32 is near torch's of float64: its own of float32 is not always."""
    for one, other in zip(call(torch, x.double()), call(pyburn, from_torch(x)), strict=True):
        torch.testing.assert_close(to_torch(other), one.float(), rtol=1e-5, atol=1e-4, equal_nan=True)


def scaled(*shape):
    """Numbers whose products stay within the range."""
    return numbers(*shape).sign() * (numbers(*shape).abs() * 0.02 + 0.99)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("special", [False, True])
def test_extremes_and_their_first_places(shape, special):
    # Few different numbers, so that there are many equal ones; zeros of both signs among them.
    x = (numbers(*shape) * 3).round() if not special else numbers(*shape, special=True)
    for dim in (0, 1):
        check(lambda lib, x, dim=dim: (*x.max(dim), *x.min(dim), x.argmax(dim), x.argmin(dim)), x)
        check(lambda lib, x, dim=dim: (*x[:, 1:].max(dim), *x.t().min(dim)), x) if shape[1] > 1 else None
        check(lambda lib, x, dim=dim: (x.amax(dim), x.amin(dim), x.amax((0, 1))), x)


def test_extremes_of_zeros_keep_their_signs():
    x = torch.zeros(4, 40)
    x[1::2] = -0.0
    x[:, ::3] *= -1
    for dim in (0, 1):
        check(lambda lib, x, dim=dim: (1 / x.max(dim)[0], 1 / x.min(dim)[0]), x)


@pytest.mark.parametrize("shape", [(3, 4, 70), (8, 5, 9, 9), (2, 3, 20000), (40, 4, 64), (10000, 3, 16)])
def test_folds_over_dimensions_apart(shape):
    x, near = numbers(*shape), scaled(*shape)
    dims = (0, *range(2, len(shape)))
    check(lambda lib, x: (x.amax(dims), x.amin(dims), *x.max(1), *x.max(0)), x)
    close(lambda lib, x: (x.sum(dims), x.mean(dims), lib.linalg.vector_norm(x, dim=dims)), x)
    close(lambda lib, x: (x.prod(0), x.prod(1), x.prod(-1)), near)


@pytest.mark.parametrize("shape", [(0, 3, 70), (3, 0, 70), (70, 3, 0), (0, 70)])
def test_folds_over_nothing(shape):
    x = torch.zeros(shape)
    for dims in ((0, -1), 0, -1):
        check(lambda lib, x, dims=dims: (x.sum(dims), x.mean(dims), lib.linalg.vector_norm(x, dim=dims)), x)
    check(lambda lib, x: (x.prod(), x.prod(0), x.prod(1), x.cumsum(-1)), x)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_norms(shape):
    x, near = numbers(*shape), scaled(*shape)
    close(lambda lib, x: (x.prod(), x.prod(0), x.prod(1), x.t().prod(0)), near)
    for power in (1, 2):
        close(lambda lib, x, p=power: (x.norm(p), x.norm(p, 0), x.norm(p, 1), x.t().norm(p, 1)), x)
    odd = numbers(*shape, special=True)
    close(lambda lib, x: (x.norm(), x.norm(dim=0), x.norm(dim=1), x.norm(1, 1)), odd)


@pytest.mark.parametrize("shape", [(1, 16), (3, 40), (16, 100), (37, 129), (200, 1000)])
def test_scans_along_neighbours(shape):
    x, near = numbers(*shape), scaled(*shape)
    check(lambda lib, x: (x.cumsum(1), x.cumsum(0), x[:, 3:].cumsum(1), x.flip(0).cumsum(1)), x)
    check(lambda lib, x: (x.cumprod(1),), near)
    check(lambda lib, x: (x.expand(3, *shape).cumsum(2),), x)
    check(lambda lib, x: (x.cumsum(1),), numbers(*shape, special=True))
    tall = numbers(*shape).requires_grad_()
    ours = from_torch(tall.detach()).requires_grad_()
    weight = numbers(*reversed(shape)).t().contiguous()
    (tall.cumsum(1) * weight).sum().backward()
    (ours.cumsum(1) * from_torch(weight)).sum().backward()
    torch.testing.assert_close(to_torch(ours.grad), tall.grad, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 5, 63, 64, 8193, 70001, 300000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dot(size, dtype):
    a, b = numbers(size + 1, dtype=dtype)[1:], numbers(size, dtype=dtype)
    tolerance = 1e-12 if dtype == np.float64 else 2e-6

    def products(a, b):
        return a @ b, a.dot(b), a[:: 2 if size else 1] @ b[:: 2 if size else 1], b[1:] @ b[:-1]

    # torch's own of float32 is several times as far from that of float64 where MKL meets a processor of AMD.
    for found, exact in zip(products(from_torch(a), from_torch(b)), products(a.double(), b.double()), strict=True):
        assert to_torch(found).dtype == a.dtype
        torch.testing.assert_close(to_torch(found).double(), exact, rtol=0.0, atol=tolerance * (size + 9) ** 0.5)
    same = from_torch(b)
    torch.testing.assert_close(to_torch(same @ same), (b.double() @ b.double()).to(b.dtype), rtol=1e-6, atol=0.0)
    a, b = a.requires_grad_(), b.requires_grad_()
    x, y = (from_torch(one.detach()).requires_grad_() for one in (a, b))
    one, other = (p.dot(q) for p, q in ((a, b), (x, y)))
    assert not size or type(other.grad_fn).__name__ == "DotBackward0" == type(one.grad_fn).__name__
    (p, q), (r, s) = (
        torch.autograd.grad(one, (a, b), create_graph=True),
        pyburn.autograd.grad(other, (x, y), create_graph=True),
    )
    torch.testing.assert_close(to_torch(r.detach()), p.detach())
    torch.testing.assert_close(to_torch(s.detach()), q.detach())
    (again,) = pyburn.autograd.grad((r * r).sum(), y)
    torch.testing.assert_close(to_torch(again), torch.autograd.grad((p * p).sum(), b)[0])


@pytest.mark.parametrize("size", [3, 16, 70, 5000])
def test_xlogy(size):
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 3e38]
    x = torch.cat([numbers(size), torch.tensor([a for a in special for _ in special])])
    y = torch.cat([numbers(size).abs(), torch.tensor(special * len(special))])
    check(lambda lib, x, y: (x.xlogy(y), y.xlogy(y), lib.xlogy(0.5, y)), x, y, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("factor", [1e-44, 1e-30, 1e-22, 1e18, 1e30])
def test_norms_near_the_ends_of_the_range(factor):
    for shape in ((3, 5), (40, 1100), (2, 40000)):
        x = numbers(*shape) * factor
        expected = torch.stack([x.double().norm(dim=1), x.double().norm().expand(shape[0])]).float()
        y = from_torch(x)
        found = torch.stack([to_torch(y.norm(dim=1)), to_torch(y.norm()).expand(shape[0])])
        torch.testing.assert_close(found, expected, rtol=2e-6, atol=0.0)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (33, 65, 64), (40, 130, 300), (70, 64, 0)])
def test_sums_of_absolute_differences(shape):
    rows, columns, depth = shape
    x, y = numbers(2, rows, depth), numbers(2, columns, depth) + 0.5
    if depth:
        x[0, 0, 0], y[1, 0, 0] = math.nan, math.inf
    close(lambda lib, both: (lib.cdist(both[:, :rows], both[:, rows:], 1),), torch.cat([x, y], 1))


def test_threads_agree():
    x, y = pyburn.randn(300, 1000), pyburn.randn(300000)
    before = pyburn.get_num_threads()

    def run():
        return [x.prod(0), x.norm(dim=1), x.norm(), y @ y, x.cumsum(1), x.sum((0, 1)), *x.max(0), *x.max(1)]

    try:
        pyburn.set_num_threads(1)
        one = run()
        pyburn.set_num_threads(2)
        assert all(pyburn.equal(a, b) for a, b in zip(one, run(), strict=True))
    finally:
        pyburn.set_num_threads(before)


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_file(__file__, width)


@pytest.mark.parametrize("width", [300, 1003, 5000])
def test_softmax_past_the_caches(width):
    """Results of 16 MB, of rows whose powers are kept beside them and of longer ones, are those of each row alone."""
    x = torch.randn((4 << 20) // width, width, generator=torch.Generator().manual_seed(width))
    x[1, 5], x[2, :7] = float("nan"), float("-inf")
    for name in ("softmax", "log_softmax"):
        found = to_torch(getattr(from_torch(x), name)(1))
        alone = torch.cat([to_torch(getattr(from_torch(row[None].clone()), name)(1)) for row in x[:9]])
        torch.testing.assert_close(found[:9], alone, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(found, getattr(x, name)(1), rtol=2e-5, atol=2e-6, equal_nan=True)
