"""Averages of weights, batch norms' statistics and SWALR, beside torch."""

import copy

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch


def models():
    torch.manual_seed(0)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    mine = pyburn.nn.Sequential(pyburn.nn.Linear(3, 4), pyburn.nn.BatchNorm1d(4), pyburn.nn.Linear(4, 1))
    mine.load_state_dict({key: from_torch(value) for key, value in other.state_dict().items()})
    return mine, other


def batch(lib, i):
    return lib.tensor(np.random.default_rng(i).standard_normal((5, 3)).astype("float32").tolist())


AVERAGES = {
    "default": lambda utils: {},
    "swa": lambda utils: {"avg_fn": utils.get_swa_avg_fn()},
    "swa-multi": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "ema": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
    "ema-multi": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
    "ema-buffers": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "own": lambda utils: {"avg_fn": lambda average, model, count: average * 0.3 + model * 0.7 / count},
}


@pytest.mark.parametrize("kind", AVERAGES)
def test_averaged_models_are_torchs(kind):
    results = []
    for lib, model in zip((pyburn, torch), models(), strict=True):
        average = lib.optim.swa_utils.AveragedModel(model, **AVERAGES[kind](lib.optim.swa_utils))
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
        for i in range(5):
            optimizer.zero_grad()
            model(batch(lib, i)).square().sum().backward()
            optimizer.step()
            average.update_parameters(model)
        copy.deepcopy(average)
        results.append(average)
    mine, other = results
    assert list(mine.state_dict()) == list(other.state_dict())
    for key, value in other.state_dict().items():
        torch.testing.assert_close(to_torch(mine.state_dict()[key]), value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(to_torch(mine(batch(pyburn, 9)).detach()), other(batch(torch, 9)).detach())


def test_update_bn_is_torchs():
    mine, other = models()
    for lib, model in ((pyburn, mine), (torch, other)):
        model.eval()
        lib.optim.swa_utils.update_bn([batch(lib, i) for i in range(3)], model)
        lib.optim.swa_utils.update_bn([[batch(lib, i), 0] for i in range(3)], model)
        assert not model.training
        assert model[1].momentum == 0.1
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        torch.testing.assert_close(to_torch(getattr(mine[1], name)), getattr(other[1], name))


@pytest.mark.parametrize("settings", [{}, {"anneal_strategy": "linear"}, {"anneal_epochs": 0}, {"anneal_epochs": 3}])
def test_swalr_is_torchs(settings):
    rates = []
    for lib in (pyburn, torch):
        params = [{"params": [lib.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.5, 0.1)]
        optimizer = lib.optim.SGD(params)
        schedule = lib.optim.swa_utils.SWALR(optimizer, [0.05, 0.2], **settings)
        for i in range(8):
            if i == 4:
                state = schedule.state_dict()
                schedule = lib.optim.swa_utils.SWALR(optimizer, [0.05, 0.2], last_epoch=3, **settings)
                schedule.load_state_dict(state)
            optimizer.step(), schedule.step()
            rates.append(schedule.get_last_lr())
    np.testing.assert_allclose(rates[:8], rates[8:], rtol=1e-9)


def test_mistakes_are_named():
    utils = pyburn.optim.swa_utils
    model = pyburn.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="Invalid decay value"):
        utils.get_ema_multi_avg_fn(1.5)
    with pytest.raises(AssertionError, match="Only one of"):
        utils.AveragedModel(model, avg_fn=utils.get_swa_avg_fn(), multi_avg_fn=utils.get_swa_multi_avg_fn())
    with pytest.raises(ValueError, match="anneal_strategy"):
        utils.SWALR(pyburn.optim.SGD(model.parameters()), 0.1, anneal_strategy="sin")
