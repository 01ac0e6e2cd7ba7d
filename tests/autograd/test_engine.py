"""backward and grad act as torch's do: every scenario runs in both and must log the same."""

import pyburn
import pytest
import torch


def leaf(t, *values):
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def attempt(call):
    try:
        return call()
    except (RuntimeError, ValueError, TypeError) as error:
        # The first words of the message; numbers and hints may differ.
        return type(error).__name__ in ("RuntimeError", "ValueError", "TypeError"), " ".join(str(error).split()[:5])


def higher_orders(t):
    x = leaf(t, 0.5, -1.5)
    value = (x**4).sum()
    log = []
    for _ in range(4):
        (value,) = t.autograd.grad(value.sum(), x, create_graph=True)
        log.append([round(number, 10) for number in value.tolist()])
    return log


def accumulation(t):
    x = leaf(t, 1.0, 2.0)
    (x * 3).sum().backward()
    (x * x).sum().backward()
    log = [x.grad.tolist()]
    x.grad = None
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    return [*log, x.grad.tolist(), y.grad.tolist(), y.is_leaf, x.is_leaf]


def retained(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    y.retain_grad()
    z = y * 3
    (first,) = t.autograd.grad(z.sum(), y, retain_graph=True)
    (second,) = t.autograd.grad(z.sum(), y)
    return [first.tolist(), second.tolist(), y.grad.tolist(), x.grad]


def several_roots(t):
    x = leaf(t, 1.0, 2.0)
    t.autograd.backward([x * 2, (x * x).sum()], [t.tensor([1.0, 10.0], dtype=t.float64), None])
    return x.grad.tolist()


def inputs_only(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    middle = x * y
    (middle * middle).backward(inputs=[y, middle])
    log = [x.grad, y.grad.tolist(), middle.grad.tolist()]
    log.append(attempt(lambda: (x * 1).backward(inputs=[])))
    return log


def unused(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    log = [attempt(lambda: t.autograd.grad((x * 2).sum(), [x, y]))]
    log.append([None if g is None else g.tolist() for g in t.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)])
    log.append([g.tolist() for g in t.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)])
    log.append(attempt(lambda: t.autograd.grad(x * 2, x, allow_unused=False, materialize_grads=True)))
    return log


def batched(t):
    x = leaf(t, 1.0, 2.0)
    rows = t.eye(2, dtype=t.float64)
    (jacobian,) = t.autograd.grad(x * x, x, rows, is_grads_batched=True)
    return jacobian.tolist()


def refusals(t):
    x = leaf(t, 1.0, 2.0)
    log = [
        attempt(lambda: (x * 2).backward()),
        attempt(lambda: x.detach().sum().backward()),
        attempt(lambda: (x * 2).backward(t.ones(3, dtype=t.float64))),
        attempt(lambda: t.autograd.grad((x * 2).sum(), x.detach())),
    ]
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    log.append(attempt(y.backward))
    return [*log, x.grad.tolist()]


def hooks(t):
    log = []
    x = leaf(t, 1.0, 2.0)
    y = x * 3
    first = y.register_hook(lambda grad: log.append(("y", grad.tolist())))
    y.register_hook(lambda grad: grad * 2)
    x.register_hook(lambda grad: log.append(("x", grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(("after", leaf.grad.tolist())))
    y.sum().backward(retain_graph=True)
    first.remove()
    y.sum().backward()
    return [*log, x.grad.tolist()]


SCENARIOS = [higher_orders, accumulation, retained, several_roots, inputs_only, unused, batched, refusals, hooks]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_backward_follows_torchs(scenario):
    assert scenario(pyburn) == scenario(torch)


def test_anomaly_detection_names_the_forward_call():
    x = pyburn.tensor([-1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = pyburn.autograd.detect_anomaly()
    with mode:
        y = x.sqrt()
        with pytest.raises(RuntimeError, match=r"(?s)returned nan values.*y = x.sqrt\(\)"):
            y.sum().backward()
    with pyburn.autograd.set_detect_anomaly(True, check_nan=False):
        x.sqrt().sum().backward()
    x.sqrt().sum().backward()


def test_a_hundred_thousand_operations_deep():
    x = pyburn.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1
    del y


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_a_leaf_that_changed_its_shape_is_still_an_end(lib):
    x = lib.tensor([2.0], requires_grad=True)
    view = x.as_strided([1], [1])
    x.detach_().unsqueeze_(0).requires_grad_()
    (grad,) = lib.autograd.grad(x, x, lib.ones(1, 1))
    assert view.requires_grad
    assert grad.sum() == 1
