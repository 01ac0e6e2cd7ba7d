"""numpy's `axis` and `keepdims`, numpy's own functions on tensors, and keyword forms of sizes."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_error, check_op

X = np.arange(12.0, dtype="float32").reshape(3, 4) - 4

REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "std", "var", "logsumexp", "nansum", "median", "max"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axis_and_keepdims_of_functions_and_methods(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, axis=1, keepdims=True), X)
    if name != "logsumexp":
        check_op(lambda lib, x: getattr(x, name)(axis=0), X)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax", "sort", "unbind", "squeeze", "argmax", "argsort"])
def test_axis_without_keepdims(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)(x, axis=0), X, grad=name not in ("argmax", "argsort"))


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_axis_of_joining(name: str) -> None:
    check_op(lambda lib, x: getattr(lib, name)([x, x], axis=1), X)


@pytest.mark.parametrize("name", ["mean", "sum", "prod", "max", "min", "any", "argmax"])
def test_numpy_reduces_tensors(name: str) -> None:
    function = getattr(np, name)
    assert float(function(pyburn.tensor(X))) == float(function(X))
    if name in ("mean", "sum", "prod"):
        np.testing.assert_allclose(function(pyburn.tensor(X), axis=0).numpy(), function(X, axis=0))


def test_sizes_by_name() -> None:
    check_op(lambda lib, x: x.flip(dims=(0, 1)), X)
    check_op(lambda lib, x: lib.flip(x, dims=[1]), X)
    check_op(lambda lib, x: x.repeat(repeats=(2, 1)), X)
    check_op(lambda lib, x: x.tile(dims=(2, 1)), X)


def test_inplace_functions_write_into_their_argument() -> None:
    for name in ("abs_", "exp_", "zero_", "sigmoid_", "neg_"):
        x = pyburn.tensor(X)
        assert getattr(pyburn, name)(x) is x
        np.testing.assert_allclose(x.numpy(), getattr(torch, name)(torch.tensor(X)).numpy(), rtol=1e-6)
    check_op(lambda lib, x: lib.fill(x, 3), X, grad=False)


NAMED = {
    "aminmax": lambda lib, x: lib.aminmax(x, axis=1, keepdims=True),
    "chunk": lambda lib, x: lib.chunk(x, 2, axis=1),
    "cosine_similarity": lambda lib, x: lib.cosine_similarity(x, x + 1, axis=0),
    "cross": lambda lib, x: lib.cross(x, x**2, axis=0),
    "cumsum_": lambda lib, x: (x * 1).cumsum_(axis=1),
    "fft": lambda lib, x: lib.fft.rfft(x, axis=0).abs(),
    "fft2": lambda lib, x: lib.fft.fft2(x, axis=(0, 1)).real,
    "first tensor": lambda lib, x: lib.sum(x=x, axis=1) + lib.mean(a=x, axis=1) + lib.softmax(x1=x, axis=0)[:, 0],
    "second tensor": lambda lib, x: lib.max(x1=x, x2=x.flip(0)),
    "index_add": lambda lib, x: x.index_add(axis=0, index=lib.tensor([1]), source=x[:1]),
    "index_fill": lambda lib, x: x.index_fill(axis=0, index=lib.tensor([1]), value=2.0),
    "renorm": lambda lib, x: lib.renorm(x, 2, axis=0, maxnorm=1),
    "scatter": lambda lib, x: x.scatter(axis=0, index=lib.tensor([[1, 0, 2, 0]]), src=x[:1]),
    "trapezoid's own x": lambda lib, x: lib.trapezoid(x, x=lib.arange(4.0) * 2),
    "gradient": lambda lib, x: lib.gradient(x, axis=1),
    "linalg.cross": lambda lib, x: lib.linalg.cross(x, x**2, axis=0),
    "linalg.matrix_norm": lambda lib, x: lib.linalg.matrix_norm(x, keepdims=True),
    "linalg.norm": lambda lib, x: lib.linalg.norm(x, axis=1, keepdims=True),
    "linalg.vector_norm": lambda lib, x: lib.linalg.vector_norm(x, axis=0, keepdims=False),
    "logcumsumexp": lambda lib, x: x.logcumsumexp(axis=1),
    "pairwise_distance": lambda lib, x: lib.pairwise_distance(x, x * 2, keepdims=True),
    "repeat_interleave": lambda lib, x: x.repeat_interleave(2, axis=1),
    "tensor_split": lambda lib, x: x.tensor_split(2, axis=1),
    "trapezoid": lambda lib, x: lib.trapezoid(x, axis=0),
}


@pytest.mark.parametrize("name", NAMED)
def test_axis_where_programs_say_it(name: str) -> None:
    check_op(NAMED[name], X, rtol=1e-4, atol=1e-4)


def test_a_name_given_twice_is_refused() -> None:
    for call in (
        lambda lib, x: lib.sum(x, axis=0, dim=0),
        lambda lib, x: lib.mean(x, x=x),
        lambda lib, x: x.sum(x=x),
        lambda lib, x: lib.mean(x2=x),
    ):
        check_error(call, X, same_class=True)
