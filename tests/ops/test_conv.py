"""Convolutions and their transposes against torch: values, first and second derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from pyburn.ops import conv

from tests.oracle import check_op

SIZES = (7, 8, 9)
KERNEL = (3, 2, 3)


def of(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else conv


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_against_torch(n: int, stride: int, padding: int, dilation: int, groups: int, transposed: bool) -> None:
    options: dict[str, int] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    weight = normal(6, 4 // groups, *KERNEL[:n])
    if transposed:
        weight = normal(4, 6 // groups, *KERNEL[:n])
        options["output_padding"] = int(max(stride, dilation) > 1)
    name = f"conv_transpose{n}d" if transposed else f"conv{n}d"

    def convolved(lib: Any, x: Any, w: Any, b: Any) -> Any:
        return getattr(of(lib), name)(x, w, b, **options)

    check_op(convolved, normal(2, 4, *SIZES[:n]), weight, normal(6), gradgrad=True, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("dilation", [1, 3])
def test_named_padding(n: int, padding: str, dilation: int) -> None:
    def convolved(lib: Any, x: Any, w: Any) -> Any:
        return getattr(of(lib), f"conv{n}d")(x, w, padding=padding, dilation=dilation)

    # An even kernel needs one more zero on the right; torch warns, once in a process, of the copy it makes for that.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.nn.functional.conv1d(torch.zeros(1, 1, 4), torch.zeros(1, 1, 2), padding="same")
    check_op(convolved, normal(1, 2, *SIZES[:n]), normal(3, 2, *[2] * n), rtol=1e-4, atol=1e-4)


def test_depthwise_unbatched_and_strided() -> None:
    check_op(
        lambda lib, x, w: of(lib).conv2d(x, w, groups=4), normal(2, 4, 6, 6), normal(8, 1, 3, 3), rtol=1e-4, atol=1e-4
    )
    check_op(lambda lib, x, w: of(lib).conv2d(x, w), normal(4, 6, 6), normal(8, 4, 3, 3), rtol=1e-4, atol=1e-4)
    check_op(
        lambda lib, x, w: of(lib).conv2d(x.transpose(2, 3), w.transpose(2, 3)),
        normal(2, 4, 6, 5),
        normal(3, 4, 2, 3),
        gradgrad=True,
        rtol=1e-4,
        atol=1e-4,
    )


def test_an_empty_batch() -> None:
    check_op(lambda lib, x, w, b: of(lib).conv2d(x, w, b), normal(0, 2, 5, 5), normal(3, 2, 3, 3), normal(3))


def test_dtypes() -> None:
    inputs = (normal(1, 2, 5, 5), normal(3, 2, 3, 3))
    check_op(lambda lib, x, w: of(lib).conv2d(x, w), *inputs, dtypes=["float64"], gradgrad=True)
    check_op(lambda lib, x, w: of(lib).conv2d(x, w), *inputs, dtypes=["float16", "bfloat16"], rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize("transposed", [False, True])
def test_one_call_for_all_dimensions(transposed: bool) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 3):
        x, w = rng.normal(size=(2, 4, *[6] * n)), rng.normal(size=(4, 2, *[3] * n))
        ones, extra = [1] * n, [1 if transposed else 0] * n

        def run(lib: Any, x: Any, w: Any, n: int = n, ones: Any = ones, extra: Any = extra) -> Any:
            return lib.convolution(x, w, None, [2] * n, ones, ones, transposed, extra, 2)

        check_op(run, x, w)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: conv.conv2d(x, w, groups=2), "to have 4 channels, but got 2"),
        (lambda x, w: conv.conv2d(x, w, stride=0), "greater than zero"),
        (lambda x, w: conv.conv2d(x, w, padding=-1), "negative padding"),
        (lambda x, w: conv.conv2d(x, w, dilation=9), "Kernel size can't be greater"),
        (lambda x, w: conv.conv2d(x, w, padding="same", stride=2), "strided"),
        (lambda x, w: conv.conv2d(x, w, pyburn.zeros(7)), "expected bias to be 1-dimensional with 4"),
        (lambda x, w: conv.conv1d(x, w), "dimensions"),
        (lambda x, w: conv.conv2d(x, w.double()), "convert one of them"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(pyburn.zeros(1, 2, 5, 5), pyburn.zeros(4, 2, 3, 3))
