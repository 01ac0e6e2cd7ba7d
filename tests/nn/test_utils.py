"""nn.utils against torch's."""

import math

import pyburn
import pytest
import torch

from nn.compare import same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def with_gradients(lib):
    made = [lib.ones(2, 2, requires_grad=True), lib.ones(3, requires_grad=True), lib.ones(1, requires_grad=True)]
    for i, parameter in enumerate(made[:2]):
        parameter.grad = lib.full(tuple(parameter.shape), (-1.0) ** i * (i + 2.0))
    return made


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_clip_by_norm(norm_type, max_norm):
    mine, theirs = with_gradients(pyburn), with_gradients(torch)
    total = pyburn.nn.utils.clip_grad_norm_(mine, max_norm, norm_type)
    same(total, torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type))
    for a, b in zip(mine[:2], theirs[:2], strict=True):
        same(a.grad, b.grad)
    assert mine[2].grad is None


@LIBRARIES
def test_clip_by_value(lib):
    parameters = with_gradients(lib)
    lib.nn.utils.clip_grad_value_(iter(parameters), 2.5)
    assert parameters[0].grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert parameters[1].grad.tolist() == [-2.5, -2.5, -2.5]


@LIBRARIES
def test_norms_that_are_not_finite(lib):
    parameter = lib.ones(1, requires_grad=True)
    parameter.grad = lib.full((1,), math.nan)
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        lib.nn.utils.clip_grad_norm_(parameter, 1.0, error_if_nonfinite=True)
    assert lib.nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


@LIBRARIES
def test_one_vector_of_all_parameters(lib):
    layer = lib.nn.Linear(2, 3)
    vector = lib.nn.utils.parameters_to_vector(layer.parameters())
    assert tuple(vector.shape) == (9,)
    lib.nn.utils.vector_to_parameters(lib.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert layer.bias.tolist() == [6.0, 7.0, 8.0]
    assert layer.weight.requires_grad
