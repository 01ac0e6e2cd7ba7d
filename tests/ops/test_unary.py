"""Functions of one tensor, comparisons and logic against torch."""

import numpy as np
import pyburn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from oracle import Case, check_error, check_op

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]
ANYWHERE = np.array([-2.5, -1.5, -0.5, 0.25, 0.5, 1.75, 3.0])
INSIDE = np.array([-0.9, -0.5, -0.01, 0.0, 0.3, 0.75, 0.99])
POSITIVE = np.array([1.1, 1.5, 2.0, 3.7, 10.0, 25.0, 60.0])
DOMAIN = {
    **dict.fromkeys(["asin", "acos", "atanh", "erfinv"], INSIDE),
    **dict.fromkeys(["sqrt", "rsqrt", "log", "log2", "log10", "acosh", "lgamma", "digamma"], POSITIVE),
    "log1p": POSITIVE - 1.9,
}
SMOOTH = [
    *("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma"),
    *("digamma", "sinc", "sigmoid", "square"),
]
STEPS = ["abs", "neg", "sign", "sgn", "ceil", "floor", "round", "trunc", "frac"]
ALIASES = ["absolute", "negative", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "fix"]
TESTS = ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "logical_not", "isreal"]


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth(name):
    values = DOMAIN.get(name, ANYWHERE)
    check_op(lambda lib, x: getattr(lib, name)(x), values, dtypes=["float32"], rtol=4e-6, atol=1e-5)
    check_op(lambda lib, x: getattr(lib, name)(x), values, dtypes=["float64"], rtol=1e-9, atol=1e-9)
    check_op(lambda lib, x: getattr(lib, name)(x), values, dtypes=["float16", "bfloat16"], rtol=2e-2, atol=2e-2)
    check_op(lambda lib, x: getattr(x, name)(), values.reshape(7, 1)[::2], gradgrad=True, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, x: getattr(lib, name)(x), Case([1, 1], "int32"), grad=False)


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    check_op(lambda lib, x: getattr(lib, name)(x), ANYWHERE, dtypes=FLOATS)
    if name != "frac":
        for dtype in INTS:
            check_op(lambda lib, x: getattr(lib, name)(x), Case([0, 1, 5], dtype), grad=False)


@pytest.mark.parametrize("name", ALIASES)
def test_aliases(name):
    check_op(lambda lib, x: (getattr(lib, name)(x), getattr(x, name)()), INSIDE + (1.1 if "cosh" in name else 0.0))


@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
def test_in_place(name):
    values = DOMAIN.get(name, ANYWHERE)
    if name in ("reciprocal", "round"):
        values = POSITIVE

    def run(lib, x):
        y = x.clone()
        alias = y.view(-1)
        return getattr(y, f"{name}_")(), alias

    check_op(run, values, grad=False, rtol=1e-6, atol=1e-6)
    if name not in ("asinh", "acosh", "atanh"):
        check_op(lambda lib, x: getattr(x * 1, f"{name}_")(), values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(name, dtype):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])
    check_op(lambda lib, x: getattr(lib, name)(x), Case(values, dtype), grad=False)


@pytest.mark.parametrize("name", TESTS)
def test_tests(name):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])
    check_op(lambda lib, x: getattr(lib, name)(x), values, grad=False, dtypes=FLOATS)
    check_op(lambda lib, x: getattr(x, name)(), Case([0, 1, 2], "int64"), grad=False)


def test_round_to_decimals():
    for decimals in (-2, -1, 1, 2, 3):
        check_op(lambda lib, x, d=decimals: lib.round(x, decimals=d), [123.4567, -0.0555, 2.5])


def test_bool_refusals():
    for name in ("abs", "floor", "round", "neg"):
        check_error(lambda lib, x, n=name: getattr(lib, n)(x), [True, False])


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_any_layout(data):
    values = data.draw(strategies.arrays(special=True))
    check_op(lambda lib, x: (lib.exp(x), lib.tanh(x), lib.abs(x), -x), values, grad=False)


@pytest.mark.parametrize("length", [1, 33, 70_000])
def test_long_rows(length):
    values = np.random.default_rng(0).standard_normal(length).astype("float32") * 3
    for name in ("exp", "tanh", "sigmoid", "erf", "sin", "cos", "log1p"):
        check_op(lambda lib, x, n=name: getattr(lib, n)(x), np.abs(values), grad=False, rtol=2e-6, atol=1e-6)


def test_polygamma():
    for order in (0, 1, 2, 3):
        check_op(lambda lib, x, n=order: lib.polygamma(n, x), [0.5, 1.0, 2.5, 11.0], rtol=1e-5)


def test_frexp_and_nan_to_num():
    check_op(lambda lib, x: tuple(lib.frexp(x)), [1.0, 6.0, -0.3, 0.0])
    values = [float("nan"), float("inf"), float("-inf"), 1.0]
    check_op(lambda lib, x: lib.nan_to_num(x), values)
    check_op(lambda lib, x: lib.nan_to_num(x, 1.0, 2.0, 3.0), values)
    check_op(lambda lib, x: lib.logit(x), [0.1, 0.5, 0.9])
    check_op(lambda lib, x: lib.logit(x, eps=0.2), [0.0, 0.5, 0.9])
    check_op(lambda lib, x: (lib.deg2rad(x), lib.rad2deg(x)), ANYWHERE)


def test_where():
    mask = np.array([[True, False, True]])
    a, b = np.array([[1.0], [2.0]]), np.array([3.0, 4.0, 5.0])
    check_op(lambda lib, m, x, y: lib.where(m, x, y), mask, a, b)
    check_op(lambda lib, m, x: lib.where(m, x, 0.5), mask, a)
    check_op(lambda lib, m, x: lib.where(m, 1, x), mask, a)
    check_op(lambda lib, m: lib.where(m, 1, 2.5), mask, grad=False)
    check_op(lambda lib, m, x, y: x.where(m, y), mask, a, b)
    check_error(lambda lib, x: lib.where(x, x, x), a)
    for dtype in ("bool", "uint8", "int16", "float16", "int64"):
        check_op(lambda lib, m, x: lib.where(m, x, x), mask, Case([1, 0, 1], dtype), grad=False)


def test_close():
    a = np.array([1.0, np.nan, np.inf, -np.inf, 0.0])
    b = np.array([1.0 + 1e-6, np.nan, np.inf, np.inf, 1e-9])
    check_op(lambda lib, x, y: lib.isclose(x, y), a, b, grad=False)
    check_op(lambda lib, x, y: lib.isclose(x, y, equal_nan=True), a, b, grad=False)
    check_op(lambda lib, x, y: lib.isclose(x, y, rtol=0.5), [1, 2, 3], [1, 3, 9], grad=False)
    assert pyburn.equal(pyburn.ones(2), pyburn.ones(2)) and not pyburn.equal(pyburn.ones(2), pyburn.zeros(2))
    assert not pyburn.ones(2).equal(pyburn.ones(1, 2))
    check_error(lambda lib, x, y: lib.isclose(x, y), [1.0], [1])


def test_logic():
    a, b = [0, 1, 2, 0], [0, 0, 3, 4]
    for name in ("logical_and", "logical_or", "logical_xor"):
        check_op(lambda lib, x, y, n=name: getattr(lib, n)(x, y), a, b, grad=False)
        check_op(lambda lib, x, y, n=name: getattr(lib, n)(x, y), np.array(a, "float32"), b, grad=False)
    for name in ("gcd", "lcm"):
        check_op(lambda lib, x, y, n=name: getattr(lib, n)(x, y), [12, -18, 0, 7], [18, 12, 5, 0], grad=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
        for dtype in INTS:
            check_op(lambda lib, x, y, n=name: getattr(lib, n)(x, y), Case([1, 6, 90], dtype), Case([1, 3, 2], dtype))
    check_op(lambda lib, x: (~x, lib.bitwise_not(x)), [True, False], grad=False)
    check_op(lambda lib, x: ~x, Case([0, 5], "uint8"), grad=False)
    check_error(lambda lib, x: ~x, [1.0], same_class=True)
    check_error(lambda lib, x: x & x, [1.0])


def test_compare_aliases():
    for name in ("greater", "greater_equal", "less", "less_equal", "not_equal", "eq"):
        check_op(lambda lib, x, y, n=name: (getattr(lib, n)(x, y), getattr(x, n)(2)), [1, 2, 3], [3, 2, 1], grad=False)
    check_op(lambda lib, x: x.clone().eq_(1.0), [1.0, 2.0], grad=False)


def test_uint_types_that_torch_cannot_add():
    for name in ("uint16", "uint32", "uint64"):
        x = pyburn.tensor([1, 2], dtype=getattr(pyburn, name))
        assert (x + x).tolist() == [2, 4] and (x * 3).dtype == x.dtype and (x == x).tolist() == [True, True]
