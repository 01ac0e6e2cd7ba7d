"""Ops that became one native call: gates, angles, sums of complex rows, cosines, losses of probabilities, sizes."""

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import Case, check_error, check_op, from_torch, to_torch

RNG = np.random.default_rng(0)
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    1e-308,
    1e308,
    -1e308,
    0.66,
    2.4142135623730951,
]


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def units(found, exact):
    """The largest distance in last places of the result."""
    return ((found - exact).abs() / torch.from_numpy(np.spacing(exact.abs().numpy()))).max().item()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), [((6,), 0), ((3, 10), -1), ((4, 5, 7), 0), ((2, 6, 33), 1), ((70, 2000), 1)])
def test_glu(dtype, shape, dim):
    function = lambda lib, x: lib.nn.functional.glu(x, dim)  # noqa: E731
    x = normal(*shape) * 4
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {}
    check_op(function, Case(x, dtype), gradgrad=dtype == "float64", **tolerance)
    check_op(
        lambda lib, x: lib.nn.functional.glu(x.mT, (1 - dim) % 2) if x.dim() == 2 else x, Case(x, dtype), **tolerance
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_glu_of_halves(dtype):
    check_op(lambda lib, x: lib.nn.functional.glu(x), Case(normal(5, 40), dtype), grad=False)


def test_glu_of_special_numbers():
    values = np.stack(np.meshgrid(SPECIAL, SPECIAL), -1).reshape(-1, 2)
    check_op(lambda lib, x: lib.nn.functional.glu(x), Case(values), grad=False)
    check_op(lambda lib, x: lib.nn.functional.glu(x, 0), Case(np.zeros((4, 0))))
    check_op(lambda lib, x: lib.nn.functional.glu(x, 0), Case(np.zeros((0, 4))))


def test_double_angles():
    sizes = RNG.standard_normal((2, 20_000)) * 10.0 ** RNG.integers(-300, 300, (2, 20_000))
    near = RNG.standard_normal((2, 20_000)) * 10.0 ** RNG.integers(-2, 3, (2, 20_000))
    for values in (sizes, near):
        y, x = (torch.from_numpy(row) for row in values)
        assert units(to_torch(pyburn.atan2(from_torch(y), from_torch(x))), torch.atan2(y, x)) <= 3
        assert units(to_torch(pyburn.atan(from_torch(y))), torch.atan(y)) <= 2
        angles = pyburn.angle(from_torch(torch.complex(x, y)))
        assert units(to_torch(angles), torch.atan2(y, x)) <= 3


def test_double_angles_of_special_numbers():
    y, x = torch.cartesian_prod(*(torch.tensor(SPECIAL, dtype=torch.float64),) * 2).t()
    found, exact = to_torch(pyburn.atan2(from_torch(y), from_torch(x))), torch.atan2(y, x)
    torch.testing.assert_close(found, exact, rtol=1e-15, atol=0, equal_nan=True)
    assert torch.equal(found.signbit() & ~found.isnan(), exact.signbit() & ~exact.isnan())
    found, exact = to_torch(pyburn.atan(from_torch(x))), torch.atan(x)
    torch.testing.assert_close(found, exact, rtol=1e-15, atol=0, equal_nan=True)
    assert torch.equal(found.signbit() & ~found.isnan(), exact.signbit() & ~exact.isnan())


def test_double_angles_of_any_layout():
    y, x = normal(33, 17), normal(17, 33)
    check_op(lambda lib, y, x: lib.atan2(y, x.T), Case(y), Case(x), gradgrad=True, rtol=1e-12, atol=1e-13)
    check_op(lambda lib, y, x: lib.atan2(y[:, ::2], x[0, :1]), Case(y), Case(x), rtol=1e-12, atol=1e-13)
    check_op(lambda lib, x: lib.atan(x[::3].T), Case(x), gradgrad=True, rtol=1e-12, atol=1e-13)
    for lib, make in ((pyburn, from_torch), (torch, torch.clone)):
        z = make(torch.from_numpy(y))
        z.atan2_(make(torch.from_numpy(x)).T)
        y = y if lib is torch else y.copy()
        np.testing.assert_allclose(z.tolist(), np.arctan2(y, x.T), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (5, 32), (2, 33), (4, 3, 70), (130, 700), (2, 40_000), (70_000,)])
def test_sums_of_complex_numbers(dtype, shape):
    x = torch.complex(*(torch.from_numpy(normal(*shape) + shift) for shift in (0.0, 1.0))).to(getattr(torch, dtype))
    mine = from_torch(x)
    # torch's own float32 sums are not as near.
    wide, rtol = x.to(torch.complex128), 3e-6 if dtype == "complex64" else 1e-13
    for name in ("sum", "mean"):
        for dims in ((), *((dim,) for dim in range(len(shape))), tuple(range(1, len(shape)))):
            for keepdim in (False, True):
                found = to_torch(getattr(mine, name)(dims, keepdim) if dims else getattr(mine, name)())
                exact = getattr(wide, name)(dims, keepdim) if dims else getattr(wide, name)()
                torch.testing.assert_close(found.to(exact.dtype), exact, rtol=rtol, atol=rtol * len(shape))
                assert found.dtype == x.dtype


def test_sums_of_special_complex_numbers():
    x = np.array([[1 + 1j, np.inf + 2j, 3j], [complex(0, np.nan), 1, 2], [complex(1, -np.inf), complex(1, np.inf), 0]])
    for dim in (0, 1, (0, 1)):
        check_op(lambda lib, x, dim=dim: lib.sum(x, dim), Case(x), grad=False)
    for shape in ((0, 3), (3, 0)):
        for dim in (0, 1):
            check_op(lambda lib, x, dim=dim: (x.sum(dim), x.mean(dim)), Case(np.zeros(shape, complex)), grad=False)
    check_op(lambda lib, x: (x.T.sum(0), x[:, ::2].sum(1), x.mean(1)), Case(draw(4, 6)), gradgrad=True)


def draw(*shape):
    return normal(*shape) + 1j * normal(*shape[::-1]).T


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (5, 16), (9, 33), (2, 3, 100), (300, 513), (1, 70_000)])
def test_cosines(shape):
    x, y = normal(*shape), normal(*shape) * 2 + RNG.standard_normal(shape)
    function = lambda lib, x, y: lib.nn.functional.cosine_similarity(x, y, -1)  # noqa: E731
    check_op(function, Case(x, "float32", False), Case(y, "float32", False), grad=False, rtol=1e-5, atol=2e-6)
    check_op(function, Case(x, "float32"), Case(y, "float32"), rtol=1e-4, atol=1e-5)


def test_cosines_of_rows_of_any_size():
    sizes = np.array([0.0, 1e-30, 1e-20, 1e-9, 1e-4, 1.0, 1e10, 1e17])
    x, y = normal(8, 21) * sizes[:, None], normal(8, 21) + 0.5
    for eps in (1e-8, 1e-3):
        check_op(
            lambda lib, x, y, eps=eps: lib.nn.functional.cosine_similarity(x, y, 1, eps),
            Case(x, "float32", False),
            Case(y, "float32", False),
            grad=False,
            rtol=1e-4,
            atol=1e-6,
        )
    x[2, 3], y[4, 5], y[5, 6] = np.nan, np.nan, np.inf
    check_op(
        lambda lib, x, y: lib.nn.functional.cosine_similarity(x, y),
        Case(x, "float32", False),
        Case(y, "float32", False),
        grad=False,
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_of_probabilities(dtype):
    chances = np.concatenate([[0.0, 1.0, 1e-30, 1 - 1e-7, 0.5, 0.0, 1.0], RNG.random(1500)])
    truth = np.concatenate([[0.0, 1.0, 1.0, 0.0, 0.3, 1.0, 0.0], RNG.random(1500)])
    function = lambda lib, x, t: lib.nn.functional.binary_cross_entropy(x, t, reduction="none")  # noqa: E731
    check_op(function, Case(chances, dtype), Case(truth, dtype, False), rtol=3e-6, atol=1e-6)
    check_op(function, Case(chances[7:], dtype), Case(truth[7:], dtype), rtol=1e-5, atol=1e-5)
    check_op(function, Case(chances[7:], "float64"), Case(truth[7:], "float64"), gradgrad=True)
    check_op(lambda lib, x, t: function(lib, x[::2], t[1::2]), Case(chances[7:101], dtype), Case(truth[7:101], dtype))
    check_op(function, Case(np.zeros((0, 3)), dtype), Case(np.zeros((0, 3)), dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("wrong", [-0.125, 1.125, np.inf, -np.inf])
def test_improbable_numbers_are_refused(dtype, wrong):
    values = np.full(77, 0.5)
    values[70] = wrong

    def loss(lib, x):
        return lib.nn.functional.binary_cross_entropy(x, lib.ones_like(x))

    check_error(loss, Case(values, dtype, False), match="between 0 and 1")


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_of_any_layout(name):
    a, x = np.abs(normal(30, 7)) * 9 + 0.1, np.abs(normal(7, 30)) * 12
    function = lambda lib, a, x: getattr(lib.special, name)(a, x.T)  # noqa: E731
    # torch's own result is off by 1e-9 in places where ours and scipy's agree.
    check_op(function, Case(a, requires_grad=False), Case(x), rtol=1e-8, atol=1e-13)
    for dtype in ("float16", "bfloat16"):
        check_op(function, Case(a, dtype, False), Case(x, dtype, False), grad=False, rtol=2e-2, atol=1e-3)
    check_op(function, Case(np.zeros((0, 2))), Case(np.zeros((2, 0))), grad=False)


def test_sizes_that_are_remembered_stay_apart():
    """A whole factor, the same as a float, a size, tuples of both, and dtypes do not answer for each other."""
    for _ in range(2):
        for mode in ("nearest", "bilinear", "bicubic", "area"):
            for asked in ({"size": 3}, {"scale_factor": 3}, {"scale_factor": 3.0}, {"size": (3, 5)}, {"size": [5, 3]}):
                for dtype in ("float32", "float64"):
                    check_op(
                        lambda lib, x, mode=mode, asked=asked: lib.nn.functional.interpolate(x, mode=mode, **asked),
                        Case(normal(2, 3, 4, 5), dtype),
                        rtol=1e-5,
                        atol=5e-6,
                    )
        for factor in (1.3, (1.3, 2), [0.5, np.float64(1.7)]):
            for recompute in (None, True):
                check_op(
                    lambda lib, x, f=factor, r=recompute: lib.nn.functional.interpolate(
                        x, scale_factor=f, mode="bilinear", recompute_scale_factor=r
                    ),
                    Case(normal(1, 2, 7, 9), "float32"),
                    rtol=1e-4,
                    atol=1e-5,
                )


def test_refusals_are_not_remembered():
    for _ in range(2):
        with pytest.raises(ValueError, match="exactly one"):
            pyburn.nn.functional.interpolate(pyburn.ones(1, 1, 2, 2))
        with pytest.raises(ValueError, match="align_corners"):
            pyburn.nn.functional.interpolate(pyburn.ones(1, 1, 2, 2), size=3, align_corners=True)
    assert pyburn.nn.functional.interpolate(pyburn.ones(1, 1, 2, 2), size=3).shape == (1, 1, 3, 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_above_with_narrower_vectors(width):
    check_file(__file__, width)
