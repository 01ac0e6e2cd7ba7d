"""functorch's older functions beside functorch's own."""

from __future__ import annotations

import functorch
import numpy as np
import pyburn
import pytest
import torch
from pyburn.func import _stateless

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def networks(library, norm):
    nn = library.nn
    layers = [nn.Linear(2, 3), nn.BatchNorm1d(3) if norm else nn.Tanh(), nn.Linear(3, 1)]
    return nn.Sequential(*layers)


def pair(norm=False):
    theirs = networks(torch, norm)
    ours = networks(pyburn, norm)
    ours.load_state_dict({name: pyburn.tensor(value.tolist()) for name, value in theirs.state_dict().items()})
    return ours, theirs


def close(ours, theirs):
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_make_functional():
    ours, theirs = pair()
    x = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    found = []
    for library, place, model in ((pyburn, _stateless, ours), (torch, functorch, theirs)):
        function, values = place.make_functional(model)
        assert all(one is not other and one.requires_grad for one, other in zip(values, model.parameters()))
        given = library.from_numpy(x)
        loss = function(values, given).pow(2).sum()
        found.append((loss, library.func.grad(lambda v, f=function, g=given: f(v, g).pow(2).sum())(values)))
        assert not any(value.requires_grad for value in place.make_functional(model, True)[1])
    close(found[0][0], found[1][0])
    for one, other in zip(found[0][1], found[1][1], strict=True):
        close(one, other)


def test_make_functional_with_buffers_changes_only_the_given_ones():
    ours, theirs = pair(norm=True)
    x = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    found = []
    for library, place, model in ((pyburn, _stateless, ours), (torch, functorch, theirs)):
        with pytest.raises(RuntimeError, match="`model` has buffers"):
            place.make_functional(model)
        function, values, buffers = place.make_functional_with_buffers(model)
        found.append([function(values, buffers, library.from_numpy(x)), *buffers])
        assert model[1].running_mean.tolist() == [0, 0, 0]
    for one, other in zip(*found, strict=True):
        close(one, other)


def test_combine_state_for_ensemble():
    pairs = [pair() for _ in range(3)]
    x = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    found = []
    for which, (library, place) in enumerate(((pyburn, _stateless), (torch, functorch))):
        models = [each[which] for each in pairs]
        function, values, buffers = place.combine_state_for_ensemble(models)
        assert buffers == ()
        found.append(library.func.vmap(function, (0, 0, None))(values, buffers, library.from_numpy(x)))
        for wrong in ([], [models[0], library.nn.ReLU()], [models[0], models[1].eval()]):
            with pytest.raises(RuntimeError, match="combine_state_for_ensemble: Expected"):
                place.combine_state_for_ensemble(wrong)
    close(*found)


def test_the_older_names_say_that_they_are_old():
    with pytest.warns(FutureWarning, match="functional_call"):
        _stateless.make_functional(pyburn.nn.Linear(1, 1))
