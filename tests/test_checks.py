"""torch's own checks raise torch's errors, and small private names that public code imports answer as torch's."""

from __future__ import annotations

import typing

import numpy as np
import pyburn
import pytest
import torch

CHECKS = [
    "t._assert(False, 'm')",
    "t._assert(t.tensor(False), 'm')",
    "t._check(False)",
    "t._check(True)",
    "t._check(False, lambda: 'hi')",
    "t._check(1)",
    "t._check_value(False, lambda: 'v')",
    "t._check_index(False)",
    "t._check_type(False)",
    "t._check_not_implemented(False)",
    "t._check_tensor_all(t.tensor([True, False]))",
    "t._check_tensor_all(t.tensor([True, True]))",
    "t._check_tensor_all(True)",
    "t._assert_async(t.tensor(1))",
    "t._assert_async(t.tensor(0))",
]


def outcome(lib, expression):
    try:
        return eval(expression, {"t": lib})
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize("expression", CHECKS)
def test_checks(expression):
    assert outcome(pyburn, expression) == outcome(torch, expression)


def test_messages():
    for lib in (pyburn, torch):
        with pytest.raises(RuntimeError, match=r"^hi$"):
            lib._check(False, lambda: "hi")


def test_softmax_backward():
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    found = [
        lib._softmax_backward_data(lib.tensor(x), lib.softmax(lib.tensor(x), 1), 1, lib.float32).numpy()
        for lib in (pyburn, torch)
    ]
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-7)
    assert pyburn._shape_as_tensor(pyburn.ones(2, 3)).tolist() == torch._shape_as_tensor(torch.ones(2, 3)).tolist()


def test_annotations_of_modules_can_be_read():
    class Net(pyburn.nn.Module):
        size: int

    assert typing.get_type_hints(Net)["size"] is int
    assert typing.get_type_hints(pyburn.nn.Linear)["weight"] is not None


def test_modules_of_devices():
    assert pyburn.get_device_module("cpu") is pyburn.cpu
    assert pyburn.get_device_module("cuda:0") is pyburn.cuda
    with pytest.raises(RuntimeError):
        pyburn.get_device_module(1.5)


def test_steps_of_optimizers_written_for_torch():
    class Descent(pyburn.optim.Optimizer):
        def __init__(self, params, lr=0.5):
            super().__init__(params, {"lr": lr, "differentiable": False})

        @pyburn.optim.optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                pyburn._foreach_add_(params, [p.grad for p in params], alpha=-group["lr"])

    w = pyburn.nn.Parameter(pyburn.ones(2))
    (w**2).sum().backward()
    Descent([w]).step()
    assert w.tolist() == [0.0, 0.0] and w.is_leaf
