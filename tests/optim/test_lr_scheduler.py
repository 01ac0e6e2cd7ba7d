"""Each schedule against torch's, step by step, and its state_dict."""

import pyburn
import pytest
import torch

CASES = {
    "StepLR": ({"step_size": 3, "gamma": 0.5}, "SGD"),
    "MultiStepLR": ({"milestones": [2, 5, 5, 9], "gamma": 0.5}, "SGD"),
    "ConstantLR": ({"factor": 0.4, "total_iters": 4}, "SGD"),
    "LinearLR": ({"start_factor": 0.2, "end_factor": 0.9, "total_iters": 6}, "SGD"),
    "ExponentialLR": ({"gamma": 0.8}, "SGD"),
    "PolynomialLR": ({"total_iters": 7, "power": 2.0}, "SGD"),
    "CosineAnnealingLR": ({"T_max": 5, "eta_min": 0.01}, "SGD"),
    "CosineAnnealingWarmRestarts": ({"T_0": 3, "T_mult": 2, "eta_min": 0.01}, "SGD"),
    "LambdaLR": ({"lr_lambda": lambda step: 0.9**step}, "SGD"),
    "MultiplicativeLR": ({"lr_lambda": lambda step: 0.95}, "SGD"),
    "OneCycleLR": ({"max_lr": 1.0, "total_steps": 14}, "SGD"),
    "OneCycleLR-three": ({"max_lr": 1.0, "epochs": 2, "steps_per_epoch": 7, "three_phase": True}, "Adam"),
    "OneCycleLR-linear": ({"max_lr": 1.0, "total_steps": 14, "anneal_strategy": "linear"}, "Adam"),
    "CyclicLR": ({"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3}, "SGD"),
    "CyclicLR-triangular2": ({"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2, "mode": "triangular2"}, "Adam"),
    "CyclicLR-exp": (
        {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2, "step_size_down": 4, "mode": "exp_range", "gamma": 0.9},
        "SGD",
    ),
}


def optimizers(kind):
    settings = {"lr": 0.5, "momentum": 0.9} if kind == "SGD" else {"lr": 0.5}
    mine = getattr(pyburn.optim, kind)(
        [
            {"params": [pyburn.zeros(1, requires_grad=True)]},
            {"params": [pyburn.zeros(2, requires_grad=True)], "lr": 0.2},
        ],
        **settings,
    )
    theirs = getattr(torch.optim, kind)(
        [{"params": [torch.zeros(1, requires_grad=True)]}, {"params": [torch.zeros(2, requires_grad=True)], "lr": 0.2}],
        **settings,
    )
    return mine, theirs


def settings_of(optimizer):
    return [(g["lr"], g.get("momentum", 0.0), g.get("betas", (0.0,))[0]) for g in optimizer.param_groups]


def walk(mine, theirs, a, b, steps, argument=lambda i: ()):
    for i in range(steps):
        a.step(), b.step()
        mine.step(*argument(i)), theirs.step(*argument(i))
        for x, y in zip(settings_of(a), settings_of(b), strict=True):
            assert x == pytest.approx(y, rel=1e-9, abs=1e-12)
        assert mine.get_last_lr() == pytest.approx(theirs.get_last_lr(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_rates_are_torchs(case):
    settings, kind = CASES[case]
    a, b = optimizers(kind)
    name = case.partition("-")[0]
    mine = getattr(pyburn.optim.lr_scheduler, name)(a, **settings)
    theirs = getattr(torch.optim.lr_scheduler, name)(b, **settings)
    assert mine.get_last_lr() == pytest.approx(theirs.get_last_lr())
    walk(mine, theirs, a, b, 13)


@pytest.mark.parametrize("case", [c for c in CASES if "Lambda" not in c and "Multiplicative" not in c])
def test_a_schedule_goes_on_from_its_state_dict(case):
    settings, kind = CASES[case]
    name = case.partition("-")[0]
    whole, _ = optimizers(kind)
    schedule = getattr(pyburn.optim.lr_scheduler, name)(whole, **settings)
    for _ in range(4):
        whole.step(), schedule.step()
    part, _ = optimizers(kind)
    other = getattr(pyburn.optim.lr_scheduler, name)(part, **settings)
    part.load_state_dict(whole.state_dict())
    other.load_state_dict(schedule.state_dict())
    for _ in range(4):
        whole.step(), schedule.step(), part.step(), other.step()
        assert settings_of(part) == settings_of(whole)


def test_resuming_with_last_epoch():
    a, b = optimizers("SGD")
    for optimizer in (a, b):
        for group in optimizer.param_groups:
            group["initial_lr"] = 1.0
    mine = pyburn.optim.lr_scheduler.ExponentialLR(a, 0.5, last_epoch=3)
    theirs = torch.optim.lr_scheduler.ExponentialLR(b, 0.5, last_epoch=3)
    walk(mine, theirs, a, b, 3)
    fresh, _ = optimizers("SGD")
    with pytest.raises(KeyError, match="initial_lr"):
        pyburn.optim.lr_scheduler.ExponentialLR(fresh, 0.5, last_epoch=3)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(mode, threshold_mode):
    a, b = optimizers("SGD")
    settings = {
        "mode": mode,
        "threshold_mode": threshold_mode,
        "threshold": 0.01,
        "factor": 0.5,
        "patience": 1,
        "cooldown": 1,
        "min_lr": 0.05,
    }
    mine = pyburn.optim.lr_scheduler.ReduceLROnPlateau(a, **settings)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(b, **settings)
    metrics = [1.0, 0.9, 0.9, 0.899, 0.95, 1.2, 1.2, 1.2, 1.2, 1.21, 0.3, 0.3, 0.3, 0.3, 0.3]
    walk(mine, theirs, a, b, len(metrics), lambda i: (metrics[i],))


def parts(module, optimizer):
    return [
        module.LinearLR(optimizer, 0.1, total_iters=4),
        module.CosineAnnealingLR(optimizer, 6),
        module.ExponentialLR(optimizer, 0.9),
    ]


def test_sequential():
    a, b = optimizers("SGD")
    mine = pyburn.optim.lr_scheduler.SequentialLR(a, parts(pyburn.optim.lr_scheduler, a), [4, 9])
    theirs = torch.optim.lr_scheduler.SequentialLR(b, parts(torch.optim.lr_scheduler, b), [4, 9])
    assert mine.get_last_lr() == pytest.approx(theirs.get_last_lr())
    walk(mine, theirs, a, b, 14)


def test_chained():
    a, b = optimizers("SGD")
    mine = pyburn.optim.lr_scheduler.ChainedScheduler(parts(pyburn.optim.lr_scheduler, a))
    theirs = torch.optim.lr_scheduler.ChainedScheduler(parts(torch.optim.lr_scheduler, b))
    walk(mine, theirs, a, b, 10)


def test_stepping_in_the_wrong_order_warns():
    optimizer, _ = optimizers("SGD")
    schedule = pyburn.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"before `optimizer.step\(\)`"):
        schedule.step()


def test_mistakes_are_named():
    optimizer, other = optimizers("SGD")
    schedulers = pyburn.optim.lr_scheduler
    with pytest.raises(TypeError, match="is not an Optimizer"):
        schedulers.StepLR(other, 1)
    with pytest.raises(ValueError, match="either total_steps"):
        schedulers.OneCycleLR(optimizer, 1.0)
    with pytest.raises(ValueError, match="same length"):
        schedulers.LambdaLR(optimizer, [lambda step: 1.0])
    with pytest.raises(ValueError, match="need 1 milestones"):
        schedulers.SequentialLR(optimizer, [schedulers.StepLR(optimizer, 1)] * 2, [])
    with pytest.raises(ValueError, match="Factor should be"):
        schedulers.ReduceLROnPlateau(optimizer, factor=1.5)


@pytest.mark.parametrize("case", CASES)
def test_a_named_epoch_gives_the_closed_form(case):
    settings, kind = CASES[case]
    a, b = optimizers(kind)
    name = case.partition("-")[0]
    mine = getattr(pyburn.optim.lr_scheduler, name)(a, **settings)
    theirs = getattr(torch.optim.lr_scheduler, name)(b, **settings)
    a.step(), b.step()
    for epoch in (1, 6, 2, 9):
        if name == "CosineAnnealingWarmRestarts":
            mine.step(epoch + 0.5), theirs.step(epoch + 0.5)
        else:
            for schedule in (mine, theirs):
                with pytest.warns(UserWarning, match="The epoch parameter"):
                    schedule.step(epoch)
        assert mine.get_last_lr() == pytest.approx(theirs.get_last_lr(), rel=1e-9, abs=1e-12)
        for x, y in zip(settings_of(a), settings_of(b), strict=True):
            assert x == pytest.approx(y, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if "Lambda" not in c and "Multiplicative" not in c])
def test_a_schedule_goes_on_from_torchs_state(case):
    settings, kind = CASES[case]
    name = case.partition("-")[0]
    a, b = optimizers(kind)
    mine = getattr(pyburn.optim.lr_scheduler, name)(a, **settings)
    theirs = getattr(torch.optim.lr_scheduler, name)(b, **settings)
    for _ in range(4):
        b.step(), theirs.step()
    assert set(mine.state_dict()) >= {"base_lrs", "last_epoch", "_step_count", "_last_lr"}
    a.load_state_dict(b.state_dict() | {"state": {}})
    mine.load_state_dict({k: v for k, v in theirs.state_dict().items() if k != "_scale_fn_ref"})
    walk(mine, theirs, a, b, 5)


def test_a_rate_that_is_a_tensor_keeps_its_identity():
    rates = []
    for lib in (pyburn, torch):
        rate = lib.tensor(0.5)
        optimizer = lib.optim.Adam([lib.zeros(1, requires_grad=True)], lr=rate)
        schedule = lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
        for _ in range(3):
            optimizer.step(), schedule.step()
            rates.append([rate.item(), *[value.item() for value in schedule.get_last_lr()]])
        assert optimizer.param_groups[0]["lr"] is rate
    for one, two in zip(rates[:3], rates[3:], strict=True):
        assert one == pytest.approx(two, rel=1e-5)


def test_noam_rises_and_falls():
    optimizer, _ = optimizers("SGD")
    schedule = pyburn.optim.lr_scheduler.NoamLR(optimizer, warmup_steps=4, model_size=9)
    for step in range(2, 12):
        optimizer.step(), schedule.step()
        factor = 9**-0.5 * min(step**-0.5, step * 4**-1.5)
        assert schedule.get_last_lr() == pytest.approx([0.5 * factor, 0.2 * factor])
    with pytest.raises(ValueError, match="warmup_steps must be positive"):
        pyburn.optim.lr_scheduler.NoamLR(optimizer, 0)


def test_the_other_names():
    import pyburn.lr_scheduler
    import pyburn.module

    assert pyburn.lr_scheduler.StepLR is pyburn.optim.lr_scheduler.StepLR
    assert set(pyburn.lr_scheduler.__all__) == set(pyburn.optim.lr_scheduler.__all__)
    assert pyburn.module.Module is pyburn.nn.Module
    assert pyburn.optim.lr_scheduler._LRScheduler is pyburn.optim.lr_scheduler.LRScheduler
