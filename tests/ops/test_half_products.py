"""Products of bfloat16 and float16: sums in float32, rounded once, from any strides."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

TYPES = ["bfloat16", "float16"]
SIZES = [(1, 1, 1), (1, 200, 50), (3, 37, 100), (6, 500, 33), (15, 33, 17), (29, 65, 400), (130, 70, 900), (5, 4, 0)]
NEXT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def pair(dtype: str, m: int, n: int, k: int, turned: str) -> list[torch.Tensor]:
    torch.manual_seed(m + n + k)
    a, b = torch.randn(m, k).to(getattr(torch, dtype)), torch.randn(k, n).to(getattr(torch, dtype))
    return [x.t().contiguous().t() if side in turned else x for side, x in (("a", a), ("b", b))]


def ours(x: torch.Tensor) -> pyburn.Tensor:
    """The same bits with the same strides."""
    dtype = getattr(pyburn, str(x.dtype).removeprefix("torch."))
    same = pyburn.tensor(x.view(torch.int16).numpy(), dtype=pyburn.int16)
    turned = x.dim() == 2 and not x.is_contiguous()
    return (same.t().contiguous().t() if turned else same).view(dtype)


def assert_rounded_once(found: pyburn.Tensor, exact: torch.Tensor, size: torch.Tensor, dtype: str) -> None:
    """At most the error of float32 sums and of one rounding."""
    assert found.dtype == getattr(pyburn, dtype)
    error = (torch.tensor(found.float().numpy()).double() - exact).abs()
    assert bool((error <= exact.abs() * NEXT[dtype] + size * 1e-6 + 1e-7).all())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_matmul(dtype: str, turned: str, m: int, n: int, k: int) -> None:
    a, b = pair(dtype, m, n, k, turned)
    exact, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    assert_rounded_once(ours(a) @ ours(b), exact, size, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "n", "k"), SIZES[:-1])
def test_linear_with_bias(dtype: str, m: int, n: int, k: int) -> None:
    x, w = pair(dtype, m, n, k, "b")
    bias = torch.randn(n).to(x.dtype)
    exact = x.double() @ w.double() + bias.double()
    size = x.double().abs() @ w.double().abs() + bias.double().abs()
    found = pyburn.nn.functional.linear(ours(x), ours(w).t(), ours(bias))
    assert_rounded_once(found, exact, size, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_batches_with_strides_and_broadcasts(dtype: str) -> None:
    torch.manual_seed(1)
    a, b = torch.randn(6, 20, 33).to(getattr(torch, dtype)), torch.randn(6, 33, 14).to(getattr(torch, dtype))
    x, y = ours(a), ours(b)
    found = [x @ y, x[::2, 1::3, ::2] @ y[::2, ::2, 1:], x @ y[0], x.transpose(0, 1)[:, :, :5] @ y[1, :5]]
    a, b = a.double(), b.double()
    exact = [a @ b, a[::2, 1::3, ::2] @ b[::2, ::2, 1:], a @ b[0], a.transpose(0, 1)[:, :, :5] @ b[1, :5]]
    # Pairs that begin between two of them, and rows of an even and of an odd number of elements.
    found += [x[:, :, 1:] @ y[:, 1:], x[:, :, 1:] @ y[:, 1:].mT.contiguous().mT, x[:, 1:, 1:].contiguous() @ y[:, 1:]]
    exact += [a[:, :, 1:] @ b[:, 1:], a[:, :, 1:] @ b[:, 1:], a[:, 1:, 1:] @ b[:, 1:]]
    for one, other in zip(found, exact, strict=True):
        assert_rounded_once(one, other, torch.full_like(other, 40), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [2, 20])
def test_special_and_subnormal_numbers(dtype: str, rows: int) -> None:
    a, b = torch.ones(rows, 40), torch.ones(40, 37)
    a[0, 4], a[1, 8], b[9, 36], b[10, 0] = torch.nan, torch.inf, -torch.inf, -0.0
    a[:, 11:], b[11:] = 2.0**-15 * 0.625, 0.5
    a, b = a.to(getattr(torch, dtype)), b.to(getattr(torch, dtype))
    for right in (b, b.t().contiguous().t()):
        found, expected = ours(a) @ ours(right), a @ right
        np.testing.assert_allclose(found.float().numpy(), expected.float().numpy(), rtol=2 * NEXT[dtype])


@pytest.mark.parametrize("dtype", TYPES)
def test_gradients(dtype: str) -> None:
    torch.manual_seed(0)
    x, w = torch.randn(9, 40).to(getattr(torch, dtype)), torch.randn(13, 40).to(getattr(torch, dtype))
    leaves = [[side.clone().requires_grad_() for side in (x, w)], [ours(side).requires_grad_() for side in (x, w)]]
    for lib, sides in ((torch, leaves[0]), (pyburn, leaves[1])):
        lib.nn.functional.linear(*sides).float().square().sum().backward()
    for own, other in zip(leaves[1], leaves[0], strict=True):
        expected = other.grad.float().numpy()
        np.testing.assert_allclose(own.grad.float().numpy(), expected, rtol=4 * NEXT[dtype], atol=0.5)


PROGRAM = """
import pyburn
pyburn.manual_seed(0)
parts = []
for dtype in (pyburn.bfloat16, pyburn.float16):
    a, b, w = (pyburn.randn(*shape).to(dtype) for shape in ((37, 410), (410, 45), (45, 410)))
    parts += [a @ b, pyburn.nn.functional.linear(a, w, b[0]), b.t() @ a.t(), a[:3] @ w.t(), a[:, ::3] @ b[::3]]
    large = pyburn.randn(30, 37, 410).to(dtype) @ b
    parts += [large[::7]]
print(pyburn.cat([part.reshape(-1).double() for part in parts]).tolist())
"""


@pytest.mark.parametrize("width", ["128", "256"])
def test_narrower_vectors(width: str) -> None:
    environment = os.environ | {"PYBURN_VECTORS": width, "PYBURN_QUIET": "1"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    scope: dict[str, object] = {"print": lambda value: scope.update(found=value)}
    exec(PROGRAM, scope)
    np.testing.assert_allclose(eval(run.stdout, {}), scope["found"], rtol=1e-2, atol=1e-2)


def test_threads_do_not_change_a_bit() -> None:
    pyburn.manual_seed(0)
    a, b = pyburn.randn(333, 800).bfloat16(), pyburn.randn(800, 1100).bfloat16()
    threads, found = pyburn.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            pyburn.set_num_threads(count)
            parts = [a @ b, b.t() @ a.t(), a[:6] @ a.t(), a[:1] @ b]
            found.append([part.view(pyburn.int16).numpy().tobytes() for part in parts])
    finally:
        pyburn.set_num_threads(threads)
    assert found[0] == found[1] == found[2]
