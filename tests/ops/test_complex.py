"""Complex numbers against torch: creation, parts, arithmetic, reductions, movement, gradients and refusals."""

import copy
import pickle

import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_error, check_op, from_torch, to_torch

RNG = np.random.default_rng(4)


def draw(*shape):
    generator = np.random.default_rng(sum(shape) + len(shape))
    return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)


BOTH = ["float32", "float64"]
SMOOTH = [
    *("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "square", "neg", "sgn"),
]


@pytest.mark.parametrize("name", SMOOTH)
def test_functions(name):
    values = draw(3, 4)
    check_op(lambda lib, x: getattr(lib, name)(x), values, dtypes=["float32"], rtol=1e-5, atol=2e-5)
    check_op(lambda lib, x: getattr(x, name)(), values[:, ::2], dtypes=["float64"], gradgrad=True, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["abs", "angle", "real", "imag", "conj", "conj_physical", "sgn", "isreal", "isnan"])
def test_parts(name):
    check_op(lambda lib, x: getattr(lib, name)(x), draw(3, 4), dtypes=BOTH, gradgrad=True)
    check_op(lambda lib, x: getattr(lib, name)(x), np.array([0j, 1 + 0j, -2 + 0j]), grad=False)


def test_finite():
    values = [complex(1, 2), complex(np.inf, 0), complex(0, -np.inf), complex(np.nan, np.inf), complex(0, np.nan)]
    for name in ["isnan", "isinf", "isfinite", "isreal"]:
        check_op(lambda lib, x, name=name: getattr(lib, name)(x), np.array(values), grad=False)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "pow"])
def test_arithmetic(op):
    a, b = draw(3, 4), draw(4)
    tight = {"gradgrad": True, "rtol": 1e-8, "atol": 1e-8}
    check_op(lambda lib, x, y: getattr(lib, op)(x, y), a, b, dtypes=["float32"], rtol=2e-5, atol=2e-5)
    check_op(lambda lib, x, y: getattr(lib, op)(x, y), a, b, **tight)
    check_op(lambda lib, x, y: getattr(lib, op)(x, y), a, np.abs(b), **tight)
    check_op(lambda lib, x, y: getattr(lib, op)(x, y), np.abs(a), b, **tight)
    check_op(lambda lib, x: getattr(lib, op)(x, 2.5 - 1j), a, **tight)
    check_op(lambda lib, x: getattr(lib, op)(x, 3), a, **tight)
    check_op(lambda lib, x: getattr(lib, op)(x, 2 - 1j), np.abs(a), **tight)


def test_operators():
    check_op(lambda lib, x: 2j * x + (1 - 1j) - x / 2j, draw(3), gradgrad=True)
    check_op(lambda lib, x: 1 / x + (1 + 1j) ** x, draw(3), rtol=1e-9)
    check_op(lambda lib, x: x**2 + x**-1 + x**0.5 + x**3, draw(3), gradgrad=True, rtol=1e-9)
    check_op(lambda lib, x: lib.add(x, x, alpha=2j), draw(3))
    check_op(lambda lib, x: (lib.float_power(x, 2), lib.float_power(x.real, x)), draw(3), rtol=1e-9)


def test_quotients_by_zero():
    check_op(lambda lib, x: x / 0, np.array([1 + 1j, 1 - 2j]), grad=False)
    check_op(lambda lib, x: lib.reciprocal(x * 0), np.array([1 + 1j]), grad=False)


def test_comparison():
    a = np.array([1 + 2j, 1 - 2j, np.nan + 0j])
    check_op(lambda lib, x, y: (x == y, x != y, lib.equal(x, y)), a, a.conj(), grad=False)
    check_op(lambda lib, x: (x == 1 + 2j, x != 1), a, grad=False)
    check_op(lambda lib, x: (lib.isclose(x, x * (1 + 1e-7)), lib.allclose(x[:2], x[:2])), a, grad=False)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x: x.sum(),
        lambda lib, x: x.sum(1),
        lambda lib, x: x.mean(0, keepdim=True),
        lambda lib, x: x.mean(),
        lambda lib, x: x.prod(),
        lambda lib, x: x.prod(1),
        lambda lib, x: x.cumsum(0),
        lambda lib, x: x.cumprod(1),
        lambda lib, x: x.norm(),
        lambda lib, x: lib.linalg.vector_norm(x, 3, dim=1) if lib is torch else x.norm(3, 1),
        lambda lib, x: x.var(1),
        lambda lib, x: x.std(),
        lambda lib, x: x.logsumexp(1),
    ],
)
def test_reductions(fn):
    check_op(fn, draw(3, 4), gradgrad=True, rtol=1e-8, atol=1e-8)
    check_op(fn, draw(4, 3).T, dtypes=["float32"], rtol=1e-5, atol=1e-5)


def test_truth():
    values = np.array([[0j, 1j], [0j, 0j]])
    check_op(lambda lib, x: (x.any(1), x.all(1), x.count_nonzero(), x.bool(), lib.nonzero(x)), values, grad=False)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, a, b: a @ b,
        lambda lib, a, b: lib.mm(a, b),
        lambda lib, a, b: lib.matmul(a, b[:, 0]),
        lambda lib, a, b: lib.matmul(a[0], b),
        lambda lib, a, b: lib.bmm(a.expand(2, 3, 4), b.expand(2, 4, 2)),
        lambda lib, a, b: lib.vdot(a[0], b[:, 1]),
        lambda lib, a, b: lib.dot(a[0], b[:, 1]),
        lambda lib, a, b: lib.einsum("ij,jk->ki", a, b),
        lambda lib, a, b: a.mH @ a,
        lambda lib, a, b: a.H + a.adjoint(),
        lambda lib, a, b: lib.nn.functional.linear(a, b.T),
    ],
)
def test_products(fn):
    check_op(fn, draw(3, 4), draw(4, 2), gradgrad=True, rtol=1e-9)
    check_op(fn, draw(3, 4), draw(4, 2), dtypes=["float32"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x: x.reshape(4, 3),
        lambda lib, x: x.t().contiguous(),
        lambda lib, x: x.permute(1, 0)[1:, ::2],
        lambda lib, x: x[None].expand(2, 3, 4),
        lambda lib, x: x[lib.tensor([2, 0])],
        lambda lib, x: x[x.abs() > 1],
        lambda lib, x: lib.cat([x, x.conj()], 1),
        lambda lib, x: lib.stack([x, x]),
        lambda lib, x: x.flip(1),
        lambda lib, x: lib.where(x.real > 0, x, 0),
        lambda lib, x: x.masked_fill(x.real > 0, 2j),
        lambda lib, x: x.roll(1, 0),
        lambda lib, x: x.repeat(2, 1),
        lambda lib, x: x.gather(1, lib.tensor([[1], [0], [3]])),
        lambda lib, x: x.index_select(0, lib.tensor([1, 1])),
        lambda lib, x: x.diagonal(),
        lambda lib, x: x.tril(),
        lambda lib, x: x.unfold(1, 2, 1),
        lambda lib, x: x.take_along_dim(lib.tensor([[0, 1, 1, 0]]), 0),
        lambda lib, x: x.index_add(0, lib.tensor([0, 0]), x[:2]),
        lambda lib, x: lib.nn.functional.pad(x, (1, 2)),
        lambda lib, x: x.chunk(2, 1)[1].clone(),
        lambda lib, x: x.narrow(0, 1, 2).squeeze(),
        lambda lib, x: x.ravel()[3],
        lambda lib, x: x.scatter(1, lib.tensor([[0], [1], [2]]), x[:, :1]),
        lambda lib, x: x.to(lib.complex64),
        lambda lib, x: lib.view_as_real(x),
        lambda lib, x: lib.view_as_complex(lib.view_as_real(x).clone()),
        lambda lib, x: lib.kron(x[:2, :2], x[:2, :2]),
        lambda lib, x: lib.diag(x[0]),
        lambda lib, x: lib.rot90(x),
    ],
)
def test_movement(fn):
    check_op(fn, draw(3, 4), gradgrad=True)


def test_norms_of_gradients():
    values = draw(4)
    lengths = []
    for lib in (torch, pyburn):
        z = lib.tensor(values.tolist(), dtype=lib.complex128, requires_grad=True)
        (z * z).abs().sum().backward()
        lengths.append(float(lib.nn.utils.clip_grad_norm_([z], 1.0)))
    assert abs(lengths[0] - lengths[1]) < 1e-9


def test_gradcheck_takes_complex_numbers():
    z = pyburn.tensor(draw(3).tolist(), dtype=pyburn.complex128, requires_grad=True)
    x = pyburn.tensor([0.5, -1.0, 2.0], dtype=pyburn.float64, requires_grad=True)
    assert pyburn.autograd.gradcheck(lambda z, x: (z * x).exp(), (z, x))
    assert pyburn.autograd.gradgradcheck(lambda z, x: z.abs() * x, (z, x))
    assert pyburn.autograd.gradcheck(lambda x: pyburn.fft.rfft(x), x)


def test_a_function_of_ones_own_may_be_complex():
    class Turn(pyburn.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z * 1j

        @staticmethod
        def backward(ctx, grad):
            return grad * -1j

    z = pyburn.tensor([1 + 2j], requires_grad=True)
    Turn.apply(z).real.sum().backward()
    assert z.grad.tolist() == [-1j]


def test_in_place():
    def write(lib, x, y):
        x = x.clone()
        x[0] = 1 - 2j
        x[:, 1] = y[:, 1]
        x.mul_(y).add_(1j).sub_(y, alpha=2)
        x /= y
        x.masked_fill_(x.real > 2, 3j)
        x[1].zero_()
        x[2].copy_(y[0])
        return x, x.conj_physical_()

    check_op(lambda lib, x, y: write(lib, x, y)[0], draw(3, 4), draw(3, 4), rtol=1e-9)


def test_writing_to_parts_changes_the_whole():
    def write(lib, x):
        x = x * 1
        x.real.mul_(3)
        x.imag[0] = 5.0
        lib.view_as_real(x)[1, 0] = lib.tensor([7.0, 8.0], dtype=x.real.dtype)
        return x

    def pairs(lib, x):
        x = x * 1
        lib.view_as_complex(x).mul_(2j)
        return x

    check_op(write, draw(3, 4))
    check_op(pairs, RNG.standard_normal((3, 2)))
    x = pyburn.tensor([1 + 2j, 3 + 4j])
    assert x.real._storage_ptr() == x._storage_ptr() and x.imag.storage_offset() == 1
    x.real = pyburn.tensor([5.0, 6.0])
    x.imag = pyburn.tensor([7.0, 8.0])
    assert x.tolist() == [5 + 7j, 6 + 8j]


def test_building():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal(3)
    check_op(lambda lib, x, y: lib.complex(x, y), a, b.reshape(1, 3).repeat(2, 0), dtypes=BOTH, gradgrad=True)
    check_op(lambda lib, x, y: lib.polar(x, y), np.abs(a), a, dtypes=BOTH, gradgrad=True)
    numbers = np.array([1.0, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan])
    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "uint8"):
        whole = dtype in ("int32", "uint8")
        check_op(lambda lib, x: lib.angle(x), Case(np.array([1, 3, 0]) if whole else numbers, dtype))


def test_real_inputs_get_real_gradients():
    check_op(lambda lib, x, z: (x * z).abs() + lib.exp(1j * x).real, RNG.standard_normal(4), draw(4), gradgrad=True)


def test_creation():
    for fn in [
        lambda lib: lib.tensor([1 + 2j, 3]),
        lambda lib: lib.tensor(1j),
        lambda lib: lib.tensor([1, 2], dtype=lib.complex128),
        lambda lib: lib.zeros(2, dtype=lib.complex64),
        lambda lib: lib.ones(2, dtype=lib.complex128),
        lambda lib: lib.full((2,), 1 - 1j),
        lambda lib: lib.full((2,), 2j, dtype=lib.complex128),
        lambda lib: lib.empty(0, dtype=lib.cfloat),
        lambda lib: lib.zeros_like(lib.tensor([1j])),
        lambda lib: lib.eye(2, dtype=lib.complex64),
        lambda lib: lib.tensor([1.0]).cfloat(),
        lambda lib: lib.tensor([True]).cdouble(),
        lambda lib: lib.tensor([2j]).new_full((2,), 3j),
        lambda lib: lib.scalar_tensor(2j, dtype=lib.complex64) if lib is torch else lib.tensor(2j),
    ]:
        check_op(fn, grad=False)
    with pytest.raises(RuntimeError):
        pyburn.full((2,), 1j, dtype=pyburn.float32)
    with pytest.raises(RuntimeError):
        pyburn.zeros(2).fill_(1j)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3,), (5, 7)])
def test_random_numbers_are_torchs(name, shape):
    for fn in [
        lambda lib: lib.randn(*shape, dtype=getattr(lib, name)),
        lambda lib: lib.rand(*shape, dtype=getattr(lib, name)),
        lambda lib: lib.empty(*shape, dtype=getattr(lib, name)).normal_(1, 2),
    ]:
        torch.manual_seed(3)
        pyburn.manual_seed(3)
        torch.testing.assert_close(to_torch(fn(pyburn)), fn(torch), rtol=1e-5, atol=1e-6)


def test_promotion_is_torchs():
    names = ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"]
    for one in names:
        for other in names:
            check_op(lambda lib, one=one, other=other: lib.promote_types(getattr(lib, one), getattr(lib, other)))
            check_op(lambda lib, one=one, other=other: lib.can_cast(getattr(lib, one), getattr(lib, other)))
        if one != "float16":  # torch has a complex32 for these
            check_op(lambda lib, x: x + 1j, Case(np.ones(2), one), grad=False)
            check_op(lambda lib, x, y: x * y, Case(np.ones(2), one), Case(np.array(1j), "complex128"), grad=False)
    for lib in (torch, pyburn):
        assert lib.complex64.is_complex and lib.complex64.to_real() == lib.float32 and lib.is_complex(lib.tensor(1j))
        assert lib.finfo(lib.complex64).eps == lib.finfo(lib.float32).eps


def test_leaving_and_coming_back():
    x = pyburn.tensor([[1 + 2j, 3 - 4j]], dtype=pyburn.complex128)
    assert x.tolist() == [[1 + 2j, 3 - 4j]] and x[0, 1].item() == 3 - 4j and complex(x[0, 0]) == 1 + 2j
    array = x.numpy()
    assert array.dtype == np.complex128 and pyburn.from_numpy(array).dtype is pyburn.complex128
    array[0, 0] = 9j
    assert x[0, 0].item() == 9j
    assert to_torch(x).equal(torch.from_dlpack(x)) and pyburn.from_dlpack(torch.tensor([1j])).item() == 1j
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert again.dtype is x.dtype and again.tolist() == x.tolist()
    assert (x + np.complex64(1j)).dtype is pyburn.complex128
    assert x.view(pyburn.float64).shape == (1, 4) and x.view(pyburn.float64).view(pyburn.complex128).equal(x)


@pytest.mark.parametrize(
    "values",
    [[1 + 2j, -3.5 - 0.25j], [1 + 0j, 2 - 3j], [1e10 + 1j], [complex("nan"), complex("inf") - 1j], [[1j, 0], [2, 3.5]]],
)
def test_printing(values):
    for name in ("complex64", "complex128"):
        texts = [str(lib.tensor(values, dtype=getattr(lib, name))) for lib in (torch, pyburn)]
        assert texts[1].replace("pyburn.", "torch.") == texts[0]


def test_dropping_the_imaginary_part_warns():
    for dtype in (pyburn.float32, pyburn.int64):
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            assert pyburn.tensor([1 + 2j]).to(dtype).tolist() == [1]
    assert pyburn.tensor([1 + 2j, 0j]).bool().tolist() == [True, False]


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x: x < x,
        lambda lib, x: lib.maximum(x, x),
        lambda lib, x: x.floor(),
        lambda lib, x: x.round(),
        lambda lib, x: x.max(),
        lambda lib, x: x.argmax(),
        lambda lib, x: x.sort(),
        lambda lib, x: x.sign(),
        lambda lib, x: x.clamp(0, 1),
        lambda lib, x: x // 2,
        lambda lib, x: x % 2,
        lambda lib, x: x.erf(),
        lambda lib, x: x.abs_(),
        lambda lib, x: lib.tensor([1.0]).imag,
        lambda lib, x: lib.view_as_real(lib.tensor([1.0])),
        lambda lib, x: lib.view_as_complex(lib.zeros(3)),
        lambda lib, x: lib.view_as_complex(lib.zeros(2, 2).t()),
        lambda lib, x: lib.zeros(2).add_(1j),
        lambda lib, x: lib.complex(lib.zeros(2), lib.zeros(2, dtype=lib.float64)),
        lambda lib, x: lib.relu(x),
        lambda lib, x: x.median(),
        lambda lib, x: x.trunc(),
        lambda lib, x: x.nansum(),
        lambda lib, x: lib.deg2rad(x),
        lambda lib, x: lib.rad2deg(x),
        lambda lib, x: lib.isposinf(x),
        lambda lib, x: lib.isneginf(x),
        lambda lib, x: lib.logit(x),
        lambda lib, x: lib.special.zeta(x, x),
        lambda lib, x: x.sum().backward(),
        lambda lib, x: lib.atan2(x, x),
        lambda lib, x: x.amax(),
        lambda lib, x: lib.arange(0, 1j),
        lambda lib, x: x.logical_and(x) & x,
        lambda lib, x: ~x,
    ],
)
def test_refusals(fn):
    check_error(fn, np.array([1 + 2j, 3j]))


def test_gradient_descent_finds_the_number():
    z = pyburn.tensor([0j], requires_grad=True)
    for _ in range(200):
        loss = ((z - (1 + 2j)).abs() ** 2).sum()
        (grad,) = pyburn.autograd.grad(loss, z)
        z = (z - 0.1 * grad).detach().requires_grad_()
    assert abs(z.item() - (1 + 2j)) < 1e-4
    (z * z).real.sum().backward()
    assert z.grad.dtype is pyburn.complex64


def test_from_torch_and_back():
    value = torch.randn(3, 2, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    assert to_torch(from_torch(value)).equal(value)


def test_sums_of_exponentials():
    both = draw(3, 4), draw(4, 3).T * 2
    check_op(lambda lib, x, y: lib.logaddexp(x, y), *both, dtypes=BOTH, rtol=1e-5, atol=1e-5, grad=False)
    check_op(lambda lib, x, y: lib.logaddexp(x, y), *both, dtypes=["float64"], rtol=1e-9, atol=1e-9)
    for dim in (0, -1):
        check_op(lambda lib, x, dim=dim: lib.logcumsumexp(x, dim), draw(3, 4), dtypes=["float64"], rtol=1e-9, atol=1e-9)
