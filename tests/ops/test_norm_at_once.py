"""Normalizations by one native call, and what that call leaves to the slower way, against torch."""

import numpy as np
import pyburn
import pytest
import torch

DTYPES = ["float32", "float64"]


def close(ours, theirs, tolerance=1e-5):
    assert list(ours.shape) == list(theirs.shape)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(
        ours.detach().double().numpy(), theirs.detach().double().numpy(), tolerance, tolerance, equal_nan=True
    )


def both(make):
    return make(pyburn), make(torch)


def numbers(lib, shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return lib.tensor(values.tolist(), dtype=getattr(lib, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 5, 5), (2, 3, 9), (2, 3, 7), (4, 3), (1, 2, 2, 2, 2)])
def test_batch_norm_with_its_running_statistics(dtype, training, shape):
    def run(lib):
        x = numbers(lib, shape, dtype).requires_grad_()
        weight, bias, mean = (numbers(lib, shape[1], dtype, seed) for seed in (1, 2, 3))
        weight.requires_grad_()
        var = numbers(lib, shape[1], dtype, 4).square() + 0.5
        y = lib.nn.functional.batch_norm(x, mean, var, weight, bias, training, 0.3)
        (y * numbers(lib, shape, dtype, 5)).sum().backward()
        return y, x.grad, weight.grad, mean, var

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("shape", "groups"), [((3, 4, 5, 5), 2), ((2, 6, 9), 3), ((2, 3, 7), 1), ((4, 3), 3), ((1, 5, 17), 5)]
)
def test_group_norm(dtype, weighted, shape, groups):
    def run(lib):
        x = numbers(lib, shape, dtype).requires_grad_()
        weight, bias = (numbers(lib, shape[1], dtype, seed).requires_grad_() for seed in (1, 2))
        y = lib.nn.functional.group_norm(x, groups, *((weight, bias) if weighted else ()))
        (y * numbers(lib, shape, dtype, 5)).sum().backward()
        return [y, x.grad, *([weight.grad, bias.grad] if weighted else [])]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-4)


def test_group_norm_of_unusual_inputs():
    def run(lib):
        norm = lib.nn.functional.group_norm
        x, weight = numbers(lib, (2, 4, 3, 5)), numbers(lib, (4,), seed=1)
        last = x.to(memory_format=lib.channels_last)
        return [norm(x.transpose(2, 3), 2, weight), norm(last, 2, weight), norm(x.half(), 2), norm(x[:, ::2], 1)]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 2e-3)
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 17), (1, 1), (40, 131)])
def test_rms_norm(dtype, weighted, shape):
    def run(lib, eps):
        x = numbers(lib, shape, dtype).requires_grad_()
        weight = numbers(lib, shape[-1:], dtype, 1).requires_grad_() if weighted else None
        y = lib.nn.functional.rms_norm(x, shape[-1:], weight, eps)
        (y * numbers(lib, shape, dtype, 2)).sum().backward()
        return [y, x.grad, *([weight.grad] if weighted else [])]

    for eps in (None, 0.1):
        for ours, theirs in zip(*both(lambda lib, eps=eps: run(lib, eps)), strict=True):
            close(ours, theirs, 1e-4)


def test_rms_norm_of_unusual_inputs():
    def run(lib):
        f = lib.nn.functional.rms_norm
        x, weight = numbers(lib, (5, 8)), numbers(lib, (16,), seed=1)[::2]
        odd = x.clone()
        odd[1, 2], odd[2, 3], odd[3] = float("nan"), float("inf"), 0.0
        whole = f(x, (5, 8), numbers(lib, (5, 8), seed=2))
        return f(x.t(), (5,)), f(x, (8,), weight), f(x.half(), (8,)).float(), f(odd, (8,)), whole, f(x[:0], (8,))

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-3)


@pytest.mark.parametrize("change", ["half", "transposed", "strided weight", "nan"])
def test_layer_norm_of_unusual_inputs(change):
    def run(lib):
        x, weight, bias = numbers(lib, (5, 8)), numbers(lib, (8,), seed=1), numbers(lib, (8,), seed=2)
        if change == "half":
            x, weight, bias = x.half(), weight.half(), bias.half()
        if change == "transposed":
            x = numbers(lib, (8, 5)).t()
        if change == "strided weight":
            weight = numbers(lib, (16,), seed=1)[::2]
        if change == "nan":
            x[1, 2] = float("nan")
        x.requires_grad_()
        y = lib.nn.functional.layer_norm(x, (8,), weight, bias)
        y.float().square().sum().backward()
        return y, x.grad

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, 1e-2 if change == "half" else 1e-4)


@pytest.mark.parametrize("shape", [(4,), (2, 8), (-8,), ()])
def test_layer_norm_refuses_other_shapes(shape):
    for lib in (pyburn, torch):
        with pytest.raises(RuntimeError):
            lib.nn.functional.layer_norm(lib.ones(5, 8), shape)


def test_parameters_of_another_size_are_refused():
    for lib in (pyburn, torch):
        with pytest.raises(RuntimeError):
            lib.nn.functional.layer_norm(lib.ones(5, 8), (8,), lib.ones(7))
        with pytest.raises(RuntimeError):
            lib.nn.functional.batch_norm(lib.ones(2, 3, 9), None, None, lib.ones(2), None, True)
        with pytest.raises(RuntimeError):
            lib.nn.functional.batch_norm(lib.ones(2, 3, 9), lib.ones(2), lib.ones(2), training=True)
        with pytest.raises(RuntimeError):
            lib.nn.functional.group_norm(lib.ones(2, 3, 9), 2)
        with pytest.raises(RuntimeError):
            lib.nn.functional.group_norm(lib.ones(2, 3, 9), 3, lib.ones(2))


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm", "batch_norm", "group_norm"])
def test_nodes_are_named_as_in_torch(kind):
    def run(lib):
        x = lib.ones(2, 3, 9, requires_grad=True)
        if kind == "group_norm":
            return type(lib.nn.functional.group_norm(x, 3).grad_fn).__name__
        if kind != "batch_norm":
            return type(getattr(lib.nn.functional, kind)(x, (9,)).grad_fn).__name__
        return type(lib.nn.functional.batch_norm(x, None, None, training=True).grad_fn).__name__

    ours, theirs = both(run)
    assert ours == theirs
