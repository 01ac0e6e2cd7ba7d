"""Pooling against torch: values, places of maxima, first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from pyburn.ops import pool

from tests.oracle import Case, check_op

SIZES = (9, 8, 7)


def of(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else pool


def image(n: int, *leading: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).standard_normal((*leading, *SIZES[:n])).astype("float32")


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("stride", [None, 1, 3])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool(n: int, stride: int | None, padding: int, dilation: int, ceil_mode: bool) -> None:
    def pooled(lib: Any, x: Any) -> Any:
        return getattr(of(lib), f"max_pool{n}d")(x, 3, stride, padding, dilation, ceil_mode, True)

    check_op(pooled, image(n, 2, 3), gradgrad=True)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("stride", [None, 1, 2])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool(n: int, stride: int | None, padding: int, ceil_mode: bool, count_include_pad: bool) -> None:
    def pooled(lib: Any, x: Any) -> Any:
        return getattr(of(lib), f"avg_pool{n}d")(x, 3, stride, padding, ceil_mode, count_include_pad)

    check_op(pooled, image(n, 2, 3), gradgrad=True)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_adaptive(n: int, size: int) -> None:
    check_op(lambda lib, x: getattr(of(lib), f"adaptive_avg_pool{n}d")(x, size), image(n, 2, 3), gradgrad=True)
    check_op(lambda lib, x: getattr(of(lib), f"adaptive_max_pool{n}d")(x, size, True), image(n, 2, 3), gradgrad=True)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_without_batch_and_with_an_empty_one(n: int) -> None:
    for leading in ((3,), (0, 3)):
        check_op(lambda lib, x: getattr(of(lib), f"max_pool{n}d")(x, 2), image(n, *leading))
        check_op(lambda lib, x: getattr(of(lib), f"avg_pool{n}d")(x, 2), image(n, *leading))


def test_nan_wins_and_the_last_one_is_named() -> None:
    x = image(2, 1, 1)
    x[0, 0, 2, 2] = x[0, 0, 3, 3] = np.nan
    x[0, 0, 0, 0] = -np.inf
    check_op(lambda lib, x: of(lib).max_pool2d(x, 3, 1, 1, 1, False, True), x, grad=False)


def test_strided_input_and_divisor() -> None:
    check_op(lambda lib, x: of(lib).max_pool2d(x.transpose(2, 3), 2), image(2, 1, 2), gradgrad=True)
    check_op(lambda lib, x: of(lib).avg_pool2d(x, 2, divisor_override=3), image(2, 1, 2), gradgrad=True)


def test_dtypes() -> None:
    check_op(lambda lib, x: of(lib).max_pool2d(x, 2), image(2, 1, 2), dtypes=["float64", "float16", "bfloat16"])
    # torch adds the gradients of overlapping windows in the half type itself, pyburn in float32.
    check_op(lambda lib, x: of(lib).avg_pool2d(x, 2), image(2, 1, 2), dtypes=["float64", "float16", "bfloat16"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: pool.max_pool2d(x, 3, padding=2), "half of effective kernel size"),
        (lambda x: pool.max_pool2d(x, 100), "too small"),
        (lambda x: pool.max_pool2d(x, 0), "at least 1"),
        (lambda x: pool.max_pool3d(x, 2, stride=(1, 2)), "needs 3"),
        (lambda x: pool.avg_pool2d(x, 2, divisor_override=0), "not zero"),
        (lambda x: pool.adaptive_avg_pool2d(x, -1), "non-negative"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(pyburn.zeros(1, 1, 4, 4))


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maxima_of_neighbours(kernel: int, ceil_mode: bool, dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5, 203)).astype(dtype)
    x[0, 0, ::50], x[1, 1, 5:9], x[2, 2, :] = np.nan, np.inf, -np.inf
    check_op(lambda lib, x: of(lib).max_pool1d(x, kernel, ceil_mode=ceil_mode), x, grad=False)


@pytest.mark.parametrize("shape", [(2, 3, 56, 56), (2, 3, 17, 9), (1, 2, 40, 8)])
@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("kind", ["normal", "ties", "nan", "zeros", "lowest"])
def test_adaptive_maxima_and_their_places(shape: tuple[int, ...], size: int, kind: str) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    if kind == "ties":
        x = np.round(x)
    if kind == "nan":
        x.reshape(-1)[::13] = np.nan
    if kind == "zeros":
        x = np.where(x > 0, np.float32(0.0), np.float32(-0.0))
    if kind == "lowest":
        x[:] = -np.inf
    expected = torch.nn.functional.adaptive_max_pool2d(torch.from_numpy(x), size, return_indices=True)
    values, places = pool.adaptive_max_pool2d(pyburn.from_numpy(x), size, return_indices=True)
    assert places.tolist() == expected[1].tolist()
    np.testing.assert_array_equal(values.numpy().view("i4"), expected[0].numpy().view("i4"))


@pytest.mark.parametrize("size", [(1, 40), (40, 1), (1, 1), (2, 41)])
@pytest.mark.parametrize("kernel", [2, 3, 4, 7])
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_dimensions_of_one(size: tuple[int, int], kernel: int, stride: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, *size)).astype("float32")
    kernels, strides = tuple(min(length, kernel) for length in size), tuple(min(length, stride) for length in size)
    check_op(lambda lib, x: of(lib).avg_pool2d(x, kernels, strides), x)
    check_op(lambda lib, x: of(lib).max_pool2d(x, kernels, strides), x)
    check_op(lambda lib, x: of(lib).max_pool2d(x, kernels, strides, return_indices=True), x)


@pytest.mark.parametrize("divisor", [None, 6, 5])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("counted", [True, False])
def test_windows_of_whole_images(divisor: int | None, padding: int, counted: bool) -> None:
    kernel = (2 + 2 * padding, 3 + 2 * padding)

    def pooled(lib: Any, x: Any) -> Any:
        return of(lib).avg_pool2d(x, kernel, None, padding, False, counted, divisor)

    check_op(pooled, np.random.default_rng(0).standard_normal((2, 3, 2, 3)).astype("float32"), gradgrad=True)


def test_adaptive_maxima_of_volumes() -> None:
    x = np.round(np.random.default_rng(2).standard_normal((2, 3, 9, 10, 11)).astype("float32"))
    expected = torch.nn.functional.adaptive_max_pool3d(torch.from_numpy(x), (2, 3, 4), return_indices=True)
    values, places = pool.adaptive_max_pool3d(pyburn.from_numpy(x), (2, 3, 4), return_indices=True)
    assert places.tolist() == expected[1].tolist()
    assert values.tolist() == expected[0].tolist()


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_resizing_no_lines(mode: str) -> None:
    check_op(lambda lib, x: lib.nn.functional.interpolate(x, size=6, mode=mode), np.zeros((0, 2, 3), "float32"))


LAST = {
    "max": lambda F, x: F.max_pool2d(x, 3, 2, 1),
    "max dilated": lambda F, x: F.max_pool2d(x, 2, 1, 1, 2),
    "max with places": lambda F, x: list(F.max_pool2d(x, 2, return_indices=True)),
    "max of whole numbers": lambda F, x: F.max_pool2d(x.round(), 2, 1),
    "adaptive max": lambda F, x: F.adaptive_max_pool2d(x, 3),
    "avg": lambda F, x: F.avg_pool2d(x, 3, 2, 1),
    "nearest": lambda F, x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda F, x: F.interpolate(x, size=(5, 9), mode="bilinear"),
    "bicubic": lambda F, x: F.interpolate(x, size=(5, 9), mode="bicubic"),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (1, 17, 8, 8), (3, 40, 5, 12)])
def test_channels_last(name: str, shape: tuple[int, ...]) -> None:
    x = torch.from_numpy(np.random.default_rng(len(name)).standard_normal(shape).astype("float32"))
    x = Case(x.contiguous(memory_format=torch.channels_last))
    check_op(lambda lib, x: LAST[name](lib.nn.functional, x), x, rtol=1e-4, atol=1e-4, same_stride=True, gradgrad=True)


def test_channels_last_of_nothing_and_of_what_is_not_a_number() -> None:
    for lib in (pyburn, torch):
        none = lib.zeros(0, 3, 8, 8).to(memory_format=lib.channels_last)
        assert tuple(lib.nn.functional.max_pool2d(none, 2).shape) == (0, 3, 4, 4)
    x = np.zeros((1, 2, 4, 4), dtype="float32")
    x[0, 1, 1, 1] = np.nan
    found, expected = (
        lib.nn.functional.max_pool2d(
            lib.from_numpy(x.copy()).to(memory_format=lib.channels_last), 2, 1, return_indices=True
        )
        for lib in (pyburn, torch)
    )
    assert str(found[0].tolist()) == str(expected[0].tolist())
    assert found[1].tolist() == expected[1].tolist()
