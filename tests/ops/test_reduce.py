"""Reductions agree with torch in value, dtype and gradient, and are the same bits from run to run."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pyburn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op
from strategies import DTYPES, FLOATS, arrays, dim_lists, dims, shapes

NAN, INF = math.nan, math.inf
RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((3, 4))
CUBE = RNG.standard_normal((2, 3, 4)).astype("float32")
TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
SPECIAL = np.array([[NAN, 1.0, INF], [-INF, 2.0, 0.0]])


def drawn(data: st.DataObject, min_size: int = 0, dtypes: tuple[str, ...] = DTYPES, special: bool = True) -> Any:
    dtype = data.draw(st.sampled_from(dtypes))
    array = data.draw(arrays(shapes(max_rank=4, min_size=min_size), dtype, special=special))
    return Case(array, dtype)


@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "nanmean", "any", "all", "count_nonzero"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_over_dims(name: str, data: st.DataObject) -> None:
    dtypes = FLOATS if "mean" in name else DTYPES
    x = drawn(data, dtypes=dtypes)
    if name in ("any", "all", "nansum") and x.flat.dtype.itemsize == 2:
        x = Case(x.torch(), "float32")
    dim = data.draw(st.none() | dims(len(x.shape)) | dim_lists(len(x.shape)).filter(bool))
    keepdim = {} if name == "count_nonzero" else {"keepdim": data.draw(st.booleans())}
    check_op(lambda lib, x: getattr(lib, name)(x, dim, **keepdim), x, rtol=1e-2 if x.flat.dtype.itemsize == 2 else None)


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_extremes(name: str, data: st.DataObject) -> None:
    x = drawn(data, min_size=1, special=False)
    rank = len(x.shape)
    dim = data.draw(dims(rank) if name in ("max", "min") else dim_lists(rank) | dims(rank))
    keepdim = data.draw(st.booleans())
    check_op(lambda lib, x: getattr(lib, name)(x, dim, keepdim), x)
    check_op(lambda lib, x: getattr(x, name)(), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_positions(name: str, data: st.DataObject) -> None:
    x = drawn(data, min_size=1, dtypes=DTYPES[:-1])
    dim = data.draw(st.none() | dims(len(x.shape)))
    keepdim = data.draw(st.booleans())
    check_op(lambda lib, x: getattr(lib, name)(x, dim, keepdim), x)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_moments(name: str, data: st.DataObject) -> None:
    array = data.draw(arrays(shapes(max_rank=4, min_size=2), "float64"))
    dim = data.draw(st.none() | dim_lists(array.ndim).filter(bool) | dims(array.ndim))
    keepdim, correction = data.draw(st.booleans()), data.draw(st.sampled_from([0, 1, 0.5]))
    if array.ndim == 0:
        correction = 0
    check_op(
        lambda lib, x: getattr(lib, name)(x, dim, keepdim=keepdim, correction=correction),
        array,
        gradgrad=array.ndim > 0,
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["var", "std"])
def test_moments_of_every_float(name: str, dtype: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, 1), CUBE, dtypes=[dtype], rtol=2e-2 if "16" in dtype else 1e-5)


def test_unbiased_in_every_position() -> None:
    check_op(
        lambda lib, x: [x.var(), x.var(False), x.var(unbiased=False), x.var(0, False), x.std(1, True, True)], MATRIX
    )
    check_op(lambda lib, x: [lib.std(x, (0, 1), correction=2), lib.var(x, unbiased=True)], MATRIX)
    check_op(lambda lib, x: x.std(1), np.ones((2, 3)), gradgrad=False)
    with pytest.raises(TypeError):
        pyburn.zeros(3).var(0, True, correction=1)


def test_variance_keeps_its_digits_far_from_zero() -> None:
    check_op(lambda lib, x: x.var(), 1e8 + np.arange(1000.0), rtol=1e-9)
    check_op(lambda lib, x: x.var(0), np.stack([1e8 + np.arange(1000.0), np.arange(1000.0)], 1), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "var", "std", "logsumexp", "amax", "max", "min", "cumsum", "cumprod"]
)
def test_second_derivatives(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x * x, 1), MATRIX, gradgrad=True, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_prod(data: st.DataObject) -> None:
    x = drawn(data, dtypes=("float32", "float64", "int64", "uint8", "bool"), special=False)
    dim = data.draw(st.none() | dims(len(x.shape)))
    args = () if dim is None else (dim, data.draw(st.booleans()))
    check_op(lambda lib, x: lib.prod(x, *args), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [2.0, -1.0, 3.0]])
def test_prod_with_zeros(row: list[float]) -> None:
    check_op(lambda lib, x: x.prod(), np.array(row), gradgrad=True)
    check_op(lambda lib, x: x.prod(1, keepdim=True), np.array([row, row[::-1]]), gradgrad=True)
    check_op(lambda lib, x: x.cumprod(0), np.array(row), gradgrad=False)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", ["float32", "int32", "int64", "uint8", "float64"])
def test_dtype_argument(name: str, dtype: str, to: str) -> None:
    x = Case(np.array([[1, 2, 3], [4, 5, 6]]), dtype)
    check_op(lambda lib, x: getattr(lib, name)(x, 1, dtype=getattr(lib, to)), x, grad="float" in to)


def test_ties_share_the_gradient() -> None:
    for call in ("amax", "amin"):
        check_op(lambda lib, x, call=call: getattr(x, call)((0, 1)), TIES)
        check_op(lambda lib, x, call=call: getattr(x, call)(1), TIES)
    check_op(lambda lib, x: [x.max(), x.min(), x.median()], TIES)
    check_op(lambda lib, x: lib.aminmax(x, dim=1), MATRIX)
    check_op(lambda lib, x: lib.aminmax(x), MATRIX)


def test_max_of_two_tensors() -> None:
    check_op(lambda lib, x, y: lib.max(x, y), MATRIX, MATRIX[::-1].copy())
    check_op(lambda lib, x, y: [x.min(y), x.max(other=y)], MATRIX, MATRIX[:1].copy())


@pytest.mark.parametrize("name", ["sum", "max", "min", "amax", "amin", "argmax", "argmin", "mean", "any", "all"])
def test_nan_and_infinity(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, 1), SPECIAL, grad=False)
    check_op(lambda lib, x: getattr(lib, name)(x, 0), SPECIAL, grad=False)
    check_op(lambda lib, x: getattr(lib, name)(x), SPECIAL, grad=False)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_empty(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, "float32")
    check_op(lambda lib, x: [x.sum(), x.sum(0), x.prod(), x.mean(-1), x.any(0), x.all(), x.count_nonzero()], x)
    check_error(lambda lib, x: x.max(), x, same_class=True, match="numel() == 0")
    check_error(lambda lib, x: x.amax(x.shape.index(0)), x, same_class=True)
    check_error(lambda lib, x: x.max(x.shape.index(0)), x, same_class=True, match="non-zero size")
    check_error(lambda lib, x: x.argmax(), x)
    if len(shape) > 1:
        full = next(dim for dim, size in enumerate(shape) if size)
        check_op(lambda lib, x: [*x.max(full), x.amin(full), x.argmin(full)], x)


def test_errors() -> None:
    check_error(lambda lib, x: x.sum(2), MATRIX, same_class=True, match="Dimension out of range")
    check_error(lambda lib, x: x.sum((0, 0)), MATRIX, same_class=True)
    check_error(lambda lib, x: x.mean(), np.arange(3), match="dtype")
    check_error(lambda lib, x: x.var(), np.arange(3), match="floating point")
    check_error(lambda lib, x: x.argmax(), np.array([True, False]), match="Bool")


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, 2.5, INF, -INF, "fro"])
def test_norm(p: float | str) -> None:
    x = RNG.standard_normal((3, 4, 2))
    twice = p in (1, 2, 3, 2.5, "fro")
    check_op(lambda lib, x: x.norm(p), x, gradgrad=twice, rtol=1e-6)
    check_op(lambda lib, x: lib.norm(x, p, 1), x, gradgrad=twice, rtol=1e-6)
    check_op(lambda lib, x: lib.norm(x, p, (0, 2), keepdim=True), x, rtol=1e-6)
    check_op(lambda lib, x: lib.norm(x, p, dtype=lib.float64), x.astype("float32"), rtol=1e-5)


def test_norm_and_distance_at_zero() -> None:
    check_op(lambda lib, x: [x.norm(), x.norm(1), x.norm(INF)], np.zeros(3))
    check_op(lambda lib, x, y: [lib.dist(x, y), lib.dist(x, y, 1), x.dist(y, INF)], MATRIX, MATRIX + 1)
    check_error(lambda lib, x: x.norm(), np.arange(3))


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_logsumexp(data: st.DataObject) -> None:
    array = data.draw(arrays(shapes(min_rank=1, max_rank=4, min_size=1), "float64"))
    dim = data.draw(dim_lists(array.ndim).filter(bool) | dims(array.ndim))
    keepdim = data.draw(st.booleans())
    check_op(lambda lib, x: lib.logsumexp(x, dim, keepdim), array, gradgrad=True, rtol=1e-6)


def test_logsumexp_far_out() -> None:
    check_op(lambda lib, x: x.logsumexp(1), np.array([[1000.0, 1000.0], [-1000.0, -INF], [INF, 1.0]]), grad=False)
    check_op(lambda lib, x: x.logsumexp(0), np.array([-INF, -INF]), grad=False)
    check_op(lambda lib, x: x.logsumexp(0), np.arange(3), grad=False)


@pytest.mark.parametrize("shape", [(1000003,), (517, 1031), (1000, 97), (3, 70001), (70001, 3), (33, 65, 129)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_large_sums_are_exact_enough_and_repeatable(shape: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    x = Case(values).ours("cpu")
    for dim in [None, *range(len(shape))]:
        expected = values.astype("float64").sum(dim)
        first = x.sum(dim)
        scale = np.abs(values.astype("float64")).sum(dim)
        bound = scale * {"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
        assert (np.abs(np.array(first.tolist()) - expected) <= bound).all()
        assert x.sum(dim)._bytes() == first._bytes()


SUMS = """
import sys

import pyburn

pyburn.set_num_threads(int(sys.argv[1]))
x = (pyburn.arange(600000, dtype=pyburn.float32) * 0.37).sin().reshape(200, 3000)
results = [x.sum(), x.sum(0), x.sum(1), x.t().sum(0), x.mean(), x.var(1), x.prod(0), x.half().sum(0)]
y = x.reshape(1500, 400)
results += [y.sum(0), y.mean(0), y.amax(0), y.t().sum(1)]
print([result._bytes().hex() for result in results])
"""


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    run = [sys.executable, "-c", SUMS]
    texts = [subprocess.run([*run, str(n)], check=True, capture_output=True, text=True).stdout for n in (1, 2, 5)]
    assert len(texts[0]) > 1000 and texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize(("rows", "width"), [(0, 40), (1, 16), (128, 16), (129, 17), (700, 1025), (1000, 100)])
def test_columns_of_any_number_of_rows(rows: int, width: int) -> None:
    values = np.random.default_rng(3).integers(-50, 50, (rows, width)).astype("float32")
    if rows > 100:
        values[100, 3], values[77, 5], values[99, -1] = NAN, INF, -INF
    check_op(lambda lib, x: [x.sum(0), x[:, 1:].sum(0)], values, grad=False)
    if rows:
        check_op(lambda lib, x: [x.mean(0), x.amax(0), x[:, 1:].amin(0)], values, grad=False)


@pytest.mark.parametrize("shape", [(200003,), (401, 503), (3, 70001), (70001, 3), (17, 65, 129)])
def test_large_extremes(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(2).integers(-1000, 1000, shape).astype("float32")
    check_op(lambda lib, x: [x.max(), x.min(), x.argmax(), x.argmin(), x.count_nonzero()], values, grad=False)
    for dim in range(len(shape)):
        check_op(lambda lib, x, dim=dim: [x.argmax(dim), x.argmin(dim), x.amax(dim), x.any(dim)], values, grad=False)
        check_op(lambda lib, x, dim=dim: x.transpose(0, -1).argmax(dim), values, grad=False)


def test_out() -> None:
    def into(lib: Any, x: Any) -> Any:
        out, values, indices = lib.empty(3), lib.empty(3), lib.empty(3, dtype=lib.int64)
        given = lib.sum(x, 1, out=out)
        lib.max(x, 1, out=(values, indices))
        return [given is out, out, values, indices]

    check_op(into, MATRIX.astype("float32"), grad=False)


def test_named_results_look_as_in_torch() -> None:
    import torch

    ours, theirs = pyburn.tensor([[1.0, 2.0]]).max(1), torch.tensor([[1.0, 2.0]]).max(1)
    assert repr(ours) == repr(theirs).replace("torch", "pyburn")
    values, indices = ours
    assert values is ours.values and indices is ours[1] and type(ours).__name__ == "max"
    with pytest.raises(TypeError, match="2-sequence"):
        pyburn.return_types.max((values,))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "max", "var", "std", "argmax", "logsumexp"])
def test_on_wgpu(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, 1), CUBE, devices=["wgpu"], rtol=1e-4)


def test_other_kinds_on_wgpu() -> None:
    integers = np.array([[3, -1, 0], [2, 0, 5]])
    check_op(lambda lib, x: [x.sum(), x.prod(1), x.amin(0), x.count_nonzero(1), *x.max(0)], integers, devices=["wgpu"])
    check_op(lambda lib, x: [x.any(1), x.all(), x.sum(0), x.amax(1)], integers > 0, devices=["wgpu"])


STREAMS = """
import pyburn

pyburn.set_num_threads(3)
x = pyburn.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]])
for _ in range(20):
    y = x.to("wgpu")
    shown = [y.logsumexp(1), y.prod(0), (y - y.amax(1, True)).exp().sum(1)]
    wanted = [x.logsumexp(1), x.prod(0), (x - x.amax(1, True)).exp().sum(1)]
    for one, other in zip(shown, wanted):
        assert (one.cpu() - other).abs().max().item() < 1e-4, (one, other)
"""


def test_wgpu_after_the_number_of_threads_was_set() -> None:
    done = subprocess.run([sys.executable, "-c", STREAMS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
def test_gradients_of_extremes_at_nan(name):
    values = [[1.0, float("nan"), float("nan")], [2.0, 2.0, 1.0]]
    check_op(lambda lib, x: getattr(lib, name)(x), values)
    if name.startswith("a"):
        check_op(lambda lib, x: getattr(lib, name)(x, 1), values)
