"""The float32 kernels of pooling and resizing: sizes, special numbers, widths of vectors, numbers of threads."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch

# Input and output sizes of images; planes.
RESIZED = [
    ((5, 7), (11, 3), 3),
    ((64, 64), (128, 128), 2),
    ((33, 17), (16, 40), 5),
    ((1, 1), (4, 5), 2),
    ((20, 50), (20, 9), 1),
]
MODES = [("nearest", False), ("bilinear", False), ("bicubic", False), ("bilinear", True), ("bicubic", True)]
# Spatial sizes; kernel, stride, padding, dilation, ceil_mode.
POOLED = [
    ((24, 40), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((25, 41), (3, 3), (2, 2), (1, 1), (1, 1), True),
    ((17, 19), (2, 3), (1, 1), (1, 1), (1, 2), False),
    ((20, 33), (4, 5), (3, 4), (2, 2), (2, 1), True),
    ((9, 9), (3, 3), (3, 3), (0, 0), (1, 1), False),
    ((301,), (5,), (2,), (2,), (1,), True),
    ((6, 7, 30), (2, 3, 2), (2, 2, 2), (1, 1, 0), (1, 1, 1), False),
]


def image(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32))


def both(call, x, weight_seed=1):
    """What a function gives for an image in either library, and its gradient."""
    results = []
    for lib, value in ((torch, x.clone()), (pyburn, from_torch(x))):
        value.requires_grad_()
        out = call(lib.nn.functional, value)
        first = out[0] if isinstance(out, tuple) else out
        generator = np.random.default_rng(weight_seed)
        first.backward(lib.tensor(generator.standard_normal(tuple(first.shape), dtype=np.float32)))
        parts = [*(out if isinstance(out, tuple) else (out,)), value.grad]
        results.append([part.detach() if lib is torch else to_torch(part.detach()) for part in parts])
    return results


@pytest.mark.parametrize(("mode", "antialias"), MODES)
@pytest.mark.parametrize(("old", "new", "planes"), RESIZED)
def test_resized(old, new, planes, mode, antialias):
    theirs, ours = both(lambda f, x: f.interpolate(x, size=new, mode=mode, antialias=antialias), image(2, planes, *old))
    for expected, found in zip(theirs, ours, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_one_dimension(mode):
    for old, new in ((37, 100), (100, 37), (5000, 10000)):
        theirs, ours = both(lambda f, x, new=new: f.interpolate(x, size=new, mode=mode), image(3, 19, old))
        for expected, found in zip(theirs, ours, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("sizes", POOLED)
def test_maxima(sizes):
    spatial, kernel, stride, padding, dilation, ceil = sizes
    x = image(2, 3, *spatial).mul(3).round()  # many are equal
    x.view(-1)[::17] = float("-inf")
    x.view(-1)[5::61] = float("nan")

    def pooled(f, value):
        return getattr(f, f"max_pool{len(spatial)}d")(
            value, kernel, stride, padding, dilation, ceil, return_indices=True
        )

    for expected, found in zip(*both(pooled, x), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("sizes", POOLED)
def test_averages(sizes):
    spatial, kernel, stride, padding, _, ceil = sizes
    for count in (False, True):
        theirs, ours = both(
            lambda f, x, count=count: getattr(f, f"avg_pool{len(spatial)}d")(x, kernel, stride, padding, ceil, count),
            image(2, 3, *spatial),
        )
        for expected, found in zip(theirs, ours, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_special_numbers():
    x = image(1, 2, 6, 9)
    x[0, 0, 2, 3], x[0, 1, 4, 4], x[0, 1, 0, 0] = float("nan"), float("inf"), -0.0
    ours = to_torch(pyburn.nn.functional.interpolate(from_torch(x), scale_factor=2))
    expected = torch.nn.functional.interpolate(x, scale_factor=2)
    torch.testing.assert_close(ours, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(torch.signbit(ours), torch.signbit(expected))
    ours = to_torch(pyburn.nn.functional.avg_pool2d(from_torch(x), 2))
    assert torch.equal(torch.isfinite(ours), torch.isfinite(torch.nn.functional.avg_pool2d(x, 2)))


@pytest.mark.parametrize("width", ["256", "128"])
def test_narrow_vectors(width):
    code = (
        "import test_resample_kernels as t\n"
        "for mode in t.MODES:\n    for sizes in t.RESIZED[:3]: t.test_resized(*sizes, *mode)\n"
        "for sizes in t.POOLED: t.test_maxima(sizes); t.test_averages(sizes)"
    )
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__)), *sys.path])
    environment = {**os.environ, "PYBURN_VECTORS": width, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_any_number_of_threads():
    x = from_torch(image(3, 7, 65, 67))
    threads = pyburn.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            pyburn.set_num_threads(count)
            f = pyburn.nn.functional
            parts = [
                f.interpolate(x, size=(90, 31), mode="bicubic"),
                f.avg_pool2d(x, 3, 2, 1),
                f.max_pool2d(x, 3, 2, 1),
            ]
            results.append([part.numpy() for part in parts])
    finally:
        pyburn.set_num_threads(threads)
    for others in results[1:]:
        assert all(np.array_equal(first, other) for first, other in zip(results[0], others, strict=True))
