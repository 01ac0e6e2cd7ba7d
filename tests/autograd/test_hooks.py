"""Hooks of tensors: they live as long as their tensor, whether or not the handle is kept."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
import torch

LIBS = [torch, pyburn]


@pytest.mark.parametrize("lib", LIBS)
def test_a_leafs_hook_needs_no_handle(lib: Any) -> None:
    x = lib.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    for _ in range(2):
        x.sum().backward()
    assert x.grad.tolist() == [4.0] * 3


@pytest.mark.parametrize("lib", LIBS)
def test_hooks_run_in_order_and_can_be_removed(lib: Any) -> None:
    x = lib.ones(1, requires_grad=True)
    first = x.register_hook(lambda grad: grad + 1)
    x.register_hook(lambda grad: grad * 10)
    x.sum().backward()
    assert x.grad.tolist() == [20.0]
    first.remove()
    first.remove()
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [10.0]
    assert lib.autograd.grad(x.sum(), x)[0].tolist() == [10.0]


@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("answer", ["size", "number"])
def test_a_hook_that_answers_nonsense_raises(lib: Any, answer: str) -> None:
    x = lib.ones(3, requires_grad=True)
    x.register_hook((lambda grad: lib.ones(2)) if answer == "size" else (lambda grad: 5))
    with pytest.raises(RuntimeError if answer == "size" else TypeError):
        x.sum().backward()


@pytest.mark.parametrize("lib", LIBS)
def test_post_accumulate_hooks(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.tolist())))
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert seen == [(True, [1.0, 1.0])]
    step = x.register_post_accumulate_grad_hook(lambda leaf: leaf)
    x.sum().backward()
    step.remove()
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()


@pytest.mark.parametrize("lib", LIBS)
def test_a_functions_context_is_seen_from_its_node(lib: Any) -> None:
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.factor

    y = Double.apply(lib.ones(2, requires_grad=True))
    assert y.grad_fn.factor == 2 and y.grad_fn.needs_input_grad == (True,)
    with pytest.raises(AttributeError):
        _ = y.grad_fn.nothing
    with pytest.raises(AttributeError):
        _ = (y * 2).grad_fn.factor
