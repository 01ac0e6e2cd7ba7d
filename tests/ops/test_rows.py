"""Folds, softmax, norms, scans and conversions of float32: odd sizes, layouts, special values, widths and threads."""

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file, check_width

from oracle import from_torch, to_torch

SHAPES = [(1, 1, 1), (3, 5, 7), (2, 130, 67), (4, 17, 1100), (1, 5000, 20), (5, 1, 4097)]
SPECIAL = {"plain": None, "nan": np.nan, "inf": np.inf, "lowest": -np.inf}


def values(shape, special, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 3
    if SPECIAL[special] is not None:
        x.reshape(-1)[x.size // 2] = SPECIAL[special]
    return torch.from_numpy(x)


def agree(f, *inputs, rtol=1e-5, atol=1e-5):
    found = f(pyburn, *(from_torch(x) for x in inputs))
    expected = f(torch, *inputs)
    torch.testing.assert_close(to_torch(found), expected, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("special", ["plain", "nan", "inf"])
@pytest.mark.parametrize("shape", SHAPES)
def test_folds(shape, special):
    x = values(shape, special)
    for order in ((0, 1, 2), (2, 1, 0)):
        view = x.permute(order)
        for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
            for name in ("sum", "mean", "amax", "amin"):
                agree(lambda lib, x, name=name, dims=dims: getattr(x, name)(dims), view, atol=2e-4)


def test_a_sum_is_as_precise_as_torchs():
    x = torch.rand(3, 300_000, generator=torch.Generator().manual_seed(0))
    exact = x.double()
    for dims in ((0,), (1,), (0, 1)):
        mine = (to_torch(from_torch(x).sum(dims)).double() - exact.sum(dims)).abs().max().item()
        theirs = (x.sum(dims).double() - exact.sum(dims)).abs().max().item()
        assert mine <= 2 * theirs + 0.05
    column = from_torch(x.t().contiguous())
    assert (to_torch(column.sum(0)).double() - exact.sum(1)).abs().max().item() < 0.05


@pytest.mark.parametrize("special", SPECIAL)
def test_softmax(special):
    for size in (*range(1, 70, 3), 127, 128, 1000, 4097):
        x = values((3, size), special)
        if special == "lowest":
            x[0] = -np.inf
        for name in ("softmax", "log_softmax"):
            agree(lambda lib, x, name=name: getattr(x, name)(1), x, rtol=3e-6, atol=1e-6)
    x, g = values((3, 1001), "plain", 1), values((3, 1001), "plain", 2)
    for name in ("softmax", "log_softmax"):
        agree(lambda lib, x, g, name=name: gradient(lib, lambda x: getattr(x, name)(1), x, g), x, g)


def gradient(lib, f, x, g):
    x = x.clone().requires_grad_()
    f(x).backward(g)
    return x.grad


@pytest.mark.parametrize("size", [2, 15, 16, 17, 63, 64, 65, 1000])
def test_layer_norm(size):
    x, g, w, b = values((5, size), "plain"), *(values(s, "plain", 3) for s in ((5, size), size, size))
    for weight, bias in ((w, b), (w, None), (None, b), (None, None)):
        pair = [None if p is None else p.view(-1) for p in (weight, bias)]

        def norm(lib, x, pair=pair):
            own = [None if p is None else (p if lib is torch else from_torch(p)) for p in pair]
            return lib.nn.functional.layer_norm(x, (size,), *own)

        agree(norm, x, rtol=1e-4)
        agree(lambda lib, x, g, norm=norm: gradient(lib, lambda x: norm(lib, x), x, g), x, g, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5), 2), ((3, 4, 17), 4), ((1, 8, 100), 1), ((4, 6, 8, 8), 3)])
def test_group_norm(shape, groups):
    x, g = values(shape, "plain"), values(shape, "plain", 1)
    w, b = values(shape[1], "plain", 2).view(-1), values(shape[1], "plain", 3).view(-1)

    def step(lib, x, w, b, g):
        tensors = [tensor.clone().requires_grad_() for tensor in (x, w, b)]
        out = lib.nn.functional.group_norm(tensors[0], groups, *tensors[1:])
        out.backward(g)
        return lib.cat([part.reshape(-1) for part in (out.detach(), *(tensor.grad for tensor in tensors))])

    agree(step, x, w, b, g, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("exponent", [2.5, -0.7, 3.0, -2.0, 0.0, 30.5, 1e30, float("nan"), float("inf"), -float("inf")])
def test_powers(exponent):
    bits = np.random.default_rng(4).integers(0, 2**32, 5000, dtype=np.uint32).view(np.float32)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -3.0, 2.0], dtype=np.float32)
    x = torch.from_numpy(np.concatenate([bits[~np.isnan(bits)], edges, values(1001, "plain").numpy()]))
    exponent = float(np.float32(exponent))
    # torch's own float32 powers lose numbers below the normal ones.
    for f in (lambda x: x**exponent, lambda x: x.new_full(x.shape, exponent) ** x):
        found, exact = to_torch(f(from_torch(x))), f(x.double()).float()
        torch.testing.assert_close(found, exact, rtol=2e-7, atol=1e-44, equal_nan=True)


@pytest.mark.parametrize("shape", [(1, 40), (40, 33), (9, 5, 70), (100, 8)])
def test_scans(shape):
    x = values(shape, "plain")
    for dim in range(len(shape)):
        for name in ("cumsum", "cumprod", "logcumsumexp"):
            agree(lambda lib, x, dim=dim, name=name: getattr(x, name)(dim), x, rtol=1e-4, atol=1e-4)
            agree(lambda lib, x, dim=dim, name=name: getattr(x.mT, name)(dim), x, rtol=1e-4, atol=1e-4)
        agree(lambda lib, x, dim=dim: x.int().cumsum(dim), x)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 15, 16, 17, 33, 1000])
def test_conversions(length):
    edges = [np.nan, 1e30, -1e30, np.inf, -7.9, 1e-8, 65520.0, 65519.0, 5e-8, -0.0]
    x = torch.cat([values(length, "plain") * 1000, torch.tensor(edges)])
    for start in (0, 1):
        part = x[start:]
        for dtype in ("float16", "int64", "float64", "bfloat16"):
            agree(lambda lib, x, dtype=dtype: x.to(getattr(lib, dtype)), part, rtol=0, atol=0)
            agree(lambda lib, x, dtype=dtype: x.to(getattr(lib, dtype)).to(lib.float32), part, rtol=0, atol=0)


PROGRAM = """
import pyburn
F = pyburn.nn.functional
x = (pyburn.arange(3 * 70 * 131) % 97 - 48).float().reshape(3, 70, 131) / 7
parts = [x.sum(d) for d in (0, 1, 2)] + [x.amax(d) for d in (0, 1, 2)] + [x.mean((1, 2)), x.sum(), x.amin()]
parts += [x.softmax(2), x.log_softmax(2), x.softmax(1), F.layer_norm(x, (131,)), F.rms_norm(x, (131,))]
parts += [F.group_norm(x, 7), x.cumsum(2), x.abs() ** 2.5, x.half().float(), x.long().float()]
print(pyburn.cat([part.reshape(-1) for part in parts]).double().tolist())
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_width(PROGRAM, width, rtol=1e-5, atol=1e-4)


def test_threads_agree():
    x = pyburn.randn(1100, 900)
    before = pyburn.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            folds = [x.sum(0), x.sum(1), x.sum(), x.mean(0), x.amax(0), x.amax(1)]
            norms = [
                pyburn.nn.functional.layer_norm(x, (900,)),
                pyburn.nn.functional.rms_norm(x, (900,)),
                pyburn.nn.functional.group_norm(x.reshape(11, 100, 900), 10),
            ]
            results.append([*folds, *norms, x.cumsum(0), x.cumsum(1), x.exp(), x + x, x.abs() ** 2.5])
    finally:
        pyburn.set_num_threads(before)
    for other in results[1:]:
        assert all(pyburn.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_above_with_narrower_vectors(width):
    check_file(__file__, width)
