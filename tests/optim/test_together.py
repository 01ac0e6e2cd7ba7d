"""Optimizers that take all parameters in one native call, against the same steps one op at a time."""

import functools

import pyburn
import pytest
import torch
from pyburn.optim.optimizer import Stepping

RULES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.3, 0.9)}),
    ("AdamW", {"lr": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.1, "centered": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": (0.3, 0.9), "maximize": True}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
    ("Adadelta", {"rho": 0.5, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("ASGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 1, "maximize": True}),
    ("Lion", {"lr": 0.1, "weight_decay": 0.1}),
]


def parameters(dtype):
    pyburn.manual_seed(0)
    shapes = [(1,), (3, 5), (63,), (129, 7), (200, 100)]
    return [pyburn.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]


def run(name, settings, dtype, alone, steps=4):
    made = parameters(dtype)
    made.append(pyburn.randn(4, 3, 2, 2, dtype=dtype).to(memory_format=pyburn.channels_last).requires_grad_())
    made.append(pyburn.randn(6, 4, dtype=dtype).t().requires_grad_())
    optimizer = getattr(pyburn.optim, name)(made, **settings)
    if alone:
        optimizer._native = lambda *_: None
        optimizer._step_group = functools.partial(Stepping._step_group, optimizer)
    for step in range(steps):
        for p in made:
            p.grad = (p.detach() * (step + 1)).cos()
        optimizer.step()
    return made, optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "settings"), RULES, ids=[f"{n} {s}" for n, s in RULES])
def test_the_same_numbers(name, settings, dtype):
    ours, optimizer = run(name, settings, getattr(pyburn, dtype), alone=False)
    each, other = run(name, settings, getattr(pyburn, dtype), alone=True)
    for p, q in zip(ours, each, strict=True):
        assert pyburn.equal(p, q)
        assert set(optimizer.state[p]) == set(other.state[q])
        assert all(pyburn.equal(optimizer.state[p][key], other.state[q][key]) for key in other.state[q])


def test_plain_steps_of_gradients_that_lie_otherwise():
    def made(lib):
        return [lib.arange(6.0).reshape(2, 3).clone().requires_grad_(), lib.ones(4, requires_grad=True)]

    ours, theirs = made(pyburn), made(torch)
    for lib, ps in ((pyburn, ours), (torch, theirs)):
        ps[0].grad = lib.arange(6.0).reshape(3, 2).t()
        optimizer = lib.optim.SGD(ps, lr=0.5)
        optimizer.step()
        ps[1].grad = lib.ones(4)
        optimizer.step()
        assert not optimizer.state
    assert [p.tolist() for p in ours] == [p.tolist() for p in theirs]


def test_versions_and_nan():
    w = pyburn.tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    optimizer = pyburn.optim.Adam([w], lr=0.1, amsgrad=True)
    w.grad = pyburn.tensor([1.0, 1.0, float("nan")])
    before = w._version
    optimizer.step()
    assert w._version > before
    assert w[0].isfinite() and w[1:].isnan().all()


def test_parameters_of_one_memory():
    flat = pyburn.zeros(40_000)
    parts = [pyburn.nn.Parameter(part) for part in flat.split(20_000)]
    for p in parts:
        p.grad = pyburn.ones(20_000)
    pyburn.optim.SGD(parts, lr=0.5).step()
    assert (flat == -0.5).all()


def test_threads_agree():
    before = pyburn.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            pyburn.set_num_threads(threads)
            results.append(run("Adam", {"lr": 0.1}, pyburn.float32, alone=False)[0])
    finally:
        pyburn.set_num_threads(before)
    assert all(pyburn.equal(p, q) for p, q in zip(*results, strict=True))


def test_a_parameter_that_lies_apart_does_not_step_twice():
    steps = []
    for lib in (pyburn, torch):
        plain, turned = (lib.ones(2, 3, requires_grad=True) for _ in range(2))
        plain.grad = lib.full((2, 3), 2.0)
        turned.grad = lib.arange(6.0).reshape(3, 2).T
        optimizer = lib.optim.SGD([plain, turned], lr=0.5, weight_decay=0.25)
        optimizer.step()
        steps.append([p.tolist() for p in (plain, turned)])
    assert steps[0] == steps[1]
