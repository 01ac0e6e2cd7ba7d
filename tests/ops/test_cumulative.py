"""Running sums, products and extremes agree with torch, in both directions of the gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op
from strategies import DTYPES, arrays, dims, shapes

RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((3, 4))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cumulative(name: str, data: st.DataObject) -> None:
    extreme = name in ("cummax", "cummin")
    dtype = data.draw(st.sampled_from([dtype for dtype in DTYPES if "16" not in dtype or dtype == "int16"]))
    x = Case(data.draw(arrays(shapes(max_rank=4), dtype)), dtype)
    dim = data.draw(dims(len(x.shape)))
    if extreme and 0 in x.shape:
        return
    check_op(lambda lib, x: getattr(lib, name)(x, dim), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_second_derivatives(name: str) -> None:
    for dim in (0, -1):
        check_op(lambda lib, x, dim=dim: getattr(lib, name)(x * x, dim), MATRIX, gradgrad=True, rtol=1e-6)


def test_cumprod_with_zeros() -> None:
    x = np.array([[2.0, 0.0, 3.0, 0.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
    check_op(lambda lib, x: x.cumprod(1), x, gradgrad=True)
    check_op(lambda lib, x: x.cumprod(0), x, gradgrad=True)


def test_dtype_and_in_place() -> None:
    check_op(lambda lib, x: [x.cumsum(0, dtype=lib.float32), x.cumprod(1, dtype=lib.int32)], np.ones((2, 3), "int64"))

    def twice(lib, x):
        y = x.clone()
        y.cumsum_(1)
        return [y, y.clone().cumprod_(0)]

    check_op(twice, MATRIX)


def test_nan_and_ties() -> None:
    x = np.array([1.0, 3.0, 3.0, math.nan, 2.0, math.nan])
    check_op(lambda lib, x: [*lib.cummax(x, 0), *lib.cummin(x, 0)], x, grad=False)
    check_op(lambda lib, x: lib.cummax(x, 0), np.array([1.0, 3.0, 3.0, 2.0]))


def test_logcumsumexp_far_out() -> None:
    x = np.array([[-math.inf, 0.0, 1000.0, 1000.0], [1000.0, -1000.0, math.inf, 1.0]])
    check_op(lambda lib, x: lib.logcumsumexp(x, 1), x, grad=False)
    check_op(lambda lib, x: lib.logcumsumexp(x, 0), RNG.standard_normal((5, 2)) * 100, rtol=1e-6)
    check_error(lambda lib, x: lib.logcumsumexp(x, 0), np.arange(3))


@pytest.mark.parametrize("values", [[1.0, np.inf, 2.0, 3.0], [np.inf, -np.inf, 1.0], [-np.inf, 1.0, -np.inf, 2.0]])
def test_gradients_of_logcumsumexp_at_infinity(values: list[float]) -> None:
    check_op(lambda lib, x: lib.logcumsumexp(x, 0), np.array(values), dtypes=["float64"])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_diff(n: int, dim: int) -> None:
    check_op(lambda lib, x: lib.diff(x, n, dim), MATRIX)
    check_op(lambda lib, x, a: lib.diff(x, n, dim, prepend=a, append=a), MATRIX, MATRIX)
    check_op(lambda lib, x: x.diff(n, dim), MATRIX > 0)


def test_trapezoid() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    check_op(lambda lib, y: [lib.trapezoid(y), lib.trapz(y, dx=0.5, dim=0), lib.cumulative_trapezoid(y)], MATRIX)
    check_op(lambda lib, y, x: [lib.trapezoid(y, x), lib.cumulative_trapezoid(y, x)], MATRIX, x)
    check_op(lambda lib, y, x: lib.trapezoid(y, x, dim=0), MATRIX, x[:3])
    check_op(lambda lib, y, x: lib.trapezoid(y, x), MATRIX, MATRIX.cumsum(1))
    check_op(lambda lib, y: lib.trapezoid(y), np.zeros((2, 0)))
    check_error(lambda lib, y, x: lib.trapezoid(y, x), MATRIX, x[:3])


def test_errors() -> None:
    check_error(lambda lib, x: x.cumsum(2), MATRIX, same_class=True)
    check_error(lambda lib, x: lib.diff(x), np.float64(1.0))


@pytest.mark.parametrize("shape", [(70001,), (3, 30001), (30001, 3)])
def test_large(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).integers(-3, 4, shape).astype("float64")
    for dim in range(len(shape)):
        check_op(lambda lib, x, dim=dim: [x.cumsum(dim), *x.cummax(dim)], x, grad=False)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "logcumsumexp"])
def test_on_wgpu(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, 1), MATRIX, devices=["wgpu"], rtol=1e-4)
