"""`unfold`, `fold`, `cross` and `pdist`, which have kernels of their own for floats on the CPU."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_op

WINDOWS = [
    ((7, 9), (2, 3), 1, 0, 1),
    ((8, 8), (3, 3), 2, (2, 1), (1, 2)),
    ((20, 5), (4, 1), 1, (0, 2), 3),
    ((6, 6), (6, 6), 1, 0, 1),
    ((40, 33), (3, 2), 1, 1, 2),
]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


@pytest.mark.parametrize("windows", WINDOWS)
def test_unfold_and_fold(windows):
    size, kernel, dilation, padding, stride = windows
    settings = (kernel, dilation, padding, stride)
    image = numbers(2, 3, *size)
    check_op(lambda lib, x: lib.nn.functional.unfold(x, *settings), image, gradgrad=True)
    columns = torch.nn.functional.unfold(torch.from_numpy(image), *settings).numpy()
    check_op(lambda lib, x: lib.nn.functional.fold(x, size, *settings), columns, gradgrad=True)
    check_op(lambda lib, x: lib.nn.functional.unfold(x, *settings), numbers(3, *size).astype("float32"))


def test_no_images():
    found, expected = (lib.nn.functional.unfold(lib.zeros(0, 3, 5, 5), 2).shape for lib in (pyburn, torch))
    assert tuple(found) == tuple(expected)


@pytest.mark.parametrize("call", ["_unfold_windows", "_fold_windows"])
def test_windows_beyond_the_image_are_refused(call):
    x = pyburn.zeros(1, 4, 9) if call == "_fold_windows" else pyburn.zeros(1, 1, 3, 3)
    with pytest.raises(pyburn.ShapeError):
        getattr(x, call)([[3, 3], [2, 2], [9, 9], [1, 1], [0, 0], [1, 1]])


@pytest.mark.parametrize(("shape", "dim"), [((5, 3), 1), ((3, 7), 0), ((2, 3, 4), 1), ((3,), 0), ((9000, 3), -1)])
def test_cross(shape, dim):
    second = numbers(*shape)[::-1].copy()
    check_op(lambda lib, a, b: lib.cross(a, b, dim=dim), numbers(*shape), second, gradgrad=shape[0] < 9000)


def test_cross_of_one_with_many():
    check_op(lambda lib, a, b: lib.linalg.cross(a, b), numbers(1, 3), numbers(6, 3))


@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (3, 1), (77, 9), (130, 200)])
def test_distances_of_pairs(shape):
    check_op(lambda lib, x: lib.nn.functional.pdist(x), numbers(*shape).astype("float32"), rtol=1e-4, atol=1e-5)


def test_no_points_have_no_distances():
    # torch's own gradient divides by zero here, and takes the process with it.
    x = pyburn.ones(0, 4, requires_grad=True)
    distances = pyburn.nn.functional.pdist(x)
    distances.sum().backward()
    assert tuple(distances.shape) == (0,)
    assert tuple(x.grad.shape) == (0, 4)


def test_equal_points_have_no_gradient():
    x = pyburn.ones(3, 4, requires_grad=True)
    pyburn.nn.functional.pdist(x).sum().backward()
    assert x.grad.tolist() == [[0.0] * 4] * 3
