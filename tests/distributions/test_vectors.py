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
