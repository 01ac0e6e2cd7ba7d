"""Activations against torch.nn.functional."""

import numpy as np
import pyburn
import pytest
import torch
from pyburn.ops import activation

from oracle import Case, check_error, check_op, from_torch, to_torch

X = np.array([[-6.5, -3.0, -1.0, -0.25], [0.1, 0.75, 2.9, 25.0]])
CASES = {
    "relu": {},
    "relu6": {},
    "leaky_relu": {"negative_slope": 0.2},
    "elu": {"alpha": 1.5},
    "selu": {},
    "celu": {"alpha": 0.7},
    "silu": {},
    "mish": {},
    "hardsigmoid": {},
    "hardswish": {},
    "hardtanh": {"min_val": -0.5, "max_val": 2.0},
    "threshold": {"threshold": 0.5, "value": 9.0},
    "gelu": {},
    "logsigmoid": {},
    "softplus": {"beta": 2.0, "threshold": 10.0},
    "softsign": {},
    "tanhshrink": {},
    "hardshrink": {"lambd": 0.5},
    "softshrink": {"lambd": 0.5},
    "rrelu": {"lower": 0.1, "upper": 0.5},
    "glu": {"dim": -1},
    "softmax": {"dim": -1},
    "softmin": {"dim": 0},
    "log_softmax": {"dim": 1},
    "sigmoid": {},
    "tanh": {},
}


def functional(lib):
    return torch.nn.functional if lib is torch else activation


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    def run(lib, x):
        return getattr(functional(lib), name)(x, **CASES[name])

    check_op(run, X, dtypes=["float32"], rtol=1e-5, atol=1e-5)
    # torch rounds the constants of some of them to float32.
    check_op(run, X, dtypes=["float64"], rtol=1e-7, atol=1e-7, gradgrad=name != "hardsigmoid")
    check_op(run, X.T.copy().T, dtypes=["float16", "bfloat16"], rtol=2e-2, atol=2e-2)
    if name not in ("glu",):
        check_op(run, np.zeros((2, 0)), dtypes=["float32"])


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "selu", "celu", "hardtanh", "silu", "mish", "relu6"])
def test_in_place(name):
    def run(lib, x):
        y = x * 1
        out = getattr(functional(lib), name)(y, inplace=True)
        return out, y

    check_op(run, X, rtol=1e-7)


def test_in_place_methods():
    check_op(lambda lib, x: (x * 1).relu_(), X)
    check_op(lambda lib, x: (x * 1).sigmoid_(), X)
    check_op(lambda lib, x: lib.relu_(x * 1), X)
    check_op(lambda lib, x: (x.relu(), x.sigmoid(), x.softmax(1), x.log_softmax(0), x.hardshrink()), X)


def test_gelu_tanh():
    check_op(lambda lib, x: functional(lib).gelu(x, approximate="tanh"), X, gradgrad=True)
    check_error(lambda lib, x: functional(lib).gelu(x, approximate="sin"), X, same_class=True)


@pytest.mark.parametrize("name", ["softplus", "silu", "mish", "logsigmoid", "elu", "gelu", "tanh", "sigmoid", "relu"])
def test_doubles_in_one_pass(name):
    values = np.random.default_rng(1).standard_normal((5, 3, 271)) * np.array([0.01, 1.0, 30.0])[:, None]

    def run(lib, x):
        f = getattr(functional(lib), name)
        return f(x), f(x[..., 1::2].transpose(0, 2))

    check_op(run, values, dtypes=["float64"], rtol=1e-13, atol=1e-14)


def test_special_values():
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 100.0, -100.0])
    for name, options in CASES.items():
        if name not in ("glu", "softmin", "log_softmax", "softmax"):
            check_op(lambda lib, x, n=name, o=options: getattr(functional(lib), n)(x, **o), values, grad=False)


def test_softmax_dims_and_dtypes():
    x = np.random.default_rng(0).standard_normal((2, 3, 4)) * 20
    for dim in (-3, -2, -1, 0, 1, 2):
        check_op(lambda lib, t, d=dim: (t.softmax(d), t.log_softmax(d)), x, dtypes=["float32", "float64"])
    check_op(lambda lib, t: lib.softmax(t, 0, dtype=lib.float64), Case([1.0, 2.0], "float32"))
    check_op(lambda lib, t: lib.softmax(t, 0, dtype=lib.float32), [1, 2], grad=False)
    check_op(lambda lib, t: (t.softmax(0), t.log_softmax(-1)), np.array(3.0))
    check_op(lambda lib, t: t.softmax(0), [float("-inf"), 1.0, 2.0])
    check_op(lambda lib, t: t.softmax(0), [float("nan"), 1.0], grad=False)
    check_op(lambda lib, t: t.transpose(0, 2).softmax(1), x)
    check_op(lambda lib, t: t.softmax(1), np.random.default_rng(0).standard_normal((300, 400)).astype("float32"))
    for length in (15, 16, 17, 300):
        row = np.random.default_rng(1).standard_normal((3, length)).astype("float32") * 30
        check_op(lambda lib, t: (t.softmax(1), t.log_softmax(1)), row)
        row[0, 3], row[1, 5], row[2, :] = np.nan, np.inf, -np.inf
        check_op(lambda lib, t: (t.softmax(1), t.log_softmax(1)), row, grad=False)
        row[0, 3], row[1, :5], row[2, 7] = -np.inf, -np.inf, -3e38
        check_op(lambda lib, t: (t.softmax(1), t.log_softmax(1)), row, grad=False)
    check_error(lambda lib, t: t.softmax(3), x, same_class=True)
    check_error(lambda lib, t: t.softmax(0), [1, 2])


def test_prelu():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    check_op(lambda lib, t, w: functional(lib).prelu(t, w), x, np.array([0.25]), gradgrad=True)
    check_op(lambda lib, t, w: functional(lib).prelu(t, w), x, np.array([0.25, 0.5, -0.1]), gradgrad=True)
    check_op(lambda lib, t, w: lib.prelu(t, w), x[0, 0], np.array([0.25]))
    check_error(lambda lib, t, w: functional(lib).prelu(t, w), x, np.array([0.25, 0.5]), same_class=True)
    check_error(lambda lib, t, w: functional(lib).prelu(t, w), x, [0.25], same_class=True)


def test_glu_refuses_odd_sizes():
    check_error(lambda lib, t: functional(lib).glu(t), np.zeros((2, 3)), same_class=True)


def test_implicit_softmax_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert activation.softmax(pyburn.zeros(2, 2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("name", ["softshrink", "hardshrink", "elu", "hardtanh", "hardswish", "relu6", "softmax"])
def test_gradients_at_nan_are_torchs_for_long_vectors(name):
    # Long, since torch answers otherwise for elements that do not fill one of its vectors.
    values = np.array([np.nan, 1.0, -1.0, 0.0, 0.25, 7.0, -7.0, np.inf] * 16, dtype=np.float32)
    kwargs = {"dim": 0} if name == "softmax" else {}
    check_op(lambda lib, x: getattr(lib.nn.functional, name)(x, **kwargs), values)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("size", [1, 7, 33])
def test_gelu_of_odd_sizes_and_places(approximate, size):
    values = np.linspace(-9.0, 9.0, size * 3).astype(np.float32).reshape(size, 3)
    for case in (Case(values), Case(values.T), Case(values[:, ::2])):
        check_op(lambda lib, x: lib.nn.functional.gelu(x, approximate=approximate), case, gradgrad=True)
        check_op(lambda lib, x: lib.nn.functional.silu(x), case, gradgrad=True)


def test_gelu_keeps_its_precision_on_the_negative_side():
    x = torch.linspace(-8.0, 8.0, 4001)
    wide = x.double() * torch.special.erfc(-x.double() / 2**0.5) / 2
    ours = to_torch(pyburn.nn.functional.gelu(from_torch(x))).double()
    assert ((ours - wide).abs() <= 1e-5 * wide.abs() + 1e-30).all()
    leaf = from_torch(x).requires_grad_()
    pyburn.nn.functional.gelu(leaf).sum().backward()
    true = x.double().requires_grad_()
    torch.nn.functional.gelu(true).sum().backward()
    torch.testing.assert_close(to_torch(leaf.grad).double(), true.grad, rtol=1e-5, atol=2e-7)


def test_gelu_at_the_ends():
    values = [float("nan"), float("inf"), 0.0, -0.0, 30.0, -30.0, 1e30, -1e30, 1e-30]
    found = pyburn.nn.functional.gelu(pyburn.tensor(values)).tolist()
    assert np.isnan(found[0]) and found[1] == np.inf and found[4] == 30.0 and found[6] == pytest.approx(1e30)
    assert [str(found[2]), str(found[3])] == ["0.0", "-0.0"] and abs(found[5]) < 1e-30 and found[7] in (0.0, -0.0)
    assert found[8] == pytest.approx(5e-31)
    silu = pyburn.nn.functional.silu(pyburn.tensor(values)).tolist()
    assert np.isnan(silu[0]) and silu[1] == np.inf and str(silu[3]) == "-0.0" and abs(silu[5]) < 1e-10


SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 6.0, -1.0, 7.0, 3.5]


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh"])
@pytest.mark.parametrize("view", ["whole", "transposed", "every other"])
def test_writing_in_place_is_torchs_also_through_views(name, view):
    def written(lib):
        x = lib.tensor(SPECIAL * 7).reshape(7, 9).clone()
        part = {"whole": x, "transposed": x.t(), "every other": x[:, ::2]}[view]
        same = getattr(lib.nn.functional, name)(part, inplace=True)
        assert same is part
        return x.numpy(), part._version

    (ours, version), (theirs, their_version) = written(pyburn), written(torch)
    assert version == their_version
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh"])
def test_writing_in_place_to_a_leaf_is_refused(name):
    for lib in (pyburn, torch):
        x = lib.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="leaf"):
            getattr(lib.nn.functional, name)(x, inplace=True)
