"""Functions of 16-bit floats: every number, rounded once from float32, in any layout and width of vectors."""

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import Case, check_op, from_torch, to_torch

DTYPES = [torch.float16, torch.bfloat16]
FUNCTIONS = [
    *("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardsigmoid", "hardswish", "hardtanh"),
    *("gelu", "logsigmoid", "softplus", "hardshrink", "softshrink", "tanh", "sigmoid", "prelu", "threshold"),
]
UNARY = [
    *("square", "sqrt", "rsqrt", "reciprocal", "ceil", "floor", "round", "trunc", "exp", "sinh", "cosh", "erfc"),
    *("angle", "nan_to_num"),
]


def everything(dtype):
    return torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)


def same(found, exact):
    """The exact result rounded, but for few that lie so near to the middle of two that float32 takes the other one."""
    wanted = exact.to(found.dtype)
    assert torch.equal(found.isnan(), wanted.isnan())
    numbers = ~wanted.isnan()
    found, wanted = (value[numbers].float() for value in (found, wanted))
    assert torch.equal(found.isinf(), wanted.isinf())
    differ = found != wanted
    assert differ.sum() <= 0.01 * len(differ)
    # Of bfloat16 a unit is 2^-7 of a number at most, of float16 2^-10; the least above zero of float16 is 6e-8.
    torch.testing.assert_close(found[differ], wanted[differ], rtol=2**-7, atol=6e-8)


def call(lib, name, x):
    function = getattr(lib.nn.functional, name, None) or getattr(lib, name)
    extra = {"prelu": lambda: (x.new_full((1,), 0.25),), "threshold": lambda: (0.5, 0.25)}.get(name, tuple)()
    return function(x, *extra)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*FUNCTIONS, *UNARY])
def test_every_number(name, dtype):
    x = everything(dtype)
    if name in ("mish", "gelu", "silu", "hardswish"):
        x = x[x.float().abs() < 60]  # products that are infinite in float32, or NaN, are not in float64
    if name == "nan_to_num":
        x = x[~x.isinf()]  # the largest number is another one in float64
    with pyburn.no_grad(), torch.no_grad():
        for part in (x, x[:7], x[5:24], x[:0]):
            same(to_torch(call(pyburn, name, from_torch(part))), call(torch, name, part.double()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_slope(name, dtype):
    x = everything(dtype)
    x = x[x.float().abs() < 60]
    grad = torch.linspace(-2, 2, len(x)).to(dtype)
    ours, theirs = from_torch(x).requires_grad_(), x.double().requires_grad_()
    y = call(pyburn, name, ours)
    y.backward(from_torch(grad))
    call(torch, name, theirs).backward(grad.double())
    exact = theirs.grad
    if name in ("tanh", "sigmoid"):
        # Of the rounded result, as torch has it.
        y = to_torch(y.detach()).double()
        exact = grad.double() * (1 - y * y if name == "tanh" else y * (1 - y))
    same(to_torch(ours.grad), exact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic(name, dtype):
    x = everything(dtype)
    y = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(1))]
    pairs = [
        (x, y),
        (x[::3], y[::3]),
        (x.view(256, 256).t(), y.view(256, 256)),
        (x, y[5:6]),
        (y[5:6], x),
        (x[:3], y[:3]),
    ]
    for a, b in pairs:
        ours = [from_torch(value.contiguous()) for value in (a, b)]
        found, wanted = to_torch(getattr(pyburn, name)(*ours)), getattr(torch, name)(a, b)
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.nan_to_num(7), wanted.nan_to_num(7))
        if a.shape == wanted.shape:
            getattr(ours[0], f"{name}_")(ours[1])
            assert torch.equal(to_torch(ours[0]).nan_to_num(7), wanted.nan_to_num(7))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0.1, -3, 0.0, 1e9, np.inf])
def test_factors_beside_them(number, dtype):
    """A factor is not rounded to 16 bits, whichever side it is on; also in place."""
    x, number = everything(dtype), float(np.float32(number))
    functions = [
        *(lambda x: x * number, lambda x: number * x, lambda x: x.clone().mul_(number), lambda x: x[::3] * number),
        *(lambda x: number / x, lambda x: x / number if number else x),
    ]
    for function in functions:
        found, wanted = to_torch(function(from_torch(x))), function(x.double()).float().to(dtype)
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.nan_to_num(7), wanted.nan_to_num(7))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0.1, -3, 70_000, 1e9])
def test_summands_beside_them(number, dtype):
    """A summand is rounded to 16 bits before, as torch has it; infinite ones too."""
    x = everything(dtype)
    functions = [
        *(lambda x: x + number, lambda x: number + x, lambda x: x - number, lambda x: number - x),
        *(lambda x: x[::3] + number, lambda x: x.view(256, 256).t() - number, lambda x: x[:0] + number),
        lambda x: x.clone().add_(number),
    ]
    for function in functions:
        found, wanted = to_torch(function(from_torch(x))), function(x)
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.nan_to_num(7), wanted.nan_to_num(7))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_between_two_numbers(dtype):
    """Bounds that 16 bits do not hold: `threshold` compares with the number, those that shrink round it before."""
    x = everything(dtype)
    for name, bounds in {"threshold": (0.1, 0.3), "hardshrink": (0.1,), "softshrink": (0.1,)}.items():
        ours, theirs = from_torch(x).requires_grad_(), x.clone().requires_grad_()
        found, wanted = (getattr(lib.nn.functional, name)(v, *bounds) for lib, v in ((pyburn, ours), (torch, theirs)))
        assert torch.equal(to_torch(found.detach()).nan_to_num(7), wanted.detach().nan_to_num(7))
        found.backward(pyburn.ones_like(found))
        wanted.backward(torch.ones_like(wanted))
        assert torch.equal(to_torch(ours.grad), theirs.grad)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layouts(dtype):
    x = np.linspace(-4, 4, 3 * 40 * 50).reshape(3, 40, 50)
    for view in (x.transpose(2, 0, 1), x[:, ::2, 1::3], x[0, 0, :1], x[0, 0, 0]):
        for name in ("gelu", "silu", "hardtanh", "mish"):

            def run(lib, x, name=name):
                return getattr(lib.nn.functional, name)(x)

            check_op(run, Case(view, dtype), rtol=2**-7, atol=1e-6)
        check_op(lambda lib, a, b: a + b * a, Case(view, dtype), Case(view, dtype), rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype):
    bits = np.random.default_rng(3).integers(0, 2**32, 100_003, dtype=np.uint32).view(np.float32)
    ties = everything(dtype).float() * (1 + 2.0 ** -(9 if dtype == torch.bfloat16 else 12))
    for x in (torch.from_numpy(bits), ties, ties[:5], torch.tensor([1e-40, -1e-40, 3.4e38, np.inf, -np.inf, np.nan])):
        found, wanted = to_torch(from_torch(x).to(getattr(pyburn, str(dtype).split(".")[1]))), x.to(dtype)
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.view(torch.int16)[~wanted.isnan()], wanted.view(torch.int16)[~wanted.isnan()])
    back = to_torch(from_torch(everything(dtype)).float())
    assert torch.equal(back.nan_to_num(7), everything(dtype).float().nan_to_num(7))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(100_003,), (3, 20_001), (300, 70), (2000, 3), (2, 3, 700)])
def test_sums(dtype, shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)
    for dims in [None, *range(-1, -1 - len(shape), -1), (-2, -1)][: 2 + len(shape) // 2]:
        for name in ("sum", "mean"):
            arguments = {} if dims is None else {"dim": dims}
            found = to_torch(getattr(from_torch(x), name)(**arguments))
            exact = getattr(x.double(), name)(**arguments)
            assert found.dtype == dtype
            torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=2e-5)
    nan = x.clone()
    nan.view(-1)[-1] = np.nan
    assert to_torch(from_torch(nan).sum()).isnan()
    before, sums = pyburn.get_num_threads(), set()
    try:
        for count in (1, 2):
            pyburn.set_num_threads(count)
            sums.add(from_torch(x).sum().item())
    finally:
        pyburn.set_num_threads(before)
    assert len(sums) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_slope_of_softmax(name, dtype):
    x, grad = (torch.randn(37, 65, generator=torch.Generator().manual_seed(seed)).to(dtype) for seed in (2, 3))
    for dim in (0, 1):
        ours = from_torch(x).requires_grad_()
        result = getattr(ours, name)(dim)
        result.backward(from_torch(grad))
        # Of the rounded result, as torch has it.
        y, g = to_torch(result.detach()).double(), grad.double()
        exact = (
            y * (g - (g * y).sum(dim, keepdim=True)) if name == "softmax" else g - y.exp() * g.sum(dim, keepdim=True)
        )
        torch.testing.assert_close(to_torch(ours.grad), exact.to(dtype), rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_file(__file__, width)
