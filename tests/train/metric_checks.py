"""What every metric is held to: any split into batches gives one value, and a saved state goes on exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pyburn
import torch

from oracle import from_torch


def ours(array, device="cpu"):
    """A pyburn tensor of a numpy array or torch tensor."""
    return from_torch(torch.as_tensor(np.asarray(array)), device)


def plain(value):
    """A value of a metric as numpy."""
    return np.asarray(value.tolist() if isinstance(value, pyburn.Tensor) else value, dtype=np.float64)


def agree(value, expected, tolerance=1e-6):
    """Whether a value of ours and one of another library are the same, NaN included."""
    np.testing.assert_allclose(plain(value), np.asarray(expected, dtype=np.float64), rtol=tolerance, atol=tolerance)


def pieces(values, cuts):
    """Values (tensor or list) cut at places."""
    edges = [0, *sorted(cuts), len(values)]
    return [values[a:b] for a, b in itertools.pairwise(edges) if b > a]


def check_splits(make, output, target, seed=0, tolerance=1e-6):
    """One update, many updates, and a run that is saved and resumed in the middle give one value, which is returned."""
    whole = make()
    whole.update(output, target)
    value = whole.compute()
    rng = np.random.default_rng(seed)
    for _ in range(3):
        cuts = rng.integers(1, max(2, len(target)), 3).tolist()
        batches = list(zip(pieces(output, cuts), pieces(target, cuts), strict=True))
        split = make()
        alone = []
        for number, (o, t) in enumerate(batches):
            alone.append(split(o, t))
            if number == 1:
                saved, split = split.state_dict(), make()
                split.load_state_dict(saved)
        agree(split.compute(), plain(value), tolerance)
        fresh = make()
        fresh.update(*batches[0])
        agree(alone[0], plain(fresh.compute()), tolerance)
    whole.reset()
    if isinstance(empty := whole.compute(), float):
        assert np.isnan(empty)
    whole.update(output, target)
    agree(whole.compute(), plain(value), tolerance)
    return value
