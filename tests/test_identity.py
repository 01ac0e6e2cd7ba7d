"""One Python object per tensor: it comes back from graphs, hooks and `.grad`, under threads and garbage collection."""

from __future__ import annotations

import gc
import threading
import weakref

import pyburn
import pytest
from pyburn import Tensor
from pyburn.nn import Parameter


class Tagged(Tensor):
    """A subclass with an attribute."""

    tag: int


def test_a_leaf_comes_back_from_its_graph() -> None:
    for leaf in (pyburn.ones(3, requires_grad=True), Parameter(pyburn.ones(3))):
        node = (leaf * 2).grad_fn.next_functions[0][0]
        assert node.variable is leaf


def test_an_object_is_freed_with_its_last_reference() -> None:
    x = pyburn.ones(3)
    known = weakref.ref(x)
    del x
    assert known() is None


def test_grad_is_one_object() -> None:
    x = pyburn.ones(3, requires_grad=True)
    x.sum().backward()
    grad = x.grad
    x.sum().backward()
    assert x.grad is grad and grad.tolist() == [2.0, 2.0, 2.0]


def test_garbage_that_a_graph_still_needs_keeps_its_history() -> None:
    x = pyburn.ones(3, requires_grad=True)
    middle = x * 3
    middle.me = middle
    result = middle * middle
    del middle
    gc.collect()
    (first,) = pyburn.autograd.grad(result.sum(), x, create_graph=True)
    (second,) = pyburn.autograd.grad(first.sum(), x)
    assert first.tolist() == [18.0] * 3 and second.tolist() == [18.0] * 3


@pytest.mark.parametrize("kind", ["leaf hook", "hook", "post hook", "attribute", "node hook"])
def test_cycles_are_collected(kind: str) -> None:
    class Owner:
        pass

    owner = Owner()
    owner.leaf = pyburn.ones(2, requires_grad=True)
    if kind == "leaf hook":
        owner.leaf.register_hook(lambda grad, owner=owner: None)
        owner.leaf.sum().backward()
    elif kind == "post hook":
        owner.leaf.register_post_accumulate_grad_hook(lambda leaf, owner=owner: None)
        owner.leaf.sum().backward()
    else:
        owner.result = owner.leaf * 2
    if kind == "hook":
        owner.result.register_hook(lambda grad, owner=owner: None)
    elif kind == "node hook":
        owner.result.grad_fn.register_hook(lambda given, grads, owner=owner: None)
    else:
        owner.leaf.owner = owner
    gone = weakref.ref(owner)
    del owner
    for _ in range(3):
        gc.collect()
    assert gone() is None


def test_a_finalizer_may_bring_the_object_back() -> None:
    saved = []

    class Stubborn(Tensor):
        def __del__(self) -> None:
            saved.append(self)

    x = pyburn.ones(2).as_subclass(Stubborn)
    y = x.view(2)
    del x
    gc.collect()
    assert type(saved[0]) is Stubborn and saved[0].tolist() == [1.0, 1.0]
    assert y.tolist() == [1.0, 1.0]
    saved.clear()


def test_a_weak_callback_may_ask_for_the_dying_tensor_again() -> None:
    leaf = pyburn.ones(2, requires_grad=True)
    node = (leaf * 2).grad_fn.next_functions[0][0]
    found = []
    keep = weakref.ref(leaf, lambda _: found.append(node.variable))
    del leaf
    gc.collect()
    assert keep() is None and found[0].tolist() == [1.0, 1.0]
    assert node.variable is found[0]


def test_many_threads_share_tensors() -> None:
    shared = [pyburn.ones(4, requires_grad=True) for _ in range(8)]
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for step in range(300):
                leaf = shared[(seed + step) % len(shared)]
                node = (leaf * 2).grad_fn.next_functions[0][0]
                assert node.variable is leaf
                view = leaf.detach()[1:]
                view.note = step
                known = weakref.ref(view)
                other = view[0]._base
                assert other is None or other.shape == leaf.shape
                del view, other
                assert known() is None
                if step % 50 == 0:
                    gc.collect()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_subclasses_keep_class_and_history() -> None:
    x = pyburn.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Tagged)
    y.tag = 7
    assert type(y) is Tagged and y.tag == 7 and y.requires_grad and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_make_subclass_does_not_ask_the_class() -> None:
    class Choosy(Tensor):
        def __new__(cls, data: Tensor, extra: int) -> Choosy:
            made = Tensor._make_subclass(cls, data)
            made.extra = extra
            return made

    x = Choosy(pyburn.ones(2), 5)
    assert type(x) is Choosy and x.extra == 5 and x.tolist() == [1.0, 1.0]


class Logged(Tensor):
    """Notes the methods that are called."""

    log: list[str]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        cls.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def test_results_of_a_subclass_are_of_it() -> None:
    x = pyburn.arange(4.0).as_subclass(Tagged)
    results = [x + 1, 1 + x, x[0], x[1:], x.sum(), x.clone(), x.view(2, 2), -x, x > 0, x.max(0).values, x.split(2)[0]]
    assert [type(result) for result in results] == [Tagged] * len(results)
    x[:2].add_(5)
    x += 1
    assert type(x) is Tagged and x.tolist() == [6.0, 7.0, 3.0, 4.0]
    assert type(x.detach()) is Tagged


def test_torch_function_sees_the_calls() -> None:
    Logged.log = []
    x = pyburn.ones(2).as_subclass(Logged)
    result = (x * 2).sum()
    assert type(result) is Logged and [name.strip("_") for name in Logged.log] == ["mul", "sum"]


def test_parameters_compute_plain_tensors() -> None:
    assert type(Parameter(pyburn.ones(2)) * 2) is Tensor
