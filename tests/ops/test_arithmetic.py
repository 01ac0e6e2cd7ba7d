"""Arithmetic against torch: values, promotion, gradients, in-place writes and refusals."""

import operator
import warnings
from itertools import product

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from oracle import Case, check_error, check_op, from_torch, to_torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
FUNCTIONS = ["maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "logaddexp", "logaddexp2", "fmod"]
X = np.array([[1.5, -2.25, 3.0], [0.5, 7.0, -1.0]])
Y = np.array([[2.0, 1.5, -0.75], [0.5, -3.0, 2.5]])


def both(fn, *cases):
    """What each library makes of it: a torch tensor, or None where it refuses."""
    out = []
    for lib, make in ((torch, lambda case: case.torch()), (pyburn, lambda case: case.ours("cpu"))):
        try:
            result = fn(lib, *[make(case) if isinstance(case, Case) else case for case in cases])
        except Exception as error:
            # A panic of burn is never an answer.
            if "engine failed" in str(error):
                raise
            result = None
        out.append(result if lib is torch or result is None else to_torch(result))
    return out


def assert_same(expected, found, note=""):
    assert (expected is None) == (found is None), f"{note}: torch {expected}, pyburn {found}"
    if expected is not None:
        assert found.dtype == expected.dtype, f"{note}: {found.dtype}, torch {expected.dtype}"
        torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("op", [*OPERATORS, *BITS, *COMPARISONS], ids=lambda op: op.__name__)
def test_every_pair_of_dtypes(op):
    for left, right in product(DTYPES, DTYPES):
        a, b = Case([1, 2, 3], left), Case([3, 2, 1], right)
        assert_same(*both(lambda _, x, y: op(x, y), a, b), f"{left}, {right}")


@pytest.mark.parametrize("op", [*OPERATORS, *COMPARISONS], ids=lambda op: op.__name__)
@pytest.mark.parametrize("number", [2, 2.5, True, -3])
def test_numbers_on_either_side(op, number):
    for dtype in DTYPES:
        a = Case([1, 2, 3], dtype)
        assert_same(*both(lambda _, x: op(x, number), a), dtype)
        assert_same(*both(lambda _, x: op(number, x), a), dtype)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_rank_zero_does_not_widen(op):
    for left, right in [("float32", "float64"), ("int32", "int64"), ("int32", "float64"), ("float16", "float32")]:
        assert_same(*both(lambda _, x, y: op(x, y), Case([1, 2], left), Case(3, right)))
        assert_same(*both(lambda _, x, y: op(x, y), Case(3, left), Case([1, 2], right)))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operator_gradients(op):
    if op is operator.floordiv:
        # torch has no derivative for it.
        check_op(lambda _, x, y: op(x, y), X, Y, grad=False)
        return
    check_op(lambda _, x, y: op(x, y), np.abs(X) + 0.1, np.abs(Y) + 0.1, dtypes=["float32", "float64"])
    check_op(lambda _, x, y: op(x, y), np.abs(X), np.abs(Y[0]), gradgrad=True)
    check_op(lambda _, x: op(x, 2.5), np.abs(X), gradgrad=True)
    check_op(lambda _, x: op(2.5, x), np.abs(X), grad=op is not operator.mod, gradgrad=op is not operator.mod)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_gradients(name):
    check_op(lambda lib, x, y: getattr(lib, name)(x, y), X, Y, dtypes=FLOATS, rtol=2e-2, atol=2e-2)
    check_op(lambda lib, x, y: getattr(lib, name)(x, y), X, Y[1:], gradgrad=name not in ("copysign",))


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "fmod", "remainder"])
def test_special_values(name):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    a, b = np.repeat(values, 6), np.tile(values, 6)
    check_op(lambda lib, x, y: getattr(lib, name)(x, y), a, b, grad=False, dtypes=FLOATS)


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_division_signs(name, dtype):
    a = list(range(15)) if dtype == "uint8" else list(range(-7, 8))
    divisors = (3, -3, 2, -2) if dtype != "uint8" else (3, 2)
    for divisor in divisors:
        check_op(lambda lib, x, d=divisor: getattr(lib, name)(x, d), Case(a, dtype), grad=False)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_rounding_modes(mode):
    check_op(lambda lib, x, y: lib.div(x, y, rounding_mode=mode), X, Y)
    check_op(lambda lib, x, y: lib.div(x, y, rounding_mode=mode), [7, -7, 5], [2, 2, -3])


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod], ids=["//", "%"])
def test_integer_division_by_zero(op, dtype):
    check_error(lambda _, x: op(x, 0), Case([1, 2], dtype), same_class=True, match="ZeroDivisionError")
    check_error(lambda _, x, y: op(x, y), Case([1, 2], dtype), Case([1, 0], dtype), match="ZeroDivisionError")


def test_integer_powers():
    check_op(lambda _, x, y: x**y, [2, -1, 1, 0, -3], [-1, -3, -2, 0, 3], grad=False)
    check_error(lambda _, x: x**-1, [1, 2], same_class=True)
    check_op(lambda _, x: x**70, [3, 5], grad=False)


def test_power_gradient_at_zero():
    check_op(lambda _, x: x**0, [0.0, 1.0])
    check_op(lambda _, x, y: x**y, [0.0, 0.0, 2.0], [0.0, 2.0, 3.0])
    for exponent in (0.5, 2, -1, -0.5, 3, 1.7):
        check_op(lambda _, x, e=exponent: x**e, [0.5, 1.0, 4.0], gradgrad=True)


def test_alpha():
    check_op(lambda lib, x, y: lib.add(x, y, alpha=2.5), X, Y)
    check_op(lambda lib, x, y: lib.sub(x, y, alpha=3), X, Y)
    check_op(lambda lib, x: lib.rsub(x, 5, alpha=2), X)
    check_op(lambda lib, x, y: lib.add(x, y, alpha=2), [1, 2], [3, 4])
    check_error(lambda lib, x, y: lib.add(x, y, alpha=2.5), [1, 2], [3, 4], same_class=True)


def test_bool_refusals():
    mask = [True, False]
    check_error(lambda _, x: x - x, mask, match="`^` or `logical_xor()`")
    check_error(lambda _, x: x - 1, mask, match="`~` or `logical_not()`")
    check_error(lambda _, x: 1 - x, mask)
    check_error(lambda _, x: -x, mask)
    check_error(lambda _, x: +x, mask)


def test_shapes_that_do_not_broadcast():
    check_error(lambda _, x, y: x + y, np.zeros((2, 3)), np.zeros((4, 3)), same_class=True, match="dimension 0")
    check_error(lambda _, x: x.add_(x.new_ones(2, 2, 3)), np.zeros((2, 3)), same_class=True)


@pytest.mark.parametrize("value", [None, "a", [1], object()])
def test_other_types_are_type_errors(value):
    x = pyburn.ones(2)
    assert (x == value) is False and (x != value) is True
    with pytest.raises(TypeError):
        operator.add(x, value)
    with pytest.raises(TypeError):
        operator.lt(x, value)
    with pytest.raises(TypeError):
        x += value


IN_PLACE = [
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_write(name):
    op = getattr(operator, name)
    values = [5, 6, 7] if name in IN_PLACE[7:] else [5.0, 6.0, 7.0]

    def run(lib, x):
        y = x.clone()
        view = y[1:] if lib is torch else y.narrow(0, 1, 2)
        kept = y
        y = op(y, 2)
        return (y, view, y is kept)

    check_op(run, values, grad=False)


def test_in_place_gradients_and_versions():
    def run(lib, x, y):
        z = x * 1
        z += y
        z *= x
        z -= 2
        z /= y
        return z

    check_op(run, X, np.abs(Y) + 0.5)
    x = pyburn.ones(3)
    x += 1
    x.exp_()
    assert x._version == 2
    leaf = pyburn.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf += 1


def test_in_place_keeps_the_dtype():
    check_error(lambda _, x: x.add_(1.5), [1, 2], same_class=True, match="can't be cast")
    check_error(lambda _, x: x.div_(2), [1, 2], same_class=True)
    check_op(lambda _, x: x.clone().add_(1), [1.5], dtypes=FLOATS)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_random_shapes_broadcast(data):
    shape = data.draw(strategies.shapes())
    a = data.draw(strategies.arrays(shape))
    b = data.draw(strategies.arrays(strategies.broadcastable(shape)))
    check_op(lambda _, x, y: x + y * x, a, b)


@pytest.mark.parametrize("length", [0, 1, 7, 40_000, 200_000])
def test_sizes_up_to_the_parallel_ones(length):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, length)), rng.standard_normal((2, length))
    check_op(lambda _, x, y: (x + y, x * 2, x.t() - y.t(), x > y), a, b, grad=False, dtypes=["float32"])


def test_clamp():
    for low, high in [(-1, 2), (None, 1.5), (0, None), (2, -1)]:
        check_op(lambda lib, x, a=low, b=high: lib.clamp(x, a, b), X, dtypes=["float32", "float64"])
    check_op(lambda lib, x, y: lib.clamp(x, y), X, Y)
    check_op(lambda lib, x, y, z: lib.clamp(x, y, z), X, Y, Y + 1)
    check_op(lambda lib, x: lib.clamp(x, 0.5, 2), [1, 2, 3], grad=False)
    check_op(lambda lib, x: lib.clamp(x, 0, 1), [float("nan"), 2.0, -2.0])
    check_error(lambda lib, x: lib.clamp(x), X)


def test_composites():
    check_op(lambda lib, x, y: lib.lerp(x, y, 0.25), X, Y)
    check_op(lambda lib, x, y, w: lib.lerp(x, y, w), X, Y, np.array([0.1, 0.5, 0.9]))
    check_op(lambda lib, x, y: lib.addcmul(x, x, y, value=0.5), X, Y)
    check_op(lambda lib, x, y: lib.addcdiv(x, x, y, value=0.5), X, Y)
    check_op(lambda lib, x: lib.ldexp(x, lib.tensor([1, 2, 3])), X)
    check_op(lambda lib, x: lib.float_power(x, 2), [1, 2, 3], grad=False)
    check_op(lambda lib, x, y: lib.xlogy(x, y), [0.0, 1.0, 0.0], [0.0, 2.0, float("nan")])
    check_op(lambda lib, x, v: lib.heaviside(x, v), [-1.0, 0.0, 2.0], [0.5], grad=False)
    check_op(lambda lib, x: (lib.add(1, x), lib.mul(2, x), lib.pow(2, x)), X)


def test_out():
    target = pyburn.zeros(3)
    assert pyburn.add(pyburn.ones(3), 1, out=target) is target
    assert target.tolist() == [2.0, 2.0, 2.0]


def test_results_do_not_share_memory():
    x = from_torch(torch.ones(3))
    y = x + 0
    y.add_(1)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "remainder", "pow", "float_power", "xlogy"])
@pytest.mark.parametrize("number", [0.1, -3, 1 + 0.1j, 3e38])
def test_a_number_on_the_left_keeps_its_digits(name, number):
    limits = {"float64": 1e-14, "complex128": 1e-14, "float32": 1e-6, "int64": 1e-6, "uint8": 1e-6}
    for dtype, shape in product(limits, [(3,), ()]):
        case = Case(np.full(shape, 3.0), dtype)
        theirs, ours = both(lambda lib, x: getattr(lib, name)(number, x), case)
        if theirs is not None and not (dtype == "uint8" and number == -3):
            torch.testing.assert_close(ours, theirs, rtol=limits[dtype], atol=0)


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_factors_of_integers_are_cut_off(dtype):
    matrix, batch = Case([[1, 2], [3, 4]], dtype), Case([[[1, 2], [3, 4]]], dtype)
    vector = Case([1, 2], dtype)
    check_op(lambda lib, x: lib.addmm(x, x, x, beta=1.5, alpha=2.7), matrix, grad=False)
    check_op(lambda lib, x: lib.baddbmm(x, x, x, beta=0.5), batch, grad=False)
    check_op(lambda lib, x, v: lib.addmv(v, x, v, alpha=1.5), matrix, vector, grad=False)
    check_op(lambda lib, v: lib.addcmul(v, v, v, value=2.5), vector, grad=False)
    check_op(lambda lib, v: lib.nn.functional.threshold(v, 1.5, 7.5), vector, grad=False)
    check_error(lambda lib, v: lib.addr(v.expand(2, 2), v, v, alpha=1.5), vector)


def test_a_power_may_be_written_to_before_backward():
    def halved(lib, x):
        y = x**2
        y /= 2
        return y

    check_op(halved, [1.0, 3.0])
    check_op(lambda lib, x, e: x**e, [1.0, 3.0], [2.0, 0.5], gradgrad=True)


@pytest.mark.parametrize(
    "run",
    [
        lambda lib, x: lib.addcmul(x, 0.5, x, x),
        lambda lib, x: (x * 1).addcmul_(0.5, x, x),
        lambda lib, x: x.addcdiv(-2, x, x + 3),
        lambda lib, x: (x * 1).addcdiv_(-2, x, x + 3),
        lambda lib, x: lib.addmm(2, x, 3, x, x),
        lambda lib, x: lib.addmm(2, x, x, x),
        lambda lib, x: (x * 1).addmm_(2, x, x),
        lambda lib, x: (x * 1).addmm_(2, 3, x, x),
        lambda lib, x: lib.addmv(2, x[0], 3, x, x[1]),
        lambda lib, x: lib.addr(2, x, 3, x[0], x[1]),
        lambda lib, x: lib.addbmm(2, x, 3, x[None], x[None]),
        lambda lib, x: lib.baddbmm(2, x[None], 3, x[None], x[None]),
    ],
)
def test_numbers_between_as_in_torch_1(run):
    def quiet(lib, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return run(lib, x)

    check_op(quiet, [[1.0, 2.0], [-0.5, 3.0]])


def test_numbers_between_are_warned_of():
    x = pyburn.ones(2)
    with pytest.warns(UserWarning, match="overload of addcmul is deprecated"):
        x.addcmul_(0.5, x, x)
    with pytest.raises(TypeError):
        pyburn.addcmul(x, 1, 2, x, x)
    with pytest.raises(TypeError):
        pyburn.addcmul(x, x, x, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_next_floats(dtype):
    """Every pair of special numbers and their neighbours, to the last bit and sign."""
    tiny = torch.finfo(dtype).tiny
    some = torch.tensor([0.0, -0.0, 1.0, -1.0, tiny, -tiny, tiny / 4, np.inf, -np.inf, np.nan, 3.5], dtype=dtype)
    some = torch.cat(
        [
            some,
            torch.nextafter(torch.zeros(1, dtype=dtype), some[:2] + 1),
            torch.tensor([torch.finfo(dtype).max], dtype=dtype),
        ]
    )
    a, b = torch.cartesian_prod(some, some).t()
    for name in ("nextafter", "copysign"):
        for x, y in ((a.contiguous(), b.contiguous()), (a, b), (a[::3], b[::3])):
            found, expected = to_torch(getattr(pyburn, name)(from_torch(x), from_torch(y))), getattr(torch, name)(x, y)
            torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
            assert torch.equal(found.signbit()[~found.isnan()], expected.signbit()[~found.isnan()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (33, 41), (300, 301), (0, 3)])
def test_three_operands_in_one_pass(dtype, shape):
    """Plain floats of any layout; into a new tensor, into the first operand, and with a gradient."""
    x, y, z = (
        torch.randn(shape, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(k)) for k in range(3)
    )
    if x.numel():
        x.view(-1)[0], y.view(-1)[1], z.view(-1)[2] = np.nan, np.inf, 0.0
    ops = {
        "add": lambda a, b, c: a.add(b, alpha=0.3),
        "sub": lambda a, b, c: a.sub(b, alpha=-2),
        "lerp": lambda a, b, c: a.lerp(b, 0.3),
        "lerp far": lambda a, b, c: a.lerp(b, 0.75),
        "lerp by": lambda a, b, c: a.lerp(b, c),
        "addcmul": lambda a, b, c: a.addcmul(b, c, value=0.7),
        "addcdiv": lambda a, b, c: a.addcdiv(b, c),
        "clamp": lambda a, b, c: a.clamp(-0.5, 0.5),
        "clamp by": lambda a, b, c: a.clamp(b, c),
        "add_": lambda a, b, c: a.clone().add_(b, alpha=0.3),
        "sub_": lambda a, b, c: a.clone().sub_(b, alpha=3),
        "lerp_": lambda a, b, c: a.clone().lerp_(b, 0.3),
        "lerp_ by": lambda a, b, c: a.clone().lerp_(b, c),
        "addcmul_": lambda a, b, c: a.clone().addcmul_(b, c, value=0.7),
        "addcdiv_": lambda a, b, c: a.clone().addcdiv_(b, c, value=-1),
    }
    layouts = {
        "plain": lambda a, b, c: (a, b, c),
        "turned": lambda *all: [x.t().contiguous().t() if x.dim() == 2 else x for x in all],
        "repeated": lambda a, b, c: (a, b, c[..., :1].expand_as(c)),
        "apart": lambda *all: [x[..., ::2] for x in all],
    }
    for layout, name in product(layouts, ops):
        found = ops[name](*layouts[layout](*map(from_torch, (x, y, z))))
        expected = ops[name](*layouts[layout](x, y, z))
        torch.testing.assert_close(to_torch(found), expected, equal_nan=True, rtol=1e-5, atol=1e-6)
        assert not found.numel() or found.stride() == expected.stride(), (layout, name)


def test_one_pass_writes_leave_their_trace():
    """Versions are counted, views are written through, and what needs a gradient is recorded."""
    for lib in (pyburn, torch):
        x, y = lib.ones(3, 4), lib.full((3, 4), 3.0)
        x[1].lerp_(y[0], 0.5)
        x.add_(y, alpha=2).addcmul_(y, y, value=0.5)
        assert x.tolist() == [[11.5] * 4, [12.5] * 4, [11.5] * 4]
        assert x._version == 3
        w = lib.ones(3, 4, requires_grad=True)
        z = w * 1
        z.add_(y, alpha=2)
        z.lerp_(w, 0.25).addcdiv_(w, y)
        z.sum().backward()
        assert w.grad.allclose(lib.full((3, 4), 1 + 1 / 3))
        with pytest.raises(RuntimeError):
            w.add_(y, alpha=2)
        with pytest.raises(RuntimeError):
            x.add_(lib.ones(2, 3, 4), alpha=2)
        with pytest.raises(RuntimeError):
            lib.ones(3, dtype=lib.int32).add(lib.ones(3, dtype=lib.int32), alpha=0.5)


@pytest.mark.parametrize("name", ["lerp", "addcmul", "addcdiv"])
def test_shapes_that_do_not_fit_are_said_of_the_op_itself(name):
    with pytest.raises(RuntimeError, match=rf"^{name}: The size of tensor a \(2\) must match"):
        getattr(pyburn, name)(pyburn.zeros(2), pyburn.ones(3), pyburn.ones(3))
