"""Each optimizer against torch's over ten steps, its state_dict both ways, and the base class's rules."""

import pickle

import numpy as np
import pyburn
import pytest
import torch

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.1, "amsgrad": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.7, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 1.0, "weight_decay": 0.1, "rho": 0.8}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.95), "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("Rprop", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "t0": 3, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.3}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
]
CASE = pytest.mark.parametrize(("name", "settings"), CASES, ids=[f"{n}-{s}" for n, s in CASES])
START = [[[0.5, -1.0, 2.0], [0.1, 0.3, -0.7]], [1.5, -0.2]]


def twins(name, settings):
    mine = [pyburn.tensor(values, requires_grad=True) for values in START]
    theirs = [torch.tensor(values, requires_grad=True) for values in START]
    return mine, theirs, getattr(pyburn.optim, name)(mine, **settings), getattr(torch.optim, name)(theirs, **settings)


def loss(params):
    a, b = params
    return ((a * a).sin() * 0.5).sum() + (b.exp() * 0.3).sum() + (a[0, :2] * b).sum()


def take_steps(params, optimizer, count):
    for _ in range(count):
        optimizer.zero_grad()
        loss(params).backward()
        optimizer.step()


def agree(mine, theirs):
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.array(a.tolist()), np.array(b.tolist()), rtol=1e-6, atol=1e-6)


@CASE
def test_ten_steps_are_torchs(name, settings):
    mine, theirs, optimizer, expected = twins(name, settings)
    take_steps(mine, optimizer, 10), take_steps(theirs, expected, 10)
    agree(mine, theirs)
    assert repr(optimizer) == repr(expected)


def plain(value):
    """A state_dict with numbers for tensors."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, torch.Tensor | pyburn.Tensor):
        return np.array(value.tolist()).round(4).tolist()
    return value


def converted(value, make):
    if isinstance(value, dict):
        return {key: converted(item, make) for key, item in value.items()}
    return make(value.tolist()) if isinstance(value, torch.Tensor | pyburn.Tensor) else value


@CASE
def test_state_dict_goes_both_ways(name, settings):
    mine, theirs, optimizer, expected = twins(name, settings)
    take_steps(mine, optimizer, 3), take_steps(theirs, expected, 3)
    state, other = optimizer.state_dict(), expected.state_dict()
    assert list(state["param_groups"][0]) == list(other["param_groups"][0])
    assert plain(state) == plain(other)
    fresh, fresh_torch = getattr(pyburn.optim, name)(mine), getattr(torch.optim, name)(theirs)
    fresh.load_state_dict(converted(other, pyburn.tensor))
    fresh_torch.load_state_dict(converted(state, torch.tensor))
    take_steps(mine, fresh, 2), take_steps(theirs, fresh_torch, 2)
    agree(mine, theirs)


@CASE
def test_pickle_keeps_the_state(name, settings):
    mine, _, optimizer, _ = twins(name, settings)
    take_steps(mine, optimizer, 2)
    again = pickle.loads(pickle.dumps(optimizer))
    assert plain(again.state_dict()) == plain(optimizer.state_dict())


def test_closure_gives_the_loss():
    mine, _, optimizer, _ = twins("SGD", {"lr": 0.1})

    def closure():
        optimizer.zero_grad()
        value = loss(mine)
        value.backward()
        return value

    first = optimizer.step(closure)
    assert optimizer.step(closure).item() < first.item()


def test_groups_have_their_own_settings():
    a, b = pyburn.ones(1, requires_grad=True), pyburn.ones(1, requires_grad=True)
    optimizer = pyburn.optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    (a + b).sum().backward()
    optimizer.step()
    assert [round(a.item(), 6), round(b.item(), 6)] == [0.5, 0.9]


def test_named_parameters_are_remembered():
    layer = pyburn.nn.Linear(2, 1)
    optimizer = pyburn.optim.SGD(layer.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


def test_parameters_without_gradient_are_left_alone():
    a, b = pyburn.ones(1, requires_grad=True), pyburn.ones(1, requires_grad=True)
    optimizer = pyburn.optim.Adam([a, b], lr=0.1)
    a.sum().backward()
    optimizer.step()
    assert b.item() == 1.0
    assert len(optimizer.state) == 1


def test_zero_grad_gives_none_or_zero():
    w = pyburn.ones(2, requires_grad=True)
    optimizer = pyburn.optim.SGD([w], lr=0.1)
    w.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert w.grad is None


def test_step_hooks_are_called_in_order_and_removed():
    w = pyburn.ones(1, requires_grad=True)
    optimizer = pyburn.optim.SGD([w], lr=0.1)
    calls = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("before"))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("after"))
    w.sum().backward()
    optimizer.step()
    before.remove(), after.remove()
    optimizer.step()
    assert calls == ["before", "after"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda w: pyburn.optim.SGD([w], lr=-1.0), ValueError, "Invalid learning rate"),
        (lambda w: pyburn.optim.SGD([w], lr=0.1, nesterov=True), ValueError, "Nesterov momentum requires"),
        (lambda w: pyburn.optim.Adam([w], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0"),
        (lambda w: pyburn.optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
        (lambda w: pyburn.optim.SGD(w, lr=0.1), TypeError, "iterable of Tensors"),
        (lambda w: pyburn.optim.SGD([w, w], lr=0.1), UserWarning, "duplicate parameters"),
        (lambda w: pyburn.optim.SGD([{"params": [w]}, {"params": [w]}], lr=0.1), ValueError, "more than one"),
        (lambda w: pyburn.optim.SGD([w * 2], lr=0.1), ValueError, "non-leaf"),
        (lambda w: pyburn.optim.SGD(["w"], lr=0.1), TypeError, "can only optimize Tensors"),
        (lambda w: pyburn.optim.LBFGS([w]).step(), TypeError, "needs a closure"),
        (lambda w: pyburn.optim.LBFGS([{"params": [w]}, {"params": [w * 1]}]), ValueError, "non-leaf"),
        (lambda w: pyburn.optim.Muon([w]), ValueError, "only supports 2D"),
        (lambda w: pyburn.optim.Lion([w], betas=(0.9, 1.0)), ValueError, "index 1"),
    ],
)
def test_mistakes_are_named(make, error, text):
    with pytest.raises(error, match=text):
        make(pyburn.ones(1, requires_grad=True))


def test_a_state_of_other_groups_is_refused():
    w = pyburn.ones(1, requires_grad=True)
    optimizer = pyburn.optim.SGD([w], lr=0.1)
    state = optimizer.state_dict()
    state["param_groups"] = state["param_groups"] * 2
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict(state)


def test_adan_lamb_and_lion_follow_their_papers():
    """Against the formulas in numpy, with every setting away from its default."""

    def adan(p, g, s, t):
        change = g - s.setdefault("g", g)
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.8 * s.get("v", 0) + 0.2 * change
        s["n"] = 0.95 * s.get("n", 0) + 0.05 * (g + 0.8 * change) ** 2
        s["g"] = g
        root = np.sqrt(s["n"] / (1 - 0.95**t)) + 1e-8
        return (p - 0.1 * (s["m"] / (1 - 0.9**t) + 0.8 * s["v"] / (1 - 0.8**t)) / root) / (1 + 0.1 * 0.02)

    def lamb(p, g, s, t):
        s["m"] = 0.8 * s.get("m", 0) + 0.2 * g
        s["v"] = 0.95 * s.get("v", 0) + 0.05 * g * g
        r = (s["m"] / (1 - 0.8**t)) / (np.sqrt(s["v"] / (1 - 0.95**t)) + 1e-6) + 0.1 * p
        return p - 0.1 * r * np.linalg.norm(p) / np.linalg.norm(r)

    def lion(p, g, s, t):
        m = s.get("m", np.zeros_like(p))
        s["m"] = 0.95 * m + 0.05 * g
        return p * (1 - 0.1 * 0.02) - 0.1 * np.sign(0.8 * m + 0.2 * g)

    cases = [
        (adan, "Adan", {"betas": (0.9, 0.8, 0.95), "weight_decay": 0.02}),
        (lamb, "Lamb", {"betas": (0.8, 0.95), "weight_decay": 0.1}),
        (lion, "Lion", {"betas": (0.8, 0.95), "weight_decay": 0.02}),
    ]
    for formula, name, settings in cases:
        w = pyburn.tensor([1.0, -2.0, 3.0], dtype=pyburn.float64, requires_grad=True)
        optimizer = getattr(pyburn.optim, name)([w], lr=0.1, **settings)
        expected, state = np.array([1.0, -2.0, 3.0]), {}
        for t in range(1, 11):
            gradient = np.cos(expected) * t
            w.grad = pyburn.tensor(gradient.tolist(), dtype=pyburn.float64)
            optimizer.step()
            expected = formula(expected, gradient, state, t)
            np.testing.assert_allclose(w.tolist(), expected, rtol=1e-9, err_msg=f"{name}, step {t}")


def test_burns_numbers_of_lamb_and_lion():
    """The values that burn's own tests expect of two steps."""
    for name, rate, gradients, expected in [
        ("Lamb", 0.01, [[0.1, -0.2, 0.3], [-0.4, 0.5, -0.6]], [1.0127187, -1.9956441, 2.9814672]),
        ("Lion", 0.1, [[0.5, -0.25, 0.0], [-0.1, 0.5, -2.0]], [0.9811, -1.9612, 3.0403]),
    ]:
        w = pyburn.tensor([1.0, -2.0, 3.0], requires_grad=True)
        optimizer = getattr(pyburn.optim, name)([w], lr=rate, weight_decay=0.1)
        for gradient in gradients:
            w.grad = pyburn.tensor(gradient)
            optimizer.step()
        np.testing.assert_allclose(w.tolist(), expected, rtol=2e-6)
