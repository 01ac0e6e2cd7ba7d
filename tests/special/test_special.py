"""Every function of torch.special beside torch's, in both precisions, with gradients where torch has them."""

import mpmath
import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_error, check_op, from_torch, to_torch

WIDE = np.concatenate([np.linspace(-30, 30, 61), [-1.5, -0.3, 1e-3, 0.25, 7.9, 8.1, 2.01]])
POSITIVE = np.concatenate([np.linspace(0.01, 12, 40), [1e-6, 25.0, 60.0, 2.0, 8.0]])
UNIT = np.concatenate([np.linspace(0.001, 0.999, 41), [1e-12, 1e-6, 1 - 1e-9]])
UNARY = {
    "airy_ai": (np.linspace(-12, 12, 61), False),
    "bessel_j0": (WIDE, True),
    "bessel_j1": (WIDE, True),
    "bessel_y0": (POSITIVE, True),
    "bessel_y1": (POSITIVE, True),
    "digamma": (POSITIVE, True),
    "entr": (POSITIVE, True),
    "erf": (WIDE / 10, True),
    "erfc": (WIDE / 10, True),
    "erfcx": (np.linspace(-4, 40, 61), True),
    "erfinv": (np.linspace(-0.99, 0.99, 21), True),
    "exp2": (WIDE / 5, True),
    "expit": (WIDE / 3, True),
    "expm1": (WIDE / 5, True),
    "gammaln": (POSITIVE, True),
    "i0": (WIDE / 3, True),
    "i0e": (WIDE, True),
    "i1": (WIDE / 3, True),
    "i1e": (WIDE, True),
    "log1p": (POSITIVE, True),
    "log_ndtr": (WIDE / 2, True),
    "logit": (UNIT[:41], True),
    "modified_bessel_i0": (WIDE / 3, True),
    "modified_bessel_i1": (WIDE / 3, True),
    "modified_bessel_k0": (POSITIVE, True),
    "modified_bessel_k1": (POSITIVE, True),
    "ndtr": (WIDE / 5, True),
    "ndtri": (UNIT, True),
    "psi": (POSITIVE, True),
    "round": (WIDE, True),
    "scaled_modified_bessel_k0": (POSITIVE, False),
    "scaled_modified_bessel_k1": (POSITIVE, False),
    "sinc": (WIDE, True),
    "spherical_bessel_j0": (np.linspace(-9, 9, 41), False),
}
# torch's own errors in double precision, which the test with mpmath shows to be torch's.
LOOSE = {"airy_ai": 1e-4, "digamma": 1e-8, "erfinv": 1e-9, "psi": 1e-8}
LOOSE |= dict.fromkeys(["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"], 2e-5)


@pytest.mark.parametrize("name", UNARY)
def test_double_precision(name):
    points, grad = UNARY[name]
    function = lambda lib, x: getattr(lib.special, name)(x)  # noqa: E731
    tolerance = LOOSE.get(name, 1e-10)
    check_op(function, Case(points, "float64", grad), grad=grad, rtol=tolerance, atol=tolerance / 100)


TRUTH = {
    "airy_ai": mpmath.airyai,
    "bessel_j0": lambda x: mpmath.besselj(0, x),
    "bessel_j1": lambda x: mpmath.besselj(1, x),
    "bessel_y0": lambda x: mpmath.bessely(0, x),
    "bessel_y1": lambda x: mpmath.bessely(1, x),
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
    "modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1": lambda x: mpmath.besselk(1, x),
}


@pytest.mark.parametrize("name", TRUTH)
def test_the_truth(name):
    points, _ = UNARY[name]
    with mpmath.workdps(40):
        expected = [float(TRUTH[name](mpmath.mpf(float(x)))) for x in points]
    found = getattr(pyburn.special, name)(pyburn.tensor(points.tolist(), dtype=pyburn.float64))
    np.testing.assert_allclose(found.tolist(), expected, rtol=2e-14, atol=2e-16)


@pytest.mark.parametrize("name", UNARY)
def test_single_precision(name):
    points, _ = UNARY[name]
    function = lambda lib, x: getattr(lib.special, name)(x)  # noqa: E731
    kept = np.clip(points, 1e-6, 1 - 1e-6) if name in ("ndtri", "logit") else points
    check_op(function, Case(kept, "float32", False), grad=False, rtol=2e-5, atol=2e-6)


EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, -3.0])


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("sinc", "spherical_bessel_j0", "bessel_y0")])
def test_edges(name):
    found = to_torch(getattr(pyburn.special, name)(from_torch(torch.tensor(EDGES))))
    expected = getattr(torch.special, name)(torch.tensor(EDGES))
    if name.startswith(("bessel", "modified", "scaled", "airy")):
        # torch's own answers at infinity are accidents of its formulas.
        finite = torch.tensor(EDGES).isfinite()
        found, expected = found[finite], expected[finite]
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-6, atol=1e-7)
        return
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["i0", "i0e", "i1", "i1e", "ndtr", "erfcx", "bessel_j0", "bessel_j1", "entr", "log_ndtr"]
)
def test_second_derivatives(name):
    points = np.linspace(0.3, 4.0, 9) if name == "entr" else np.linspace(-3.0, 3.3, 9)
    check_op(lambda lib, x: getattr(lib.special, name)(x), Case(points), gradgrad=True, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma(name):
    a, x = np.meshgrid([0.01, 0.5, 1.0, 3.0, 10.0, 50.0, 150.0, 1000.0], [0.0, 1e-3, 0.4, 1.0, 4.0, 12.0, 60.0, 990.0])
    function = lambda lib, a, x: getattr(lib.special, name)(a, x)  # noqa: E731
    check_op(function, Case(a, requires_grad=False), Case(x + 1e-9), rtol=1e-8, atol=1e-13)
    check_op(function, Case(a, "float32", False), Case(x, "float32", False), grad=False, rtol=3e-5, atol=1e-6)
    edges = [0.0, 1.0, -1.0, np.inf, np.nan, 0.0, np.inf, 0.0]
    others = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, np.inf, np.inf]
    check_op(function, Case(np.array(edges)), Case(np.array(others)), grad=False)


def test_gammainc_has_no_gradient_for_its_shape():
    a = pyburn.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="first argument"):
        pyburn.special.gammainc(a, pyburn.ones(2)).sum().backward()


def test_zeta():
    s = np.array([1.5, 2.0, 3.0, 7.5, 30.0, 2.0, 3.0, 1.0, 0.5, 2.0, 2.5, 1.0001])
    q = np.array([1.0, 1.0, 0.3, 2.0, 1.2, -0.5, -2.5, 1.0, 1.0, -1.0, -0.5, 10.0])
    check_op(lambda lib, s, q: lib.special.zeta(s, q), Case(s), Case(q), grad=False, rtol=1e-10)
    check_op(lambda lib, q: lib.special.zeta(3.0, q), Case(np.array([0.5, 1.0, 4.0])), rtol=1e-10)
    check_op(lambda lib, s: lib.special.zeta(s, 2), [2, 3, 4], grad=False)
    for place in (0.5, 1.0):  # beyond 1 torch gives NaN instead of 0
        far = Case([1e30, 1e5, np.inf])
        check_op(lambda lib, s, place=place: lib.special.zeta(s, place), far, grad=False)


def test_of_two_arguments_and_more():
    x, y = np.array([0.0, 0.0, 1.0, -2.0, 0.5]), np.array([-1.0, np.nan, 2.0, 0.5, -0.5])
    check_op(lambda lib, x, y: lib.special.xlog1py(x, y), Case(x), Case(y), grad=False)
    check_op(lambda lib, x, y: lib.special.xlog1py(x, y), Case(x[2:]), Case(y[2:]), gradgrad=True)
    check_op(lambda lib, x: lib.special.xlog1py(2, x), Case(POSITIVE))
    check_op(lambda lib, x: lib.special.xlog1py(x, 0.5), Case([0.0, -0.0, 1.0]))
    check_op(lambda lib, x: lib.special.xlogy(x, 3.0), Case(POSITIVE))
    check_op(lambda lib, x: lib.special.multigammaln(x, 3), Case(POSITIVE + 1.01), rtol=1e-9)
    check_op(lambda lib, x: lib.special.polygamma(2, x), Case(POSITIVE[:20] + 0.5), rtol=1e-8)
    matrix = np.linspace(-1, 2, 12).reshape(3, 4)
    check_op(lambda lib, x: lib.special.logsumexp(x, dim=1), Case(matrix))
    check_op(lambda lib, x: lib.special.softmax(x, dim=0), Case(matrix))
    check_op(lambda lib, x: lib.special.log_softmax(x, dim=1), Case(matrix))
    check_error(lambda lib, x: lib.special.multigammaln(x, 0), Case(POSITIVE), same_class=True)
    check_error(lambda lib: lib.special.zeta(1.0, 2.0), same_class=True)


KINDS = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
KINDS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@pytest.mark.parametrize("name", KINDS)
def test_polynomials(name):
    x, n = np.meshgrid(np.array([-1.5, -1.0, -0.7, 0.0, 0.31, 0.5, 0.99, 1.0, 2.0]), np.arange(-1, 14))
    function = lambda lib, x, n: getattr(lib.special, name)(x, n)  # noqa: E731
    check_op(function, Case(x), Case(n.astype(float)), grad=False, rtol=1e-9, atol=1e-9)
    check_op(function, Case(x, "float32"), Case(n), grad=False, rtol=2e-4, atol=2e-4)
    check_op(lambda lib, x: getattr(lib.special, name)(x, 3), Case(x), grad=False)
    check_op(lambda lib, n: getattr(lib.special, name)(0.3, n), Case(n), grad=False, rtol=1e-4, atol=1e-4)


def test_every_name_of_torch_is_there():
    public = {name for name in dir(torch.special) if not name.startswith("_")}
    public -= {"Tensor", "torch", "common_args", "multi_dim_common"}
    assert public <= set(pyburn.special.__all__)


def test_results_are_written_where_asked_and_integers_are_numbers():
    out = pyburn.zeros(2)
    assert pyburn.special.i0(pyburn.tensor([0.0, 1.0]), out=out) is out
    assert out.tolist() == pytest.approx([1.0, 1.2660658])
    assert pyburn.special.ndtr(pyburn.tensor([0, 1])).dtype == pyburn.float32


SMALL = np.array([1e-310, 2e-308, 1e-300, 1e-100, 1e-8, 1e-5, 1e-4, 0.45, 0.4999, -1e-310, 9.0])


@pytest.mark.parametrize(
    "name",
    ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "i1e", "i0e"],
)
def test_next_to_zero(name: str) -> None:
    """Numbers that have no reciprocal, beside one that takes the other sum, where torch has nine digits."""
    x = torch.tensor(SMALL)
    found, expected = to_torch(getattr(pyburn.special, name)(from_torch(x))), getattr(torch.special, name)(x)
    torch.testing.assert_close(found[:-1], expected[:-1], rtol=4e-14, atol=1e-321, equal_nan=True)
    torch.testing.assert_close(found[-1], expected[-1], rtol=2e-8, atol=0)
    least = getattr(pyburn.special, name)(pyburn.tensor([5e-324], dtype=pyburn.float64)).item()
    assert least == {"bessel_y1": -np.inf, "modified_bessel_k1": np.inf}.get(name, least) and not np.isnan(least)


def test_exact_where_torch_is() -> None:
    special = pyburn.special
    assert special.bessel_j0(pyburn.zeros(1, dtype=pyburn.float64)).item() == 1.0
    assert special.bessel_j1(pyburn.tensor([-0.0, 9.0])).signbit().tolist() == [True, False]
    x = np.linspace(-0.5, 0.5, 401)
    found = special.spherical_bessel_j0(pyburn.tensor(x.tolist(), dtype=pyburn.float64))
    np.testing.assert_allclose(found.tolist(), np.sinc(x / np.pi), rtol=1e-15)
    assert np.isfinite(special.log_ndtr(pyburn.tensor([-1.34e154], dtype=pyburn.float64)).item())
