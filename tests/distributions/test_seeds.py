"""A seed gives torch's samples, and leaves the generator where torch leaves it."""

from __future__ import annotations

import pyburn
import pytest
import torch

MAKERS = {
    "Beta": lambda D, t: D.Beta(t([0.4, 2.0]), t([0.7, 3.0])),
    "Chi2": lambda D, t: D.Chi2(t([1.0, 3.0])),
    "Dirichlet": lambda D, t: D.Dirichlet(t([0.5, 1.0, 2.0])),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t([2.0, 3.0]), t([4.0, 5.0])),
    "Gamma": lambda D, t: D.Gamma(t([0.5, 2.0]), t([1.0, 2.0])),
    "InverseGamma": lambda D, t: D.InverseGamma(t([2.0, 3.0]), t([1.0, 2.0])),
    "LKJCholesky": lambda D, t: D.LKJCholesky(3, 0.5),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(t([5.0, 10.0]), t([0.3, 0.6])),
    "StudentT": lambda D, t: D.StudentT(t([2.0, 3.0])),
}


@pytest.mark.parametrize("shape", [(), (3,), (20,)])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_samples_are_torchs(make, shape):
    def run(lib):
        lib.manual_seed(5)
        sample = make(lib.distributions, lib.tensor).sample(shape)
        return [*sample.flatten().tolist(), lib.rand(1).item()]

    assert run(pyburn) == pytest.approx(run(torch), rel=1e-5, abs=1e-7)


def test_very_many_samples_have_the_right_moments():
    pyburn.manual_seed(0)
    for alpha in (0.5, 3.0):
        sample = pyburn.distributions.Gamma(pyburn.tensor(alpha), pyburn.tensor(2.0)).sample((70_000,))
        assert sample.mean().item() == pytest.approx(alpha / 2, rel=0.02)
        assert sample.var().item() == pytest.approx(alpha / 4, rel=0.05)


def test_private_names_draw_the_same():
    def run(lib):
        lib.manual_seed(3)
        return [*lib._sample_dirichlet(lib.tensor([[0.5, 1.0, 2.0]])).flatten(), *lib._standard_gamma(lib.ones(3))]

    assert [float(x) for x in run(pyburn)] == pytest.approx([float(x) for x in run(torch)], rel=1e-5)


@pytest.mark.parametrize(("count", "prob"), [(6.0, 0.4), (100.0, 0.3), (50.0, 0.9), (1000.0, 0.02), (4.0, 1.0)])
def test_binomial_numbers_are_torchs(count, prob):
    """Few successes are counted by waiting, many by rejection; what is drawn afterwards agrees too."""
    found = []
    for lib in (torch, pyburn):
        lib.manual_seed(1)
        draws = lib.distributions.Binomial(count, lib.full((40,), prob)).sample().tolist()
        found.append((draws, lib.rand(1).item()))
    assert found[0] == found[1]
