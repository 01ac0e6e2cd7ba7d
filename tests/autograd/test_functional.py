"""autograd.functional gives torch's numbers, in torch's structure."""

import pyburn
import pytest
import torch

FUNCTIONS = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]


def numbers(value):
    """Nested lists of rounded numbers."""
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(numbers(item) for item in value)]
    if hasattr(value, "tolist"):
        return [bool(value.requires_grad), list(value.shape), numbers_of(value.tolist())]
    return value


def numbers_of(nested):
    return [numbers_of(item) for item in nested] if isinstance(nested, list) else round(nested, 9)


def tensors(t):
    x = t.tensor([[0.3, -1.2], [0.7, 2.0]], dtype=t.float64)
    y = t.tensor([1.5, -0.4], dtype=t.float64)
    return x, y


def vector_function(x, y):
    return (x @ y).sin(), (x * x).sum()


def scalar_function(x, y):
    return ((x * x) @ y).exp().sum()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_two_tensors(name, create_graph):
    def run(t):
        x, y = tensors(t)
        x.requires_grad_()
        function = getattr(t.autograd.functional, name)
        if name == "jacobian":
            return function(vector_function, (x, y), create_graph=create_graph)
        if name == "hessian":
            return function(scalar_function, (x, y), create_graph=create_graph)
        if name == "vjp":
            weights = (y * 2, t.tensor(3.0, dtype=t.float64))
            return function(vector_function, (x, y), weights, create_graph=create_graph)
        if name == "jvp":
            return function(vector_function, (x, y), (x * 2, y + 1), create_graph=create_graph)
        return function(scalar_function, (x, y), (x * 2, y + 1), create_graph=create_graph)

    assert numbers(run(pyburn)) == numbers(run(torch))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_tensor(name):
    def run(t):
        function = getattr(t.autograd.functional, name)
        x = t.tensor([0.5], dtype=t.float64)
        arguments = () if name in ("jacobian", "hessian") else (t.tensor([2.0], dtype=t.float64),)
        return (
            function(lambda x: (x**3).sum(), x, *arguments)
            if name != "vjp"
            else function(lambda x: x**3, x, *arguments)
        )

    assert numbers(run(pyburn)) == numbers(run(torch))


def test_results_can_be_differentiated():
    def run(t):
        x, _ = tensors(t)
        x.requires_grad_()
        t.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True).sum().backward()
        return x.grad

    assert numbers(run(pyburn)) == numbers(run(torch))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_independent_outputs(name):
    def run(t, strict):
        x, y = tensors(t)
        function = getattr(t.autograd.functional, name)
        arguments = () if name in ("jacobian", "hessian") else ((x, y),)
        if name == "vjp":
            arguments = (t.tensor(1.0, dtype=t.float64),)
        return function(lambda x, y: (x * x).sum(), (x, y), *arguments, strict=strict)

    assert numbers(run(pyburn, False)) == numbers(run(torch, False))
    for t in (pyburn, torch):
        with pytest.raises(RuntimeError, match="strict mode"):
            run(t, True)


def test_mistakes_are_named():
    functional = pyburn.autograd.functional
    x, y = tensors(pyburn)
    with pytest.raises(TypeError, match="entry 1 is a float"):
        functional.vjp(lambda x, y: x, (x, 1.0))
    with pytest.raises(RuntimeError, match=r"entry 0 of v has shape \[2\] but output 0 has \[2, 2\]"):
        functional.vjp(lambda x: x * 2, x, y)
    with pytest.raises(RuntimeError, match="can only be None"):
        functional.jvp(lambda x: x * 2, x)
    with pytest.raises(RuntimeError, match="single element"):
        functional.hessian(lambda x: x * 2, x)
    with pytest.raises(ValueError, match="strategy is 'sideways'"):
        functional.jacobian(lambda x: x * 2, x, strategy="sideways")
