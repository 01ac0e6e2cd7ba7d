"""The float32 kernels of convolutions: sizes, strides, groups, every width of vectors, any number of threads."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch

# Channels, filters, groups; batch; spatial sizes; kernel, stride, padding, dilation.
SIZES = [
    ((3, 10, 1), 2, (17, 23), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 8, 1), 1, (30, 31), (7, 7), (2, 2), (3, 3), (1, 1)),
    ((16, 16, 16), 2, (13, 60), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((6, 12, 6), 1, (14, 15), (5, 5), (2, 2), (2, 2), (1, 1)),
    ((8, 6, 2), 3, (9, 9), (3, 2), (2, 3), (0, 1), (2, 1)),
    ((20, 33, 1), 1, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((5, 9, 1), 2, (8, 8), (1, 1), (2, 2), (0, 0), (1, 1)),
    ((4, 17, 1), 1, (9, 9), (3, 3), (1, 1), (4, 4), (1, 1)),
    ((2, 4, 1), 2, (12, 10), (4, 4), (3, 3), (2, 2), (3, 2)),
    ((1, 32, 1), 9, (28, 28), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((7, 5, 1), 2, (901,), (9,), (1,), (4,), (1,)),
    ((3, 9, 1), 2, (6, 7, 8), (3, 2, 3), (2, 1, 1), (1, 0, 2), (1, 2, 1)),
    ((64, 72, 1), 3, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 3, 1), 1, (1, 5), (1, 5), (1, 2), (0, 0), (1, 1)),
    ((5, 5, 5), 3, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((6, 6, 6), 2, (14, 14), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((3, 3, 3), 2, (9, 67), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((4, 4, 4), 2, (1, 33), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((4, 4, 4), 2, (34, 1), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((4, 4, 4), 1, (2, 2), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((48, 56, 1), 2, (28, 30), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((50, 49, 1), 3, (17, 19), (3, 3), (1, 1), (0, 2), (1, 1)),
    ((96, 100, 1), 3, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((3, 34, 1), 1, (65, 64), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((3, 10, 1), 2, (9, 224), (7, 7), (2, 2), (3, 3), (1, 1)),
    ((8, 22, 2), 3, (7, 48), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((3, 9, 1), 2, (5, 6, 32), (3, 3, 3), (1, 2, 2), (1, 0, 1), (1, 1, 1)),
    ((96, 104, 1), 8, (2, 2), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((200, 190, 1), 5, (5, 5), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((130, 70, 1), 2, (2, 2, 3), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((65, 83, 1), 1, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    # Small images side by side, sums in blocks of depths, lines whose last columns are computed twice.
    ((96, 100, 1), 3, (14, 13), (1, 1), (2, 2), (0, 0), (1, 1)),
    ((170, 40, 1), 5, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((40, 21, 1), 2, (15, 41), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((300, 19, 1), 2, (5, 21), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((60, 50, 1), 3, (6, 6), (5, 5), (1, 1), (2, 2), (1, 1)),
    # Long sums by filters: panels of two vectors instead of one with a lonely vector.
    ((57, 64, 1), 2, (21, 19), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((22, 109, 1), 3, (12, 11), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((60, 49, 1), 2, (30, 61), (3, 3), (2, 2), (0, 1), (1, 1)),
    ((2, 17, 1), 3, (3, 4, 3), (5, 7, 5), (1, 1, 1), (2, 3, 2), (1, 1, 1)),
    ((2, 9, 1), 2, (5, 21), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 5, 1), 1, (4, 27), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((1, 6, 1), 2, (3, 16), (1, 3), (1, 1), (0, 1), (1, 1)),
    # Windows that cover whole rows, and large strides along one dimension.
    ((9, 12, 1), 2, (31, 22), (1, 22), (1, 1), (0, 0), (1, 1)),
    ((1, 17, 1), 3, (20, 26), (3, 26), (1, 1), (2, 0), (1, 1)),
    ((4, 20, 2), 2, (33, 16), (4, 16), (2, 1), (2, 0), (1, 1)),
    ((2, 10, 1), 2, (30, 13), (3, 13), (1, 1), (0, 0), (2, 1)),
    ((3, 8, 1), 2, (4, 9, 14), (2, 3, 14), (1, 2, 1), (1, 0, 0), (1, 1, 1)),
    ((2, 10, 1), 2, (700,), (30,), (14,), (0,), (1,)),
    ((2, 10, 1), 2, (196,), (30,), (14,), (14,), (1,)),
    ((3, 9, 1), 2, (201,), (9,), (16,), (0,), (1,)),
    ((3, 9, 1), 2, (201,), (24,), (16,), (5,), (1,)),
    # Dimensions of one element behind long ones.
    ((16, 18, 1), 2, (40, 1), (7, 1), (2, 1), (3, 0), (1, 1)),
    ((6, 6, 6), 2, (41, 1), (9, 1), (1, 1), (4, 0), (1, 1)),
    ((4, 6, 2), 2, (5, 9, 1), (2, 3, 1), (1, 2, 1), (1, 1, 0), (1, 1, 1)),
    ((4, 9, 1), 2, (12, 1, 1), (3, 1, 1), (1, 1, 1), (1, 0, 0), (2, 1, 1)),
    # Depthwise windows of 5x5 and 7x7: narrow and wide planes, odd paddings, planes that are cut into bands of rows.
    ((3, 3, 3), 2, (14, 14), (7, 7), (1, 1), (3, 3), (1, 1)),
    ((2, 2, 2), 1, (29, 33), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((2, 2, 2), 2, (28, 27), (5, 5), (2, 2), (2, 2), (1, 1)),
    ((3, 3, 3), 1, (9, 40), (7, 7), (2, 2), (0, 6), (1, 1)),
    ((1, 1, 1), 1, (160, 211), (7, 7), (1, 1), (4, 1), (1, 1)),
    ((2, 2, 2), 1, (301, 64), (5, 5), (2, 2), (1, 0), (1, 1)),
    ((4, 4, 4), 1, (1, 2), (5, 5), (1, 1), (2, 2), (1, 1)),
    # Windows brought together in panels: odd numbers of filters, lines, columns and channels, several blocks of depths.
    ((33, 53, 1), 3, (25, 23), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((50, 49, 1), 2, (41, 38), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((28, 51, 1), 40, (8, 9), (4, 4), (2, 2), (1, 1), (1, 1)),
    ((31, 64, 1), 9, (6, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((50, 53, 1), 1, (41, 39), (3, 3), (2, 2), (1, 1), (1, 1)),
    # One window over a whole dimension, or over all of an image.
    ((6, 10, 1), 3, (9, 40), (9, 1), (1, 1), (0, 0), (1, 1)),
    ((6, 10, 2), 3, (5, 41), (5, 3), (1, 2), (0, 1), (1, 1)),
    ((20, 33, 1), 7, (4, 4), (4, 4), (1, 1), (0, 0), (1, 1)),
    ((6, 9, 3), 5, (3, 2), (3, 2), (2, 1), (0, 0), (1, 1)),
    ((4, 6, 2), 2, (2, 3, 9), (2, 3, 3), (1, 1, 1), (0, 0, 1), (1, 1, 1)),
]
PANELS = SIZES[-10:-5]


def run(lib, arrays, options, transposed=False):
    """The results of a convolution and of its gradients, of two orders."""
    x, w, b, g = [lib.tensor(array) for array in arrays]
    for part in (x, w, b):
        part.requires_grad_()
    n = x.dim() - 2
    call = getattr(lib.nn.functional, f"conv{'_transpose' if transposed else ''}{n}d")
    y = call(x, w, b, **options)
    first = lib.autograd.grad(y, (x, w, b), g[tuple(slice(size) for size in y.shape)], create_graph=True)
    second = lib.autograd.grad((first[0] * x.detach()).sum() + (first[1] * w.detach() ** 2).sum(), (x, w))
    return [y, *first, *second]


def operands(sizes, transposed=False):
    (channels, filters, groups), batch, spatial, kernel, stride, padding, dilation = sizes
    rng = np.random.default_rng(sum(spatial) + channels)
    x = rng.standard_normal((batch, channels, *spatial))
    w = rng.standard_normal(
        (channels, filters // groups, *kernel) if transposed else (filters, channels // groups, *kernel)
    )
    most = [4 * size + 16 if step <= 4 else step * size + 32 for size, step in zip(spatial, stride, strict=True)]
    g = rng.standard_normal((batch, filters, *most))
    arrays = [array.astype(np.float32) for array in (x, w, rng.standard_normal(filters), g)]
    return arrays, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def close(found, exact):
    """Compares with float64: an error is small beside the largest number of its kind."""
    for ours, theirs in zip(found, exact, strict=True):
        ours, theirs = ours.detach().double(), theirs.detach()
        assert ours.shape == theirs.shape
        assert float((ours - theirs).abs().max()) <= 2e-6 * float(theirs.abs().max()) + 1e-12


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_against_float64(sizes, transposed):
    arrays, options = operands(sizes, transposed)
    exact = run(torch, [array.astype(np.float64) for array in arrays], options, transposed)
    close([to_torch(part.detach()) for part in run(pyburn, arrays, options, transposed)], exact)


@pytest.mark.parametrize("width", ["256", "128"])
def test_narrow_vectors(width):
    code = "import test_conv_kernels as t\nfor s in t.SIZES: t.test_against_float64(s, False)"
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__)), *sys.path])
    environment = {**os.environ, "PYBURN_VECTORS": width, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "sizes", [SIZES[0], SIZES[2], SIZES[9], SIZES[12], SIZES[15], SIZES[20], *SIZES[22:25], *SIZES[27:]]
)
def test_any_number_of_threads(sizes):
    arrays, options = operands(sizes)
    threads = pyburn.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            pyburn.set_num_threads(count)
            results.append([part.detach().numpy() for part in run(pyburn, arrays, options)])
    finally:
        pyburn.set_num_threads(threads)
    for others in results[1:]:
        assert all(np.array_equal(first, other) for first, other in zip(results[0], others, strict=True))


@pytest.mark.parametrize(
    "sizes",
    [SIZES[0], SIZES[2], SIZES[5], SIZES[8], SIZES[15], *SIZES[20:25], SIZES[28], *SIZES[30:35], SIZES[37], *PANELS],
)
def test_special_numbers_stay_where_they_are(sizes):
    (x, w, _, g), options = operands(sizes)
    places = {(-1, 0, 3, 4): np.nan, (0, -1, 4, 4): np.inf}
    for place, value in places.items():
        x[place] = value
    found = pyburn.nn.functional.conv2d(pyburn.tensor(x), pyburn.tensor(w), **options)
    exact = torch.nn.functional.conv2d(torch.tensor(x, dtype=torch.float64), torch.tensor(w).double(), **options)
    assert np.array_equal(np.isfinite(found.numpy()), torch.isfinite(exact).numpy())
    weight = pyburn.tensor(w).requires_grad_()
    y = pyburn.nn.functional.conv2d(pyburn.tensor(np.nan_to_num(x, posinf=1.0)), weight, **options)
    g = g[tuple(slice(size) for size in y.shape)].copy()
    g[-1, -1, -1, -1] = np.inf
    y.backward(pyburn.tensor(g))
    bad = ~np.isfinite(weight.grad.numpy())
    assert bad[-1].any()
    assert not bad[:-1].any()


@pytest.mark.parametrize("groups", [1, 8])
def test_layouts(groups):
    rng = np.random.default_rng(3)
    x = torch.from_numpy(rng.standard_normal((2, 8, 9, 11), dtype=np.float32))
    w = torch.from_numpy(rng.standard_normal((8, 8 // groups, 3, 3), dtype=np.float32))
    exact = torch.nn.functional.conv2d(x.double(), w.double(), padding=1, groups=groups)
    ours, weight = from_torch(x), from_torch(w)
    for view in (ours.to(memory_format=pyburn.channels_last), ours.transpose(2, 3).contiguous().transpose(2, 3)):
        close([to_torch(pyburn.nn.functional.conv2d(view, weight, padding=1, groups=groups))], [exact])
    empty = pyburn.nn.functional.conv2d(ours[:0], weight, padding=1, groups=groups)
    assert empty.shape == (0, 8, 9, 11)
