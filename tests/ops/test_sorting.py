"""Sorting, order statistics, distinct values, searching and counting agree with torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyburn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op
from strategies import DTYPES, arrays, dims, shapes

NAN, INF = math.nan, math.inf
RNG = np.random.default_rng(0)
DISTINCT = RNG.permutation(24).reshape(2, 3, 4).astype("float64")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sort(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    x = Case(data.draw(arrays(shapes(max_rank=4), dtype, special=True)), dtype)
    dim, descending = data.draw(dims(len(x.shape))), data.draw(st.booleans())
    check_op(lambda lib, x: lib.sort(x, dim=dim, descending=descending, stable=True), x)
    check_op(lambda lib, x: lib.argsort(x, dim=dim, descending=descending, stable=True), x)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(dtype: str, largest: bool) -> None:
    x = Case(DISTINCT, dtype)
    for k, dim in [(0, 0), (1, 1), (2, -1), (4, 2), (3, -2)]:
        check_op(lambda lib, x, k=k, dim=dim: lib.topk(x, k, dim, largest), x)
    check_error(lambda lib, x: x.topk(5), x, same_class=True)


def test_topk_and_sort_of_nan() -> None:
    x = np.array([1.0, NAN, INF, -INF, 0.0])
    check_op(lambda lib, x: [x.topk(3).values, x.topk(2, largest=False).values], x, grad=False)
    check_op(lambda lib, x: [*x.sort(), *x.sort(descending=True), lib.msort(x)], x, grad=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [16, 17, 300])
@pytest.mark.parametrize("kinds", [3, 40])
def test_equal_elements_stand_as_torch_leaves_them(dtype: str, size: int, kinds: int) -> None:
    x = RNG.integers(0, kinds, (size,)).astype("float64")
    if dtype.startswith(("float", "bfloat")) and kinds == 3:
        x[RNG.random(size) < 0.2] = NAN
    case = Case(x, dtype)
    check_op(lambda lib, x: [x.sort(), x.argsort(descending=True)], case, grad=False)
    if dtype != "bool":
        for k in (1, 3, size // 2, size):
            check_op(lambda lib, x, k=k: [x.topk(k), x.topk(k, largest=False), x.kthvalue(k)], case, grad=False)
            check_op(lambda lib, x, k=k: x.topk(k, sorted=False), case, grad=False)


def test_equal_elements_of_lines_and_long_vectors() -> None:
    x = RNG.integers(0, 4, (40, 30))
    check_op(lambda lib, x: [x.sort(0), x.sort(1), x.t().topk(7), x.kthvalue(9, 0), x.mode(0), x.mode(1)], x)
    for size in (32767, 32768):
        long = RNG.integers(0, 9, (size,))
        check_op(lambda lib, x: [x.sort(), x.argsort(descending=True), x.float().argsort()], long)


def test_a_sort_that_cuts_badly_turns_to_a_heap() -> None:
    # Each cut of the median of three takes off two elements only.
    half = 2000
    killer = [0] * (2 * half)
    for index in range(half):
        killer[index] = index if index % 2 else half + index
        killer[half + index] = 2 * index + 1
    check_op(lambda lib, x: [(x // 50).sort(), x.sort(), (x // 50).topk(half)], np.array(killer))


@pytest.mark.parametrize("name", ["sort", "topk"])
def test_second_derivatives(name: str) -> None:
    arguments = (2,) if name == "topk" else (1,)
    check_op(lambda lib, x: getattr(lib, name)(x * x, *arguments)[0], DISTINCT, gradgrad=True)


def test_scalars() -> None:
    x = Case(np.float64(3.0))
    check_op(lambda lib, x: [*x.sort(), *x.topk(1), *x.kthvalue(1), *x.median(0), *x.mode(), x.argsort()], x)
    check_op(lambda lib, x: [*lib.unique(x, return_inverse=True, return_counts=True)], x, grad=False)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [True, False])
def test_order_statistics(dim: int, keepdim: bool) -> None:
    check_op(lambda lib, x: lib.kthvalue(x, 2, dim, keepdim), DISTINCT)
    check_op(lambda lib, x: lib.median(x, dim, keepdim), DISTINCT)
    check_op(lambda lib, x: lib.nanmedian(x, dim, keepdim), DISTINCT)
    check_op(lambda lib, x: lib.mode(x, dim, keepdim), RNG.integers(0, 3, (4, 5, 6)))


def test_median_of_all_and_of_nan() -> None:
    x = np.array([[3.0, NAN, 1.0], [5.0, 2.0, 4.0]])
    check_op(lambda lib, x: [x.median(), x.nanmedian(), *x.median(1), *x.nanmedian(1)], x, grad=False)
    check_op(lambda lib, x: [x.median(), x.nanmedian()], DISTINCT)
    check_op(lambda lib, x: [x.median()], np.zeros((0,)), grad=False)
    check_error(lambda lib, x: x.kthvalue(0), DISTINCT, same_class=True)
    check_error(lambda lib, x: x.kthvalue(5), DISTINCT, same_class=True)
    check_error(lambda lib, x: x.median(0), np.zeros((0, 2)), same_class=True)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("keepdim", [True, False])
def test_quantile(interpolation: str, keepdim: bool) -> None:
    options = {"interpolation": interpolation, "keepdim": keepdim}
    for q in (0.0, 0.3, 0.5, 1.0):
        check_op(lambda lib, x, q=q: [lib.quantile(x, q, **options), x.nanquantile(q, 1, **options)], DISTINCT)
    points = Case([0.1, 0.6, 0.9], "float64", requires_grad=False)
    for dim in (None, 0, 1, -1):
        check_op(lambda lib, x, q, dim=dim: lib.quantile(x, q, dim, **options), DISTINCT, points)
        x = np.where(DISTINCT > 20, NAN, DISTINCT)
        check_op(lambda lib, x, q, dim=dim: lib.quantile(x, q, dim, **options), x, points, grad=False)
        check_op(lambda lib, x, q, dim=dim: lib.nanquantile(x, q, dim, **options), x, points, grad=False)


def test_quantile_errors() -> None:
    check_error(lambda lib, x: x.quantile(1.5), DISTINCT, same_class=True)
    check_error(lambda lib, x: x.quantile(0.5), np.arange(3), same_class=True)
    check_error(lambda lib, x: x.quantile(0.5, interpolation="cubic"), DISTINCT, same_class=True)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_unique(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([dtype for dtype in DTYPES if "float16" not in dtype and "bfloat" not in dtype]))
    array = RNG.integers(0, 3, data.draw(shapes(max_rank=3, min_size=1))).astype(dtype)
    dim = data.draw(st.none() | dims(array.ndim)) if array.ndim else None
    both = {"return_inverse": True, "return_counts": True, "dim": dim}
    x = Case(array, requires_grad=False)
    check_op(lambda lib, x: lib.unique(x, **both), x)
    check_op(lambda lib, x: lib.unique_consecutive(x, **both), x)
    check_op(lambda lib, x: [x.unique(), x.unique(return_counts=True), x.unique_consecutive()], x)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_searchsorted(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float32", "float64", "int64", "int32", "uint8"]))
    rows, length, width = data.draw(st.tuples(st.integers(1, 3), st.integers(0, 5), st.integers(0, 4)))
    sequence = np.sort(RNG.integers(0, 5, (rows, length)), -1).astype(dtype)
    values = RNG.integers(0, 6, (rows, width)).astype(dtype)
    options: dict[str, Any] = {"right": data.draw(st.booleans()), "out_int32": data.draw(st.booleans())}
    check_op(lambda lib, s, v: lib.searchsorted(s, v, **options), sequence, values, grad=False)
    check_op(lambda lib, s, v: lib.searchsorted(s, v, **options), sequence[0], values, grad=False)
    check_op(lambda lib, s, v: lib.bucketize(v, s, **options), sequence[0], values, grad=False)


def test_searchsorted_options() -> None:
    sequence, values = np.array([3.0, 1.0, 2.0]), np.array([2.0, 5.0, NAN])

    def sorted_by(lib: Any, s: Any, v: Any) -> Any:
        return lib.searchsorted(s, v, sorter=lib.argsort(s), side="right")

    check_op(sorted_by, sequence, values, grad=False)
    check_op(lambda lib, s: [lib.searchsorted(s, 2.5), lib.bucketize(2.5, s)], np.array([1.0, 2.0, 3.0]), grad=False)
    check_error(lambda lib, s, v: lib.searchsorted(s, v, right=True, side="left"), sequence, values, same_class=True)
    check_error(lambda lib, s, v: lib.searchsorted(s, v, side="up"), sequence, values, same_class=True)
    check_error(lambda lib, s, v: lib.searchsorted(s, v), np.zeros((2, 3)), np.zeros((3, 3)), same_class=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histc_and_histogram(dtype: str) -> None:
    x = Case(RNG.standard_normal((5, 7)), dtype, requires_grad=False)
    check_op(lambda lib, x: [lib.histc(x), x.histc(5), lib.histc(x, 4, -1, 1)], x)
    check_op(lambda lib, x: lib.histogram(x, 5), x)
    check_op(lambda lib, x: lib.histogram(x, 4, range=(-1.0, 1.0), density=True), x, rtol=1e-5)
    edges = Case([-2.0, -0.5, 0.0, 3.0], dtype, requires_grad=False)
    check_op(lambda lib, x, e: x.histogram(e, weight=x * x), x, edges, rtol=1e-5)
    check_op(lambda lib, x: lib.histc(x, 3), Case([2.0, 2.0], dtype, requires_grad=False))
    # At the edges each step's rounding counts.
    edges = Case([-1e-9, 1e-9, *np.linspace(-2, 2, 41)], dtype, requires_grad=False)
    check_op(lambda lib, x: [lib.histc(x, 4, -2, 2), lib.histc(x, 10, -2, 2), lib.histc(x, 40, -2, 2)], edges)
    check_error(lambda lib, x: lib.histc(x, 0), x)
    check_error(lambda lib, x: lib.histc(x, 3), np.array([NAN, 1.0]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_histc_of_many_values(dtype: str) -> None:
    # Powers of two: every library puts the numbers on the same side of an edge.
    numbers = RNG.integers(-40, 41, (3, 70001)) / 4
    x = Case(numbers, dtype, requires_grad=False)
    if dtype != "float16":
        check_op(lambda lib, x: [lib.histc(x, 64, -8, 8), lib.histc(x, 16, -4, 4), lib.histc(x.T, 5120, -32, 32)], x)
    counts = pyburn.tensor(numbers.tolist(), dtype=getattr(pyburn, dtype)).histc(16, -4, 4)
    assert counts.tolist() == np.histogram(numbers, 16, (-4, 4))[0].astype(dtype).tolist()
    odd = np.array([NAN, INF, -INF, 0.5, 1.0, -0.0, 1e-30] * 3)
    check_op(lambda lib, x: lib.histc(x, 7, 0, 1), Case(odd, dtype, requires_grad=False))


def test_isin_of_many_values() -> None:
    x, wanted = RNG.integers(0, 500, 70001), RNG.integers(0, 500, 90)
    check_op(lambda lib, x, w: [lib.isin(x, w), lib.isin(x, w, invert=True)], x, wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_bincount(dtype: str) -> None:
    x = np.array([3, 1, 1, 0, 5]).astype(dtype)
    check_op(lambda lib, x: [lib.bincount(x), x.bincount(minlength=9)], x)
    check_op(lambda lib, x, w: lib.bincount(x, w), x, Case([0.5, 1, 2, 3, 4], "float32", False))
    check_op(lambda lib, x, w: lib.bincount(x, w), x, np.arange(5))
    check_op(lambda lib, x: lib.bincount(x, minlength=2), np.zeros(0, dtype))


def test_bincount_errors() -> None:
    check_error(lambda lib, x: lib.bincount(x), np.array([-1, 2]), same_class=True)
    check_error(lambda lib, x: lib.bincount(x), np.zeros((2, 2), "int64"), same_class=True)
    check_error(lambda lib, x: lib.bincount(x), np.zeros(2))
    check_error(lambda lib, x: lib.bincount(x, minlength=-1), np.arange(2), same_class=True)


@pytest.mark.parametrize("invert", [True, False])
def test_isin(invert: bool) -> None:
    options = {"invert": invert}
    check_op(lambda lib, x, y: lib.isin(x, y, **options), RNG.integers(0, 9, (3, 4)), np.array([1, 5, 7]))
    check_op(lambda lib, x, y: lib.isin(x, y, **options), np.array([1.0, 0.5, 2.0]), np.array([1, 2]), grad=False)
    check_op(lambda lib, x: [lib.isin(x, 2, **options), lib.isin(3, x, **options)], np.array([1, 2]))


@pytest.mark.parametrize("shape", [(70001,), (3, 40001), (40001, 3)])
def test_large(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).integers(0, 1000, shape).astype("float32")
    for dim in range(len(shape)):
        check_op(lambda lib, x, dim=dim: [*lib.sort(x, dim=dim, stable=True), x.topk(3, dim).values], x, grad=False)
    check_op(lambda lib, x: lib.unique(x, return_inverse=True, return_counts=True), x, grad=False)


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "unique"])
def test_on_wgpu(name: str) -> None:
    arguments = (2,) if name in ("topk", "kthvalue") else () if name == "unique" else (1,)
    x = Case(DISTINCT, "float32", requires_grad=name != "unique")
    check_op(lambda lib, x: getattr(lib, name)(x, *arguments), x, devices=["wgpu"])
