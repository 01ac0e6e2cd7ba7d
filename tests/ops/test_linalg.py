"""Products of matrices against torch: every pairing of ranks, dtypes, strides, first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from pyburn.ops import linalg

from tests.oracle import check_op

PAIRS = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3, 4), (2, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((0, 4), (4, 3)),
    ((3, 0), (0, 4)),
    ((2, 3, 0), (0, 4)),
    ((1, 1), (1, 1)),
    ((0, 3, 4), (0, 4, 5)),
]


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    def product(lib: Any, x: Any, y: Any) -> Any:
        return x @ y

    check_op(product, normal(*left), normal(*right), gradgrad=True, dtypes=["float32", "float64"])
    check_op(product, normal(*left), normal(*right), dtypes=["float16", "bfloat16"], rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_integers_wrap_around(dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 120, (4, 4)).astype(dtype)
    check_op(lambda lib, x, y: lib.matmul(x, y), values, values.T.copy(), grad=False)


def test_strided_and_broadcast_inputs() -> None:
    check_op(lambda lib, x, y: x.t() @ y.t(), normal(4, 3), normal(5, 4), gradgrad=True)
    check_op(lambda lib, x, y: x.transpose(0, 2) @ y.expand(4, 3, 5), normal(3, 2, 4), normal(1, 3, 5), gradgrad=True)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4), (0, 4), (2, 2, 2, 4)])
@pytest.mark.parametrize("biased", [False, True])
def test_linear(shape: tuple[int, ...], biased: bool) -> None:
    def affine(lib: Any, x: Any, weight: Any, bias: Any) -> Any:
        return (torch.nn.functional if lib is torch else linalg).linear(x, weight, bias)

    check_op(affine, normal(*shape), normal(5, 4), normal(5) if biased else None, gradgrad=True)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ((3, 4), (3, 4), "cannot be multiplied"),
        ((), (3, 4), "at least 1D"),
        ((2, 3, 4), (3, 4, 5), "must match"),
        ((3,), (4,), "inconsistent tensor size"),
    ],
)
def test_mistakes_are_named(left: tuple[int, ...], right: tuple[int, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        pyburn.zeros(left) @ pyburn.zeros(right)


def test_dtypes_must_agree() -> None:
    with pytest.raises(TypeError, match="same dtype"):
        pyburn.zeros(2, 2) @ pyburn.zeros(2, 2, dtype=pyburn.float64)


def test_linear_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="in_features=20"):
        linalg.linear(pyburn.zeros(8, 20), pyburn.zeros(64, 32))
