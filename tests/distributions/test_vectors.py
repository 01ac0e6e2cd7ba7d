"""Normal vectors, which need pyburn.linalg, beside torch's."""

import itertools

import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_op, from_torch, to_torch

pytest.importorskip("pyburn.linalg")
LOC = np.array([[0.1, -0.5, 0.3], [1.0, 0.0, -1.0]])
ROOT = np.array([[1.2, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.4, 0.5, 1.5]])
COVARIANCE = ROOT @ ROOT.T
FACTOR = np.array([[0.5, 0.1], [-0.3, 0.7], [0.2, 0.2]])
DIAGONAL = np.array([0.7, 1.3, 0.4])
CASES = {
    "tril": (lambda d, a, b: d.MultivariateNormal(a, scale_tril=b.tril()), [LOC, ROOT]),
    "covariance": (lambda d, a, b: d.MultivariateNormal(a, (b + b.mT) / 2), [LOC, COVARIANCE]),
    "precision": (lambda d, a, b: d.MultivariateNormal(a, precision_matrix=(b + b.mT) / 2), [LOC, COVARIANCE]),
    "low rank": (lambda d, a, b, c: d.LowRankMultivariateNormal(a, b, c), [LOC, FACTOR, DIAGONAL]),
}


def made(lib, name):
    make, params = CASES[name]
    return make(lib.distributions, *[torch.tensor(p) if lib is torch else from_torch(torch.tensor(p)) for p in params])


@pytest.mark.parametrize("name", CASES)
def test_everything_about_one(name):
    make, params = CASES[name]
    value = LOC + 0.4

    def log_prob(lib, v, *p):
        return make(lib.distributions, *p).log_prob(v)

    def moments(lib, *p):
        d = make(lib.distributions, *p)
        return d.mean, d.variance, d.entropy(), d.covariance_matrix, d.precision_matrix, d.scale_tril

    check_op(log_prob, Case(value), *[Case(p) for p in params], rtol=1e-7, atol=1e-7)
    check_op(moments, *[Case(p) for p in params], grad=False, rtol=1e-7, atol=1e-7)
    mine, other = made(pyburn, name), made(torch, name)
    pyburn.manual_seed(2), torch.manual_seed(2)
    torch.testing.assert_close(to_torch(mine.rsample((3,))), other.rsample((3,)))
    wide = mine.expand((4, 2))
    torch.testing.assert_close(
        to_torch(wide.log_prob(from_torch(torch.tensor(value)))), other.expand((4, 2)).log_prob(torch.tensor(value))
    )


@pytest.mark.parametrize(("p", "q"), list(itertools.product(CASES, CASES)))
def test_divergences(p, q):
    found = pyburn.distributions.kl_divergence(made(pyburn, p), made(pyburn, q))
    torch.testing.assert_close(to_torch(found), torch.distributions.kl_divergence(made(torch, p), made(torch, q)))


def test_mistakes():
    zeros = pyburn.zeros(2)
    with pytest.raises(ValueError, match="Exactly one of"):
        pyburn.distributions.MultivariateNormal(zeros)
    with pytest.raises(ValueError, match="Expected parameter covariance_matrix"):
        pyburn.distributions.MultivariateNormal(zeros, -pyburn.eye(2))


def test_lkj_factors():
    concentration = np.array([0.5, 1.0, 3.0])
    factors = pyburn.distributions.LKJCholesky(4, from_torch(torch.tensor(concentration))).sample((200,))
    assert factors.shape == (200, 3, 4, 4)
    products = to_torch(factors @ factors.mT)
    torch.testing.assert_close(products.diagonal(dim1=-2, dim2=-1), torch.ones(200, 3, 4).double())
    assert (products[:, 0].abs().mean() > products[:, 2].abs().mean()).item()

    def log_prob(lib, c, value):
        return lib.distributions.LKJCholesky(4, c).log_prob(value)

    check_op(log_prob, concentration, Case(to_torch(factors[0]), requires_grad=False))


def test_names_that_other_libraries_borrow():
    utils, transforms = pyburn.distributions.utils, pyburn.distributions.transforms
    assert utils._standard_normal((2, 3), pyburn.float64, "cpu").dtype == pyburn.float64
    assert utils._sum_rightmost(pyburn.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]
    assert isinstance(transforms.ExpTransform().inv, transforms._InverseTransform)
    assert 0 < transforms._clipped_sigmoid(pyburn.tensor(200.0)).item() < 1


@pytest.mark.parametrize("name", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_wishart(name):
    matrix = ROOT if name == "scale_tril" else COVARIANCE
    value = Case(2 * COVARIANCE, requires_grad=False)

    def everything(lib, df, matrix, value):
        given = matrix.tril() if name == "scale_tril" else (matrix + matrix.mT) / 2
        d = lib.distributions.Wishart(df, **{name: given})
        wide = d.expand((2, 2))
        moments = [d.mean, d.variance, d.entropy(), d.scale_tril, d.covariance_matrix, d.precision_matrix]
        return [d.log_prob(value), *moments, wide.log_prob(value), wide.mean]

    check_op(everything, np.array([4.5, 3.5]), matrix, value, rtol=1e-6, atol=1e-8)
    check_op(lambda lib, m: lib.distributions.Wishart(6.0, m).mode, COVARIANCE, grad=False)


def test_wishart_samples():
    pyburn.manual_seed(0)
    d = pyburn.distributions.Wishart(5.0, from_torch(torch.tensor(COVARIANCE)))
    samples = d.rsample((4000,))
    torch.testing.assert_close(to_torch(samples.mean(0)), to_torch(d.mean), rtol=0.1, atol=0.2)
    assert d.support.check(samples).all()
    with pytest.raises(ValueError, match="greater than ndim"):
        pyburn.distributions.Wishart(1.5, pyburn.eye(3))
    with pytest.warns(UserWarning, match="Low df"):
        pyburn.distributions.Wishart(2.5, pyburn.eye(3))


def test_generalized_pareto():
    params = [np.float32([0.1, 0.1, -1.0]), np.float32([2.0, 1.0, 0.5]), np.float32([0.4, 0.0, -0.3])]

    def everything(lib, loc, scale, concentration, excess):
        d = lib.distributions.GeneralizedPareto(loc, scale, concentration)
        value = loc + scale * excess
        of_value = [d.log_prob(value), d.cdf(value), d.log_cdf(value), d.log_survival_function(value), d.icdf(excess)]
        return [*of_value, d.mean, d.variance, d.mode, d.entropy(), d.expand((2, 3)).mean]

    check_op(everything, *params, np.float32([0.3, 0.6, 0.9]))
    heavy = pyburn.distributions.GeneralizedPareto(0.0, 1.0, 2.0)
    assert heavy.mean.isnan()
    assert heavy.variance.isnan()
    pyburn.manual_seed(0)
    light = pyburn.distributions.GeneralizedPareto(1.0, 2.0, -0.5)
    assert light.support.check(light.sample((100,))).all()
    assert abs(light.sample((20000,)).mean().item() - light.mean.item()) < 0.05
