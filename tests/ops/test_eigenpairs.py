"""lobpcg: extreme eigenpairs, against torch and against eigh."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_error

RANDOM = np.random.default_rng(0)


def matrix(size=40, shift=0.0):
    a = RANDOM.normal(size=(size, size))
    return a @ a.T + shift * np.eye(size)


A, B = matrix(), matrix(shift=5.0)


def pairs(lib, dtype="float64", given=A, **options):
    lib.manual_seed(0)
    a = lib.tensor(given, dtype=getattr(lib, dtype))
    if "B" in options:
        options["B"] = lib.tensor(options["B"], dtype=a.dtype)
    if "iK" in options:
        options["iK"] = lib.linalg.inv(a)
    values, vectors = lib.lobpcg(a, **options)
    # A vector may have either sign.
    return values, vectors.abs()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "options",
    [{}, {"k": 3}, {"k": 3, "largest": False}, {"k": 2, "n": 5}, {"k": 2, "B": B}, {"k": 2, "B": B, "largest": False},
     {"k": 2, "iK": True, "largest": False}, {"k": 2, "method": "basic"}, {"k": 2, "niter": 0}],
)  # fmt: skip
def test_pairs_are_torchs(options, dtype):
    (values, vectors), (theirs, columns) = pairs(pyburn, dtype, **options), pairs(torch, dtype, **options)
    exact = dtype == "float64"
    scale = 1e-6 if exact else 2e-3
    np.testing.assert_allclose(values.numpy(), theirs.numpy(), rtol=scale, atol=scale)
    np.testing.assert_allclose(vectors.numpy(), columns.numpy(), atol=1e-4 if exact else 5e-2)


@pytest.mark.parametrize("largest", [True, False])
def test_the_extreme_ones_are_found(largest):
    expected = np.linalg.eigvalsh(A)[::-1][:4] if largest else np.linalg.eigvalsh(A)[:4]
    values, vectors = pyburn.lobpcg(pyburn.tensor(A), k=4, largest=largest)
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-8)
    np.testing.assert_allclose((vectors.mT @ vectors).numpy(), np.eye(4), atol=1e-10)
    assert not values.requires_grad


def test_sparse_matrices_and_batches():
    dense = pyburn.tensor(np.where(np.abs(A) > 3, A, 0.0))
    found, expected = pyburn.lobpcg(dense.to_sparse(), k=2)[0], pyburn.lobpcg(dense, k=2)[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-8)
    many = pyburn.tensor(np.stack([A, B, A * 2]).reshape(3, 1, 40, 40))
    values, vectors = pyburn.lobpcg(many, k=2)
    assert values.shape == (3, 1, 2) and vectors.shape == (3, 1, 40, 2)
    np.testing.assert_allclose((many @ vectors).numpy(), (vectors * values.unsqueeze(-2)).numpy(), atol=1e-4)


def test_gradients():
    grads = []
    for lib in (pyburn, torch):
        lib.manual_seed(0)
        a = lib.tensor(A, requires_grad=True)
        values, vectors = lib.lobpcg(a, k=2, tol=1e-12)
        (values.sum() + (vectors**4).sum()).backward()
        grads.append((a.grad + a.grad.mT).numpy())
    np.testing.assert_allclose(grads[0], grads[1], atol=1e-6)


def test_gradients_with_a_second_matrix():
    """torch has none: checked by differences, along symmetric changes."""
    a, b = (pyburn.tensor(m[:9, :9].copy(), requires_grad=True) for m in (A, B))

    def values(a, b):
        return pyburn.lobpcg((a + a.mT) / 2, k=2, B=(b + b.mT) / 2, largest=False)[0]

    assert pyburn.autograd.gradcheck(values, (a, b))


def test_starts_and_ends():
    x = pyburn.tensor(RANDOM.normal(size=(40, 2)))
    few, many = (pyburn.lobpcg(pyburn.tensor(A), X=x, niter=n)[0] for n in (1, 200))
    assert few.shape == (2,) and bool((few < many).all())
    zero = pyburn.lobpcg(pyburn.zeros(9, 9), k=2)[0]
    assert zero.tolist() == [0.0, 0.0]
    for call in [
        lambda lib: lib.lobpcg(lib.eye(5), k=2), lambda lib: lib.lobpcg(lib.ones(3, 4)),
        lambda lib: lib.lobpcg(lib.ones(9)),
        lambda lib: lib.lobpcg(lib.eye(9), k=0), lambda lib: lib.lobpcg(lib.eye(9, dtype=lib.int64)),
        lambda lib: lib.lobpcg(lib.eye(9) * float("nan")),
    ]:  # fmt: skip
        check_error(call)
