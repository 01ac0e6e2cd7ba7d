"""Eigenvalues of matrices that need not be symmetric, against torch: sorted, and vectors by what they must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
from pyburn.autograd.gradcheck import gradcheck, gradgradcheck

from tests.linalg.samples import definite, normal
from tests.oracle import check_error, check_op

SHAPES = [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)]


def sorted_parts(lib: Any, a: Any) -> Any:
    """What does not depend on the order: sorted real parts and sorted absolute values."""
    values = lib.linalg.eigvals(a)
    return values.real.sort(-1).values, values.abs().sort(-1).values


@pytest.mark.parametrize("shape", SHAPES)
def test_eigvals(shape: tuple[int, ...]) -> None:
    check_op(sorted_parts, normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-5)
    check_op(sorted_parts, normal(*shape), dtypes=["float32"], grad=False, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [1, 2, 5, 70, 100])
def test_eig_satisfies_its_definition(size: int) -> None:
    a = normal(size, size)
    values, vectors = (part.numpy() for part in pyburn.linalg.eig(pyburn.tensor(a)))
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), np.ones(size), atol=1e-12)
    ours, theirs = (np.sort_complex(np.round(found, 8)) for found in (values, np.linalg.eigvals(a)))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_symmetric_and_defective_matrices() -> None:
    values = pyburn.linalg.eigvals(pyburn.tensor(definite(4, 4)))
    np.testing.assert_allclose(np.sort(values.real.numpy()), np.linalg.eigvalsh(definite(4, 4)), atol=1e-10)
    assert values.imag.abs().sum().item() == 0
    jordan = pyburn.tensor([[2.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(pyburn.linalg.eig(jordan)[0].numpy(), [2.0, 2.0], atol=1e-3)


def test_gradients_by_finite_differences() -> None:
    def invariant(x: Any) -> Any:
        values, vectors = pyburn.linalg.eig(x)
        order = values.abs().detach().argsort(-1)
        return values.real.gather(-1, order), vectors.abs().sum(-2).gather(-1, order)

    a = pyburn.tensor(normal(3, 3, seed=4), requires_grad=True)
    assert gradcheck(invariant, (a,)) and gradgradcheck(invariant, (a,))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    a = normal(4, 4)
    a[1, 2] = value
    check_error(lambda lib, a: lib.linalg.eig(a), a, same_class=True, match="should not contain infs or NaNs")
    # torch's eigvals reads outside its memory here, so ours is asked alone.
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        pyburn.linalg.eigvals(pyburn.tensor(a))


def test_mistakes() -> None:
    check_error(lambda lib, a: lib.linalg.eig(a), normal(2, 3), same_class=True)
    check_error(lambda lib, a: lib.linalg.eigvals(a), normal(3), same_class=True)
