"""Backward passes from many threads at once, and interrupted by Ctrl-C."""

from __future__ import annotations

import signal
import threading

import pyburn
import pytest


def test_many_threads_through_one_leaf() -> None:
    leaf = pyburn.ones(8, dtype=pyburn.float64, requires_grad=True)
    seen: list[float] = []
    leaf.register_hook(lambda grad: seen.append(grad[0].item()))
    failures: list[BaseException] = []

    def work(factor: int) -> None:
        try:
            for _ in range(50):
                (grad,) = pyburn.autograd.grad((leaf * factor * leaf).sum(), leaf)
                assert grad.tolist() == [2.0 * factor] * 8
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(seen) == 300


def test_one_graph_used_by_many_threads() -> None:
    leaf = pyburn.ones(4, requires_grad=True)
    result = (leaf.exp() * leaf).sum()
    grads: list[list[float]] = []

    def work() -> None:
        (grad,) = pyburn.autograd.grad(result, leaf, retain_graph=True)
        grads.append(grad.tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(grads) == 8 and all(grad == grads[0] for grad in grads)


def test_ctrl_c_ends_a_backward_pass() -> None:
    x = pyburn.ones(4, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * 1.0
    steps = 0

    def interrupt(grad: pyburn.Tensor) -> None:
        nonlocal steps
        steps += 1
        signal.raise_signal(signal.SIGINT)

    y.register_hook(interrupt)
    # Jobs that a shell starts in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            y.sum().backward()
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == 1 and x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 4
