"""Images read at any places, and windows as columns, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pyburn.ops.nn as ours
import pytest
import torch

from tests.oracle import check_op


def of(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else ours


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def places(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).uniform(-1.4, 1.4, shape).astype("float32")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_grid_sample(mode: str, padding_mode: str, align_corners: bool) -> None:
    def sampled(lib: Any, x: Any, grid: Any) -> Any:
        return of(lib).grid_sample(x, grid, mode, padding_mode, align_corners)

    check_op(sampled, normal(2, 3, 5, 6), places(2, 4, 3, 2), grad=mode != "nearest", rtol=1e-3, atol=1e-4)
    if mode != "bicubic":
        check_op(sampled, normal(1, 2, 3, 4, 5), places(1, 2, 3, 2, 3), grad=mode != "nearest", rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 2, 3, 4)])
def test_affine_grid(size: tuple[int, ...], align_corners: bool) -> None:
    n = len(size) - 2
    check_op(lambda lib, theta: of(lib).affine_grid(theta, size, align_corners), normal(2, n, n + 1), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(28, 28), (7, 5), (33, 100), (61, 47)])
def test_the_identity_map_takes_torchs_side_of_every_pixel(size: tuple[int, int], dtype: str) -> None:
    """The sampled places lie on the pixels, where the gradient by the map jumps: the last bit decides."""
    theta = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], dtype)

    def sampled(lib: Any, theta: Any, image: Any) -> Any:
        return of(lib).grid_sample(image, of(lib).affine_grid(theta, (1, 1, *size), False), align_corners=False)

    check_op(sampled, theta, normal(1, 1, *size).astype(dtype), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"padding": 1, "stride": 2}, {"dilation": 2, "padding": 1}])
def test_windows_as_columns(options: dict[str, int]) -> None:
    x = normal(2, 3, 6, 7)
    columns = torch.nn.functional.unfold(torch.tensor(x), (2, 3), **options).numpy()
    check_op(lambda lib, x: of(lib).unfold(x, (2, 3), **options), x, gradgrad=True)
    check_op(lambda lib, c: of(lib).fold(c, (6, 7), (2, 3), **options), columns, gradgrad=True, atol=1e-4)


@pytest.mark.parametrize(
    ("size", "kernel", "options"),
    [((9, 11), (7, 8), {"stride": 2}), ((20, 17), (9, 5), {"dilation": (2, 3), "padding": (3, 1), "stride": (2, 4)})],
)
def test_few_large_windows(size: tuple[int, int], kernel: tuple[int, int], options: dict[str, Any]) -> None:
    """Fewer windows than elements of one, as of patches of an image."""
    x = normal(2, 2, *size)
    columns = torch.nn.functional.unfold(torch.tensor(x), kernel, **options).numpy()
    check_op(lambda lib, x: of(lib).unfold(x, kernel, **options), x, gradgrad=True)
    check_op(lambda lib, c: of(lib).fold(c, size, kernel, **options), columns, gradgrad=True, atol=1e-4)
    check_op(lambda lib, c: of(lib).fold(c[0], size, kernel, **options), columns, atol=1e-4)


def test_mistakes_are_named() -> None:
    with pytest.raises(RuntimeError, match="grid_sample"):
        ours.grid_sample(pyburn.zeros(1, 1, 2, 2), pyburn.zeros(1, 2, 2, 3))
    with pytest.raises(TypeError, match="argument 'grid' must be Tensor, not NoneType"):
        ours.grid_sample(pyburn.zeros(1, 1, 2, 2), None)
    with pytest.raises(RuntimeError, match="fold"):
        ours.fold(pyburn.zeros(1, 3, 4), (3, 3), (2, 2))
