"""Checkpointed parts give the values and gradients of plain ones, and keep nothing in between."""

import gc
import weakref
from typing import ClassVar

import pyburn
import pytest
from pyburn.autograd import Function, grad, gradcheck, gradgradcheck
from pyburn.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

BOTH = pytest.mark.parametrize("use_reentrant", [False, True])


def weights(dtype=None):
    pyburn.manual_seed(3)
    return [pyburn.randn(4, 4, dtype=dtype, requires_grad=True) for _ in range(4)]


def layer(weight):
    def run(x):
        noise = pyburn.rand(x.shape, dtype=x.dtype) > 0.5
        return (x @ weight).tanh() * noise.to(x.dtype)

    return run


def gradients(forward, layers):
    """The result, all gradients and the next random number."""
    pyburn.manual_seed(1)
    x = pyburn.randn(3, 4, requires_grad=True)
    for weight in layers:
        weight.grad = None
    y = forward(x * 2)
    (y * y).sum().backward()
    tensors = [y, x.grad, *(weight.grad for weight in layers), pyburn.rand(1)]
    return [tensor.tolist() for tensor in tensors]


def plain(layers):
    def forward(x):
        for weight in layers:
            x = layer(weight)(x)
        return x

    return forward


@BOTH
def test_gradients_and_random_numbers_are_those_of_a_plain_run(use_reentrant):
    layers = weights()
    expected = gradients(plain(layers), layers)
    got = gradients(lambda x: checkpoint(plain(layers), x, use_reentrant=use_reentrant), layers)
    assert got == expected


@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 4])
def test_sequential_gives_the_same_too(use_reentrant, segments):
    layers = weights()
    expected = gradients(plain(layers), layers)
    chain = [layer(weight) for weight in layers]
    got = gradients(lambda x: checkpoint_sequential(chain, segments, x, use_reentrant=use_reentrant), layers)
    assert got == expected


def test_parameters_get_gradients_when_no_argument_does():
    (weight, *_) = weights()
    x = pyburn.ones(2, 4)
    y = checkpoint(lambda x: x @ weight, x, use_reentrant=False)
    (found,) = grad(y.sum(), [weight])
    assert found.tolist() == [[2.0] * 4] * 4
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        assert not checkpoint(lambda x: x @ weight, x, use_reentrant=True).requires_grad


def test_higher_derivatives():
    (weight, x, *_) = weights(pyburn.float64)

    def part(x, _weight):
        return checkpoint(lambda x: (x @ weight).tanh() ** 2, x, use_reentrant=False)

    assert gradcheck(part, (x, weight))
    assert gradgradcheck(part, (x, weight))


def test_checkpoints_nest():
    def outer(x):
        return checkpoint(lambda t: t.sin(), x.exp(), use_reentrant=False).cos()

    x = weights(pyburn.float64)[0]
    assert gradcheck(lambda x: checkpoint(outer, x, use_reentrant=False), (x,))


def test_arguments_made_of_each_other_count_once():
    """The second argument is made of the first, and both of the part's own weight."""

    def value(x, weight, checkpointed):
        def part(a, b, *, c):
            return a * b.cos() + weight * c

        a = x * weight
        b = a.exp()
        run = checkpoint if checkpointed else lambda function, *args, use_reentrant, **kw: function(*args, **kw)
        return run(part, a, b, c=a + b, use_reentrant=False).sum()

    x, weight = (pyburn.randn(3, dtype=pyburn.float64, requires_grad=True) for _ in range(2))
    for found, expected in zip(
        grad(value(x, weight, True), (x, weight)), grad(value(x, weight, False), (x, weight)), strict=True
    ):
        assert pyburn.allclose(found, expected)
    assert gradgradcheck(lambda x, weight: value(x, weight, True), (x, weight))


def test_an_argument_that_the_part_also_knows_by_itself():
    x = pyburn.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    checkpoint(lambda a: (a * y * x).sum(), y, use_reentrant=False).backward()
    assert x.grad.tolist() == [12.0, 27.0]


def test_structures_and_keywords_pass_through():
    def part(a, *, options):
        return {"list": [a * options["b"], a.detach() > 0, "text"], "tuple": (options["b"].exp(), a)}

    a, b, *_ = weights()
    out = checkpoint(part, a, options={"b": b}, use_reentrant=False)
    (out["list"][0].sum() + out["tuple"][0].sum() + (3 * out["tuple"][1]).sum()).backward()
    assert a.grad.tolist() == (b.detach() + 3).tolist()
    assert pyburn.allclose(b.grad, (a + b.exp()).detach())
    assert out["list"][1].dtype is pyburn.bool
    assert out["list"][2] == "text"


class Marker:
    """Lives as long as the graph node that keeps it."""


class Marked(Function):
    """The exponential, with a marker in its context."""

    markers: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x):
        ctx.marker = Marker()
        Marked.markers.append(weakref.ref(ctx.marker))
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        return grad


@BOTH
def test_what_the_part_computed_is_freed(use_reentrant):
    Marked.markers.clear()
    plain = Marked.apply(pyburn.ones(2, requires_grad=True)).sin()
    assert Marked.markers[-1]() is not None
    y = checkpoint(lambda x: Marked.apply(x).sin(), pyburn.ones(2, requires_grad=True), use_reentrant=use_reentrant)
    assert Marked.markers[-1]() is None
    (y + plain).sum().backward()
    del y, plain
    gc.collect()
    assert len(Marked.markers) == 3
    assert all(reference() is None for reference in Marked.markers)


def test_an_argument_overwritten_since_is_refused():
    x = pyburn.ones(3, requires_grad=True) * 1
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_part_that_gives_another_shape_is_refused():
    calls = []

    def part(x):
        calls.append(1)
        return x.repeat(len(calls))

    y = checkpoint(part, pyburn.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(CheckpointError, match="when computed again"):
        y.sum().backward()


def test_decorator_and_no_grad():
    squared = checkpoint(use_reentrant=False)(lambda x: x * x)
    x = pyburn.tensor([3.0], requires_grad=True)
    squared(x).sum().backward()
    assert x.grad.tolist() == [6.0]
    with pyburn.no_grad():
        assert not squared(x).requires_grad


def test_arguments_are_checked():
    x = pyburn.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="say use_reentrant=False"):
        checkpoint(lambda x: x * 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(lambda x, scale: x * scale, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="determinism_check is 'shape'"):
        checkpoint(lambda x: x, x, use_reentrant=False, determinism_check="shape")
    with pytest.raises(ValueError, match="segments is 3 but must be from 1 to 2"):
        checkpoint_sequential([pyburn.exp, pyburn.exp], 3, x, use_reentrant=False)


def test_a_policy_is_a_wish():
    def policy(ctx, op, *args, **kwargs):
        return CheckpointPolicy.PREFER_SAVE

    x = pyburn.linspace(-1, 1, 5).requires_grad_()
    with set_checkpoint_early_stop(False):
        result = checkpoint(
            lambda x: (x.sin() * x).sum(),
            x,
            use_reentrant=False,
            context_fn=lambda: create_selective_checkpoint_contexts(policy),
        )
    result.backward()
    expected = x.detach().cos() * x.detach() + x.detach().sin()
    assert pyburn.allclose(x.grad, expected)
    with pytest.raises(TypeError, match="must be either a function or a list"):
        create_selective_checkpoint_contexts(3)


@BOTH
@pytest.mark.parametrize("dtype", [pyburn.bfloat16, pyburn.float16])
def test_a_part_is_computed_again_in_its_precision(use_reentrant, dtype):
    """The backward pass runs outside of the block in which the part ran first."""
    weight, gradients = pyburn.full((4, 4), 0.3, requires_grad=True), []

    def product(value):
        return value @ weight

    for part in (product, lambda value: checkpoint(product, value, use_reentrant=use_reentrant)):
        x = pyburn.ones(2, 4, requires_grad=True)
        with pyburn.autocast("cpu", dtype=dtype):
            made = part(x)
        made.float().sum().backward()
        assert made.dtype == dtype
        gradients.append(x.grad)
    assert pyburn.equal(*gradients)
