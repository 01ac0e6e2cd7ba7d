"""Samples of gamma, beta and Dirichlet distributions have torch's very bits on the CPU: mixed images depend on them."""

import pyburn
import pytest
import torch
from pyburn.distributions import _gamma_sampling as ours


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.5])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_bits_are_torchs(alpha, kind):
    for seed in range(40):
        torch.manual_seed(seed)
        shape = torch.full((2, 3), alpha, dtype=getattr(torch, kind))
        expected = torch._standard_gamma(shape).tolist(), torch._sample_dirichlet(shape).tolist()
        beta = torch.distributions.Beta(shape, shape).sample().tolist()
        pyburn.manual_seed(seed)
        mine = pyburn.full((2, 3), alpha, dtype=getattr(pyburn, kind))
        assert (ours._standard_gamma(mine).tolist(), ours._sample_dirichlet(mine).tolist()) == expected
        assert pyburn.distributions.Beta(mine, mine).sample().tolist() == beta
