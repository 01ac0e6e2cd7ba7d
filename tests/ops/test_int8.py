"""Products with int8 matrices: exact integers, and weights with a scale for each output."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

SIZES = [
    (1, 1, 1),
    (5, 7, 33),
    (3, 37, 100),
    (17, 33, 1024),
    (9, 40, 2500),
    (130, 70, 390),
    (5, 48, 64),
    (0, 4, 8),
    (4, 3, 0),
]


def whole(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-128, 128, shape, dtype=np.int8)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_int_mm_is_exact(m: int, n: int, k: int) -> None:
    a, b = whole(m, k), whole(k, n)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    for left, right in (
        (pyburn.tensor(a), pyburn.tensor(b)),
        (pyburn.tensor(a.T.copy()).t(), pyburn.tensor(b.T.copy()).t()),
    ):
        found = pyburn._int_mm(left, right)
        assert found.dtype == pyburn.int32
        assert np.array_equal(found.numpy(), expected)


def test_int_mm_of_the_largest_numbers() -> None:
    a = np.full((3, 5000), -128, np.int8)
    assert pyburn._int_mm(pyburn.tensor(a), pyburn.tensor(a.T.copy())).tolist() == [[5000 * 128 * 128] * 3] * 3
    small = pyburn.tensor(np.full((2, 3), 255, np.uint8))
    assert pyburn._int_mm(small, small.t()).tolist() == [[3 * 255 * 255] * 2] * 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("m", "n", "k"), SIZES[:-1])
def test_weight_int8pack_mm(dtype: str, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(k)
    x, w, scales = rng.standard_normal((m, k)).astype("float32"), whole(n, k), (rng.random(n) / 128).astype("float32")
    kind = getattr(pyburn, dtype)
    found = pyburn._weight_int8pack_mm(pyburn.tensor(x).to(kind), pyburn.tensor(w), pyburn.tensor(scales).to(kind))
    assert found.dtype == getattr(pyburn, dtype)
    left, right = (torch.tensor(part).to(getattr(torch, dtype)).double() for part in (x, scales))
    exact = (left @ torch.tensor(w).double().t()) * right
    tolerance = {"float32": 1e-5, "bfloat16": 8e-3, "float16": 1e-3}[dtype]
    np.testing.assert_allclose(found.float().numpy(), exact.float().numpy(), rtol=tolerance, atol=1e-4)
    # torch 2.15 reads beyond the rows of other sizes, and crashes.
    if k % 64 == 0 and n % 16 == 0:
        kind = getattr(torch, dtype)
        other = torch._weight_int8pack_mm(torch.tensor(x).to(kind), torch.tensor(w), torch.tensor(scales).to(kind))
        np.testing.assert_allclose(found.float().numpy(), other.float().numpy(), rtol=tolerance, atol=1e-4)


def test_gradients_reach_the_input() -> None:
    x, w = pyburn.ones(2, 3, requires_grad=True), pyburn.tensor(whole(4, 3))
    scales = pyburn.tensor([1.0, 2.0, 3.0, 4.0])
    pyburn._weight_int8pack_mm(x, w, scales).sum().backward()
    assert pyburn.allclose(x.grad, (w.float() * scales[:, None]).sum(0).expand(2, 3))


@pytest.mark.parametrize(
    ("input", "weight", "scales"),
    [
        (np.ones((2, 3)), whole(4, 3), np.ones(4, "float32")),
        (np.ones((2, 3), "float32"), whole(4, 2), np.ones(4, "float32")),
        (np.ones((2, 3), "float32"), whole(4, 3), np.ones(3, "float32")),
        (np.ones((2, 3), "float32"), whole(4, 3).astype("float32"), np.ones(4, "float32")),
    ],
)
def test_refused_weights(input: np.ndarray, weight: np.ndarray, scales: np.ndarray) -> None:
    for lib in (pyburn, torch):
        with pytest.raises(RuntimeError):
            lib._weight_int8pack_mm(lib.tensor(input), lib.tensor(weight), lib.tensor(scales))


@pytest.mark.parametrize(
    ("a", "b"), [(whole(2, 3), whole(2, 3)), (whole(3), whole(3, 2)), (np.ones((2, 3)), whole(3, 2))]
)
def test_refused_integers(a: np.ndarray, b: np.ndarray) -> None:
    for lib in (pyburn, torch):
        with pytest.raises((RuntimeError, IndexError)):
            lib._int_mm(lib.tensor(a), lib.tensor(b))


PROGRAM = """
import pyburn
pyburn.manual_seed(0)
a = pyburn.randn(37, 1410)
byte = (pyburn.randn(45, 1410) * 40).clamp(-127, 127).to(pyburn.int8)
print(pyburn._int_mm(byte, byte.t()).tolist(), pyburn._weight_int8pack_mm(a, byte, a[0, :45] / 128).tolist(), sep=", ")
"""


@pytest.mark.parametrize("width", ["128", "256"])
def test_narrower_vectors(width: str) -> None:
    environment = os.environ | {"PYBURN_VECTORS": width, "PYBURN_QUIET": "1"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    scope: dict[str, object] = {"print": lambda *values, sep: scope.update(found=values)}
    exec(PROGRAM, scope)
    exact, scaled = eval(run.stdout, {})
    assert exact == scope["found"][0]
    np.testing.assert_allclose(scaled, scope["found"][1], rtol=1e-4, atol=1e-4)
