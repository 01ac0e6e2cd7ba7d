"""The kernels that read images at any places: many blocks, odd sizes, places far outside, both gradients, twice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from pyburn.autograd import gradcheck, gradgradcheck

from tests.oracle import check_op
from tests.widths import WIDTHS, check_width

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
IMAGES = list(itertools.product(MODES, PADDINGS, (False, True)))


def sample(lib: Any, x: Any, grid: Any, mode: str, padding: str, corners: bool) -> Any:
    return lib.nn.functional.grid_sample(x, grid, mode, padding, corners)


def numbers(seed: int, *shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def places(seed: int, *shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(-2.3, 2.3, shape).astype(dtype)


@pytest.mark.parametrize(("mode", "padding", "corners"), IMAGES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_of_many_blocks(mode: str, padding: str, corners: bool, dtype: str) -> None:
    """More places than a task has, more channels than a group has, and neither a multiple of it."""
    x, grid = numbers(1, 2, 5, 13, 9, dtype=dtype), places(2, 2, 37, 31, 2, dtype=dtype)
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    check_op(lambda lib, x, grid: sample(lib, x, grid, mode, padding, corners), x, grid, **tolerance)


@pytest.mark.parametrize(("mode", "padding", "corners"), IMAGES)
def test_volumes_of_many_blocks(mode: str, padding: str, corners: bool) -> None:
    x, grid = numbers(3, 2, 3, 4, 7, 5), places(4, 2, 11, 9, 12, 3)
    check_op(lambda lib, x, grid: sample(lib, x, grid, mode, padding, corners), x, grid, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("mode", "padding", "corners"), IMAGES)
def test_images_of_one_pixel(mode: str, padding: str, corners: bool) -> None:
    x, grid = numbers(5, 1, 2, 1, 1), places(6, 1, 3, 4, 2)
    check_op(lambda lib, x, grid: sample(lib, x, grid, mode, padding, corners), x, grid, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_places_that_are_no_numbers_read_nothing_outside(mode: str, padding: str) -> None:
    grid = pyburn.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [1e30, -1e30], [0.0, 0.0]]]])
    x = pyburn.arange(12.0).reshape(1, 1, 3, 4).requires_grad_()
    result = sample(pyburn, x, grid, mode, padding, False)
    result.nansum().backward()
    expected = sample(torch, torch.arange(12.0).reshape(1, 1, 3, 4), torch.zeros(1, 1, 1, 2), mode, padding, False)
    assert result[..., -1].item() == pytest.approx(expected.item())


@pytest.mark.parametrize("layout", ["channels_last", "transposed", "sliced"])
def test_layouts(layout: str) -> None:
    def laid(x: Any) -> Any:
        if layout == "channels_last":
            return x.to(memory_format=(torch if isinstance(x, torch.Tensor) else pyburn).channels_last)
        return x.transpose(2, 3) if layout == "transposed" else x[:, ::2, 1:]

    check_op(
        lambda lib, x, grid: sample(lib, laid(x), grid.flip(1), "bilinear", "zeros", False),
        numbers(7, 2, 4, 6, 5),
        places(8, 2, 3, 4, 2),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_first_and_second_gradients(mode: str, padding: str) -> None:
    pyburn.manual_seed(0)
    x = pyburn.randn(1, 2, 3, 4, dtype=pyburn.float64, requires_grad=True)
    grid = (pyburn.rand(1, 2, 3, 2, dtype=pyburn.float64) * 2.2 - 1.1).requires_grad_()

    def read(x: Any, grid: Any) -> Any:
        return sample(pyburn, x, grid, mode, padding, False)

    assert gradcheck(read, (x, grid))
    assert gradgradcheck(read, (x, grid))


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_empty_sizes(lib: Any) -> None:
    empty = [((0, 2, 3, 3), (0, 4, 5, 2), (0, 2, 4, 5)), ((1, 0, 3, 3), (1, 4, 0, 2), (1, 0, 4, 0))]
    for image, grid, result in empty:
        assert sample(lib, lib.zeros(image), lib.zeros(grid), "bilinear", "zeros", False).shape == result
    with pytest.raises(RuntimeError, match="non-empty spatial"):
        sample(lib, lib.zeros(1, 1, 0, 3), lib.zeros(1, 1, 1, 2), "bilinear", "zeros", False)


def test_the_gradient_of_places_without_channels_is_zero() -> None:
    grid = pyburn.zeros(1, 2, 2, 2, requires_grad=True)
    sample(pyburn, pyburn.zeros(1, 0, 3, 3), grid, "bilinear", "zeros", False).sum().backward()
    assert grid.grad.tolist() == pyburn.zeros(1, 2, 2, 2).tolist()


READ = """
import pyburn
results = []
for count, (height, width) in ((1, (2, 3)), (17, (1, 2)), (1025, (9, 5)), (33, (4, 1))):
    x = (pyburn.arange(6 * height * width) * 0.7).sin().reshape(2, 3, height, width)
    x[0, 0, 0, 0], x[1, 2, -1, -1] = float("nan"), float("inf")
    grid = (pyburn.arange(4 * count) * 1.3).sin().reshape(2, 1, count, 2) * 1.4
    grid[0, 0, 0, 0], grid[1, 0, -1, 1] = float("nan"), float("inf")
    for padding in ("zeros", "border"):
        for corners in (False, True):
            results += pyburn.nn.functional.grid_sample(x, grid, "bilinear", padding, corners).flatten().tolist()
print(results)
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_narrow_vectors(width: str) -> None:
    check_width(READ, width, 2e-6, 2e-6)


@pytest.mark.skipif(not torch.backends.cpu.get_cpu_capability().startswith("AVX"), reason="torch fuses nothing there")
@pytest.mark.parametrize("padding", PADDINGS)
def test_linear_images_have_torchs_very_bits(padding: str) -> None:
    """A spatial transformer that learns is chaotic: the last digit of one step is another curve thirty steps later."""
    x, grid, by = numbers(9, 3, 2, 16, 15), places(10, 3, 14, 17, 2), numbers(11, 3, 2, 14, 17)

    def run(lib: Any) -> list[Any]:
        image, at = lib.tensor(x, requires_grad=True), lib.tensor(grid, requires_grad=True)
        result = sample(lib, image, at, "bilinear", padding, False)
        result.backward(lib.tensor(by))
        return [tensor.detach().numpy().tolist() for tensor in (result, image.grad, at.grad)]

    assert run(pyburn) == run(torch)
