"""The vectorised functions of float32: every range of numbers, layout, width of vectors and number of threads."""

import numpy as np
import pyburn
import pytest
import scipy.special
import torch
from widths import WIDTHS, check_file, check_width

from oracle import Case, check_op, from_torch, to_torch

UNARY = [
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "atan",
    "tanh",
    "sigmoid",
    "erf",
    "rsqrt",
    "exp2",
    "asin",
    "acos",
    "atanh",
    "erfc",
    "sinh",
    "cosh",
]
DOUBLE = [
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "erfc",
    "exp2",
    "asin",
    "acos",
    "atanh",
    "sinh",
    "cosh",
    "tan",
]
CURVES = [
    *("silu", "softplus", "mish", "elu", "selu", "celu", "logsigmoid", "gelu", "leaky_relu", "hardswish"),
    *("hardsigmoid", "hardshrink", "softshrink", "hardtanh", "relu"),
]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -1e-40, 88.7, 89.0, -103.9, 524288.0, 524289.0, 1e10]


def numbers():
    """Numbers near zero, of every size, and at the edges."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 20_001, dtype=np.uint32).view(np.float32)
    parts = [rng.standard_normal(5000) * 3, rng.standard_normal(5000) * 0.01, rng.random(5000) * 200 - 100, SPECIAL]
    parts += [
        rng.random(5000) * 40_000 - 20_000,
        np.arange(-5000, 5000) * (np.pi / 2),
        np.ldexp(1.0, np.arange(-149, 128)),
    ]
    return np.concatenate([*(np.asarray(part, dtype=np.float32) for part in parts), bits])


def units(found, exact):
    """How far apart in units of the last place, where both are finite."""
    rounded = exact.to(found.dtype)
    finite = torch.isfinite(rounded) & torch.isfinite(found)
    assert torch.equal(torch.isnan(found), torch.isnan(rounded))
    assert torch.equal(found[~finite & ~torch.isnan(rounded)], rounded[~finite & ~torch.isnan(rounded)])
    spacing = torch.from_numpy(np.spacing(np.abs(rounded[finite].numpy()))).double()
    return ((found[finite].double() - exact[finite]).abs() / spacing).max().item()


@pytest.mark.parametrize("name", UNARY)
def test_precision(name):
    x = torch.from_numpy(numbers())
    if name == "sigmoid":
        x = x[~(x < -87)]  # torch's own answer there is 0, the exact one is not
    found = to_torch(getattr(pyburn, name)(from_torch(x)))
    assert units(found, getattr(torch, name)(x.double())) < 4


@pytest.mark.parametrize("name", DOUBLE)
def test_precision_of_doubles(name):
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**64, 20_001, dtype=np.uint64).view(np.float64)
    parts = [rng.standard_normal(5000) * 3, rng.standard_normal(5000) * 1e-3, rng.random(5000) * 1500 - 750, SPECIAL]
    parts += [
        np.arange(-5000, 5000) * (np.pi / 2),
        np.ldexp(1.0, np.arange(-1074, 1024)),
        [5e-324, 710.0, 709.8, bits[0]],
    ]
    x = torch.from_numpy(np.concatenate([*parts, bits]))
    with np.errstate(all="ignore"):
        found, exact = run(name, x), getattr(torch, name)(x)
        if name in ("sinh", "cosh"):
            exact = torch.from_numpy(getattr(np, name)(x.numpy()))  # torch's are infinite from 709.8 on
    assert torch.equal(found.signbit()[~found.isnan()], exact.signbit()[~found.isnan()])
    most = 6 if name == "erfc" else 8 if name in ("log10", "log2") else 4  # torch's own are two units off there
    assert units(found, exact) < most
    assert torch.equal(run(name, x[::3]).nan_to_num(7), found[::3].nan_to_num(7))
    assert torch.equal(run(name, x[:5]).nan_to_num(7), found[:5].nan_to_num(7))
    assert run(name, x[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_inverse_error_function(dtype):
    y = torch.cat([torch.linspace(-1, 1, 4001, dtype=dtype), torch.logspace(-40, -0.1, 301, dtype=dtype)])
    edges = torch.tensor([1.0, -1.0, 0.0, -0.0, 1.5, -2.0, np.nan, np.inf, 1e-40, 1 - 6e-8], dtype=dtype)
    for x in (y, edges, 1 - 10 ** -torch.linspace(1, 15, 99, dtype=torch.float64).to(dtype)):
        exact = torch.erfinv(x.double())
        torch.testing.assert_close(
            run("erfinv", x), exact.to(dtype), equal_nan=True, rtol=3e-7 if dtype == torch.float32 else 2e-14, atol=0
        )
    assert torch.equal(run("erfinv", edges)[2:4].signbit(), torch.tensor([False, True]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "trigamma", "sinc"])
def test_gamma_and_sinc(name, dtype):
    """Around the zeros at one and two, the poles below zero, and out to where all is infinite."""
    rng = np.random.default_rng(13)
    parts = [
        rng.random(20_000) * 12,
        rng.random(20_000) * -12,
        np.ldexp(1.0, np.arange(-140, 120)),
        [np.ldexp(sign, power) for sign in (-1.0, 1.0) for power in range(-1074, -900)] if name == "lgamma" else [],
        -np.arange(0.0, 40),
    ]
    parts += [1 + rng.standard_normal(5000) * 1e-4, 2 + rng.standard_normal(5000) * 1e-4, rng.random(999) * 1e5]
    parts += [
        [1.0, 2.0, 0.5, 1.5, 3.0, 7.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 2e5 + 0.5],
        -rng.random(99) * 99,
    ]
    x = torch.from_numpy(np.concatenate(parts)).to(dtype)
    functions = {
        "trigamma": lambda x: scipy.special.polygamma(1, x),
        "lgamma": lambda x: torch.lgamma(torch.from_numpy(x)).numpy(),
        "sinc": np.sinc,
    }
    with np.errstate(all="ignore"):
        exact = torch.from_numpy(functions.get(name, scipy.special.digamma)(x.double().numpy()))
    if name == "trigamma":
        # scipy's is made for positive numbers.
        mirrored = np.pi**2 / torch.sin(np.pi * (x.double() - x.double().round())) ** 2
        below = mirrored - torch.from_numpy(scipy.special.polygamma(1, (1 - x.double()).clamp(min=1).numpy()))
        exact = torch.where(x < 0, below, exact).masked_fill(x == -np.inf, np.inf)
    if name == "digamma":
        exact[(x == 0)] = torch.where(x[x == 0].signbit(), np.inf, -np.inf).double()
    found = to_torch(from_torch(x).polygamma(1)) if name == "trigamma" else run(name, x)
    # scipy's digamma loses as many digits as that near its poles.
    rtol, atol = (4e-7, 1e-12) if dtype == torch.float32 else (4e-12 if name == "digamma" else 2e-13, 2e-14)
    torch.testing.assert_close(found, exact.to(dtype), rtol=rtol, atol=atol, equal_nan=True)
    if name == "lgamma":
        assert torch.equal(found[(x == 1) | (x == 2)].unique(), torch.zeros(1, dtype=dtype))


def test_mixed_signs():
    """Blocks with numbers of which a function has no value beside others."""
    x = torch.randn(70_001, generator=torch.Generator().manual_seed(2))
    x[::97], x[5::311], x[7::501], x[11::713] = 0.0, np.inf, np.nan, -np.inf
    x[3::401], x[9::409] = 1e-40, -0.0
    for name in ("rsqrt", "sqrt", "log", "log2", "log10"):
        for part in (x, x[:13], x[1:8], x[::2]):
            assert units(run(name, part), getattr(torch, name)(part.double())) < 4


def test_precision_of_powers():
    rng = np.random.default_rng(3)
    x = torch.from_numpy(np.abs(rng.standard_normal(6001).astype(np.float32)) * 10)
    y = torch.from_numpy(rng.standard_normal(6001).astype(np.float32) * 5)
    x[:2000], y[:1000] = -x[:2000], y[:1000].round()
    edges = torch.tensor([*SPECIAL, 2.0, -3.0, 0.5])
    for a, b in ((x, y), (x, torch.full_like(x, 2.5)), tuple(torch.cartesian_prod(edges, edges).unbind(1))):
        assert units(to_torch(from_torch(a.contiguous()) ** from_torch(b.contiguous())), a.double() ** b.double()) < 4


@pytest.mark.parametrize("name", ["log", "erf", "mul", "relu", "sin", "gelu", "sigmoid"])
@pytest.mark.parametrize("shape", [(800_003,), (3, 300_001)])
def test_large_results(name, shape):
    """Large results are written past the caches, from the first whole line of memory on."""
    rng = np.random.default_rng(5)
    x, y = (torch.from_numpy(rng.standard_normal(shape).astype(np.float32) * 9) for _ in "xy")
    x.view(-1)[-1], x.view(-1)[17], x.view(-1)[4099] = 1e9, np.nan, -0.0
    others = [y] if name in ("add", "sub", "mul") else []
    for start in (0, 3):
        inputs = [tensor[..., start:] for tensor in (x, *others)]
        small = torch.cat([run(name, *(part[..., at : at + 999] for part in inputs)) for at in range(0, 2997, 999)], -1)
        found = run(name, *inputs)
        assert torch.equal(found[..., :2997].nan_to_num(7), small.nan_to_num(7))
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        torch.testing.assert_close(found, function(*inputs), equal_nan=True, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("size", [3000, 900_000])
@pytest.mark.parametrize(
    ("name", "rare"), [("sin", [2e4, 6e5]), ("cos", [2e4, -np.inf]), ("log", [0, -1]), ("gelu", [-7])]
)
def test_neighbours_do_not_matter(name, rare, size):
    """Rare numbers are computed in another way; those beside them are not."""
    x = torch.rand(size, generator=torch.Generator().manual_seed(4)) * 5 + 0.1
    mixed = x.clone()
    mixed[:: size // 20] = torch.tensor(rare * 20)[: len(mixed[:: size // 20])]
    alone, among, same = run(name, x), run(name, mixed), mixed == x
    assert torch.equal(among[same], alone[same])
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    torch.testing.assert_close(among[~same], function(mixed[~same]), equal_nan=True)


def test_large_sums_with_a_row():
    """Rows too short for others to be seen past the caches, and rows just long enough."""
    rng = np.random.default_rng(6)
    for shape in [(1601, 511), (1533, 513), (1000, 1000)]:
        x, row = (torch.from_numpy(rng.standard_normal(size).astype(np.float32)) for size in (shape, shape[1:]))
        assert torch.equal(run("add", x, row), x + row)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_short_rows(name):
    """Rows that are computed many at a time: repeated, apart from each other, and written to while they are read."""
    rng = np.random.default_rng(7)
    for width in (64, 77, 1000):
        x, y = (torch.from_numpy(rng.standard_normal((3, 50, width)).astype(np.float32)) for _ in "xy")
        x[0, :3, 5] = torch.tensor([np.inf, -np.inf, np.nan])
        pairs = [(x, y[0, 0]), (x, y[:, :1]), (x[:, ::2], y[:, 1::2]), (x[:, :, :-3], y[:, :, 3:]), (x, y[..., :1])]
        for a, b in [*pairs, *((b, a) for a, b in pairs)]:
            torch.testing.assert_close(run(name, a, b), getattr(torch, name)(a, b), rtol=0, atol=0, equal_nan=True)
        own, theirs = from_torch(x.clone()), x.clone()
        for z in (own, theirs):
            half = width // 2
            getattr(z[..., :half], name + "_")(z[..., half : 2 * half])
            getattr(z, name + "_")(z[1, 2].clone())
            getattr(z[1], name + "_")(z[0])
        torch.testing.assert_close(to_torch(own), theirs, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_what_division_leaves(name):
    """Remainders of floats are exact: torch's very bits, also where the quotient is large or an operand special."""
    rng = np.random.default_rng(8)
    sizes = rng.standard_normal((2, 20_000)) * 10.0 ** rng.integers(-12, 12, (2, 20_000))
    special = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL)).t()
    whole = torch.from_numpy(rng.integers(-50, 50, (2, 20_000)).astype(np.float32))
    for a, b in (torch.from_numpy(sizes.astype(np.float32)), special, whole, whole / 7):
        found, exact = run(name, a, b), getattr(torch, name)(a, b)
        torch.testing.assert_close(found, exact, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(found.signbit(), exact.signbit() | found.signbit() & found.isnan())


@pytest.mark.parametrize(("name", "most"), [("atan2", 3), ("hypot", 1), ("logaddexp", 4)])
def test_precision_of_two(name, most):
    rng = np.random.default_rng(9)
    sizes = torch.from_numpy((rng.standard_normal((2, 20_000)) * 10.0 ** rng.integers(-6, 6, (2, 20_000))).astype("f4"))
    if name == "logaddexp":
        sizes = sizes.abs().clamp(0.5, 80.0)
    special = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL)).t()
    for a, b in (sizes, special):
        assert units(run(name, a, b), getattr(torch, name)(a.double(), b.double())) < most


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_once(dtype):
    """Results are those of float32, rounded: in rows, parts of rows, and with one number for all."""
    rng = np.random.default_rng(10)
    x, y = (torch.from_numpy(rng.standard_normal((37, 1300)).astype("f4") * 3).to(dtype) for _ in "xy")
    x[0, :4] = torch.tensor([np.inf, -np.inf, np.nan, 0.0])
    for a, b in ((x, y), (x[:, ::3], y[:, ::3]), (x.t(), y.t()), (x, y[:1]), (x, y[:, :1])):
        for name in ("add", "mul", "sub", "div", "maximum", "fmod"):
            exact = getattr(torch, name)(a.float(), b.float()).to(dtype)
            torch.testing.assert_close(run(name, a, b), exact, rtol=0, atol=0, equal_nan=True)
    for name in ("floor", "round", "frac", "reciprocal", "relu"):
        exact = getattr(torch, name)(x.float()).to(dtype)
        torch.testing.assert_close(run(name, x), exact, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(run(name, y[:, 1::2].abs()), getattr(torch, name)(y[:, 1::2].abs().float()).to(dtype))
    for dims in ((0,), (1,), (0, 1)):
        torch.testing.assert_close(to_torch(from_torch(y).sum(dims)), y.float().sum(dims).to(dtype))


@pytest.mark.parametrize("name", ["hardswish", "silu", "tanh", "sigmoid"])
def test_slopes_of_special_numbers(name):
    values = [-3.0, 3.0, np.nextafter(3, 4), -2.9999998, 1e-30, 0.0, -0.0, 2.5, 80.0, -80.0, 1e30, -1e30]
    if name != "hardswish":  # torch's vectors and its single numbers differ
        values.append(np.nan)
    check_op(lambda lib, x: getattr(lib.nn.functional, name)(x), Case(values * 3, "float32"), rtol=2e-6, atol=1e-6)


def run(name, *inputs):
    function = getattr(pyburn, name, None) or getattr(pyburn.nn.functional, name)
    return to_torch(function(*(from_torch(x) for x in inputs)))


def test_gelu_of_negative_numbers():
    """Unlike torch's, which takes the small rest of one minus another number, it keeps its digits."""
    x = torch.linspace(-6.2, 6.2, 4001, dtype=torch.float64)
    found = to_torch(pyburn.nn.functional.gelu(from_torch(x.float()))).double()
    torch.testing.assert_close(found, torch.nn.functional.gelu(x.float().double()), rtol=4e-6, atol=1e-12)
    far = torch.tensor([-6.5, -50.0, -1e30])
    assert (to_torch(pyburn.nn.functional.gelu(from_torch(far))).abs() < 1e-8).all()


@pytest.mark.parametrize("name", UNARY)
def test_signs_of_zero(name):
    x = torch.tensor([0.0, -0.0])
    found, expected = to_torch(getattr(pyburn, name)(from_torch(x))), getattr(torch, name)(x)
    assert torch.equal(torch.signbit(found), torch.signbit(expected))


@pytest.mark.parametrize("name", CURVES)
def test_curves(name):
    values = np.concatenate([np.random.default_rng(1).standard_normal(1001) * 4, np.linspace(-20, 30, 400)])
    check_op(lambda lib, x: getattr(lib.nn.functional, name)(x), Case(values, "float32"), rtol=3e-6, atol=1e-6)
    # torch's vectorised gelu has no answer for infinity, its float64 one has.
    edges = Case(np.array(SPECIAL), "float32") if name != "gelu" else Case(np.array(SPECIAL[4:]), "float32")
    check_op(lambda lib, x: getattr(lib.nn.functional, name)(x), edges, grad=False)


@pytest.mark.parametrize("name", ["gelu", "silu", "mish", "elu", "softplus", "tanh", "sigmoid"])
def test_second_derivatives(name):
    x = np.random.default_rng(2).standard_normal(33)
    check_op(
        lambda lib, x: getattr(lib.nn.functional, name)(x), Case(x, "float32"), gradgrad=True, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", ["tanh", "sin", "log1p"])
def test_layouts_agree(name):
    x = pyburn.randn(37, 300).abs() if name == "log1p" else pyburn.randn(37, 300)
    whole = getattr(x, name)()
    assert pyburn.equal(getattr(x.t(), name)(), whole.t())
    assert pyburn.equal(getattr(x[:, ::3], name)(), whole[:, ::3])
    assert pyburn.equal(getattr(x[:, 1:], name)(), whole[:, 1:])
    assert pyburn.equal(getattr(x[0].expand(5, 300), name)(), whole[0].expand(5, 300))
    own = x.clone()
    assert pyburn.equal(getattr(own, name + "_")(), whole)


def test_threads_agree():
    x = pyburn.randn(700, 700)
    before = pyburn.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            results.append((x.tanh(), x.softmax(1), x.softmax(0)))
    finally:
        pyburn.set_num_threads(before)
    for other in results[1:]:
        assert all(pyburn.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 130, 67), (1, 1, 1), (4, 33, 1)])
def test_softmax(name, dim, shape):
    x = np.random.default_rng(3).standard_normal(shape) * 5
    check_op(lambda lib, x: getattr(x, name)(dim), x, dtypes=["float32"], rtol=4e-6, atol=4e-6)
    check_op(lambda lib, x: getattr(x, name)(dim), x, dtypes=["float64"])


def test_softmax_of_special_values():
    rows = [
        [0.0, np.inf, 1.0],
        [np.nan, 0.0, 1.0],
        [-np.inf, 0.0, 1.0],
        [-np.inf, -np.inf, -np.inf],
        [1e38, 0.0, -1e38],
    ]
    for dim in (0, 1):
        check_op(lambda lib, x, dim=dim: (x.softmax(dim), x.log_softmax(dim)), Case(rows, "float32"), grad=False)


PROGRAM = """
import pyburn
pyburn.manual_seed(0)
x = pyburn.linspace(-30, 30, 1003)
y = pyburn.linspace(0.01, 500, 1003)
w = pyburn.ones(17, requires_grad=True)
z = pyburn.nn.functional.layer_norm(x[:1003 // 17 * 17].reshape(-1, 17), (17,), w)
z.square().sum().backward()
F = pyburn.nn.functional
v = x.clone().requires_grad_()
(F.gelu(v) + F.relu(v) + F.leaky_relu(v) + F.silu(v) + F.hardswish(v) + v.tanh() + v.sigmoid()).sum().backward()
parts = [x.sin(), x.cos(), x.tanh(), x.exp(), x.erf(), x.atan(), y.log(), y.log2(), y.log10(), y.rsqrt(), v.grad]
parts += [(x / 31).asin(), (x / 31).acos(), (x / 31).atanh(), x.erfc(), x.exp2(), (x / 31).erfinv()]
parts += [x.rsqrt().nan_to_num(7)]
parts += [x.double().exp().log1p(), x.double().sin(), x.double().tanh(), y.double().log()]
parts += [x.softmax(0), w.grad, F.gelu(x), F.relu(x), F.leaky_relu(x), x + y, x - y, x * y, x.sigmoid(), F.silu(x)]
print(pyburn.cat([*parts, z.detach().reshape(-1)]).double().tolist())
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_width(PROGRAM, width, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_above_with_narrower_vectors(width):
    check_file(__file__, width)
