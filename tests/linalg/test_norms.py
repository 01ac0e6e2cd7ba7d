"""Norms, functions of matrices, distances and covariances against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest

from tests.linalg.samples import normal, regular
from tests.oracle import check_error, check_op

ORDERS: list[Any] = [0, 0.5, 1, 2, 3, -1, -2.5, np.inf, -np.inf]


@pytest.mark.parametrize("ord", ORDERS)
@pytest.mark.parametrize("dim", [None, 0, (0, 2), (-1,)])
def test_vector_norm(ord: Any, dim: Any) -> None:
    check_op(lambda lib, x: lib.linalg.vector_norm(x, ord, dim), normal(2, 3, 4), gradgrad=ord not in (0.5,))
    check_op(lambda lib, x: lib.linalg.vector_norm(x, ord, dim, keepdim=True), normal(2, 3, 4), grad=False)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norm(ord: Any) -> None:
    check_op(lambda lib, x: lib.linalg.matrix_norm(x, ord), normal(2, 3, 4), gradgrad=True, atol=1e-6)
    check_op(lambda lib, x: lib.linalg.matrix_norm(x, ord, (2, 0), keepdim=True), normal(2, 3, 4), atol=1e-6)
    check_op(lambda lib, x: lib.linalg.norm(x, ord), normal(3, 4), atol=1e-6)
    check_op(lambda lib, x: lib.linalg.norm(x, ord, (0, 2)), normal(2, 3, 4), atol=1e-6)


def test_norm_chooses_by_dimensions() -> None:
    check_op(lambda lib, x: lib.linalg.norm(x), normal(2, 3, 4))
    check_error(lambda lib, x: lib.linalg.norm(x, dim=(0, 1, 2)), normal(2, 3, 4))
    check_op(lambda lib, x: lib.linalg.norm(x, 3, dim=1), normal(2, 3, 4))
    check_op(lambda lib, x: lib.linalg.norm(x, 3), normal(4))
    check_op(lambda lib, x: lib.linalg.norm(x, dtype=lib.float64), normal(4).astype("float32"))
    check_error(lambda lib, x: lib.linalg.norm(x, 2), normal(2, 3, 4))
    check_error(lambda lib, x: lib.linalg.norm(x, "what"), normal(3, 4))
    check_error(lambda lib, x: lib.linalg.matrix_norm(x, 3), normal(3, 4), same_class=True)
    check_error(lambda lib, x: lib.linalg.matrix_norm(x, dim=(0, 0)), normal(3, 4), same_class=True)
    check_error(lambda lib, x: lib.linalg.vector_norm(x, np.inf), normal(0), same_class=True)


@pytest.mark.parametrize("p", ["fro", "nuc", 1, 2, 3.0, np.inf, None])
def test_older_norm(p: Any) -> None:
    check_op(lambda lib, x: lib.norm(x, p), normal(3, 4), atol=1e-6)
    check_op(lambda lib, x: x.norm(p, (0, 1), True), normal(3, 4), atol=1e-6)


def test_matrix_exp() -> None:
    for scale in (0.0, 0.1, 1.0, 10.0):
        check_op(lambda lib, a: lib.linalg.matrix_exp(a), scale * normal(2, 3, 3), gradgrad=True, rtol=1e-6, atol=1e-5)
    mixed = np.stack([0.01 * normal(3, 3), 20.0 * normal(3, 3)])
    check_op(lambda lib, a: lib.matrix_exp(a), mixed, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: a.matrix_exp(), normal(3, 3), dtypes=["float32"], rtol=1e-4, atol=1e-4)
    check_op(lambda lib, a: lib.matrix_exp(a), normal(0, 0))
    assert pyburn.matrix_exp(pyburn.full((2, 2), float("nan"))).isnan().all()


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_matrix_power(n: int) -> None:
    check_op(lambda lib, a: lib.linalg.matrix_power(a, n), regular(2, 3, 3), rtol=1e-6, atol=1e-6)


def test_tensors_as_matrices() -> None:
    check_op(lambda lib, a: lib.linalg.tensorinv(a), regular(6, 6).reshape(2, 3, 6), gradgrad=True)
    check_op(lambda lib, a: lib.linalg.tensorinv(a, ind=1), regular(6, 6).reshape(6, 2, 3))
    check_op(
        lambda lib, a, b: lib.linalg.tensorsolve(a, b), regular(6, 6).reshape(2, 3, 6), normal(2, 3), gradgrad=True
    )
    check_op(lambda lib, a, b: lib.linalg.tensorsolve(a, b, dims=(0, 2)), normal(3, 6, 2), normal(6))
    check_error(lambda lib, a: lib.linalg.tensorinv(a), normal(2, 3, 5))


def test_vectors() -> None:
    check_op(lambda lib, x: lib.linalg.vander(x, N=4), normal(2, 3))
    check_op(lambda lib, x: lib.linalg.vander(x), [1, 2, 3], grad=False)
    check_op(lambda lib, x, y: lib.linalg.vecdot(x, y, dim=0), normal(3, 2), normal(3, 1))
    check_op(lambda lib, x, y: lib.linalg.cross(x, y, dim=0), normal(3, 2), normal(3, 1))
    check_op(lambda lib, x: lib.linalg.diagonal(x), normal(2, 3, 4))
    check_op(lambda lib, x, y: lib.linalg.matmul(x, y), normal(2, 3), normal(3, 4))
    check_op(lambda lib, x, y, z: lib.linalg.multi_dot([x, y, z]), normal(2, 3), normal(3, 4), normal(4, 2))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
def test_cdist(p: float) -> None:
    check_op(lambda lib, a, b: lib.cdist(a, b, p), normal(2, 3, 4), normal(2, 5, 4))
    check_op(lambda lib, a, b: lib.cdist(a, b, p), normal(2, 1, 3, 4), normal(5, 4))
    check_op(lambda lib, a, b: lib.cdist(a, b, p), normal(30, 4), normal(28, 4), rtol=1e-6, atol=1e-6)


def test_cdist_of_floats_by_absolute_differences() -> None:
    a, b = normal(2, 7, 5), normal(2, 66, 5)
    b[0, 3] = a[0, 2]
    check_op(lambda lib, a, b: lib.cdist(a, b, 1), a, b, dtypes=["float32"], rtol=1e-5, atol=1e-5)
    check_op(lambda lib, a, b: lib.cdist(a[:, ::2], b.flip(0), 1), a, b, dtypes=["float32"], rtol=1e-5, atol=1e-5)
    for left, right in (((0, 2), (3, 2)), ((3, 0), (2, 0))):
        check_op(lambda lib, a, b: lib.cdist(a, b, 1), normal(*left), normal(*right), dtypes=["float32"])


def test_cdist_at_zero_and_nothing() -> None:
    x = normal(3, 2)
    check_op(lambda lib, a: lib.cdist(a, a, compute_mode="donot_use_mm_for_euclid_dist"), x)
    check_op(lambda lib, a, b: lib.cdist(a, b), normal(0, 2), normal(3, 2))
    check_op(lambda lib, a, b: lib.cdist(a, b), normal(3, 0), normal(2, 0))
    check_error(lambda lib, a, b: lib.cdist(a, b), normal(3, 2), normal(3, 3))
    check_error(lambda lib, a, b: lib.cdist(a, b, p=-1), normal(3, 2), normal(3, 2))


def test_cov_and_corrcoef() -> None:
    counts, weights = np.array([1, 2, 0, 3]), np.array([0.5, 1.0, 0.2, 2.0])
    check_op(lambda lib, x: (lib.cov(x), x.corrcoef()), normal(3, 4), rtol=1e-6, atol=1e-6)
    check_op(lambda lib, x: lib.cov(x, correction=0), normal(4))
    check_op(lambda lib, x, f: lib.cov(x, fweights=f), normal(3, 4), counts)
    check_op(lambda lib, x, w: lib.cov(x, aweights=w), normal(3, 4), weights)
    check_op(lambda lib, x, f, w: x.cov(fweights=f, aweights=w), normal(3, 4), counts, weights)
    check_op(lambda lib, x: lib.cov(x), [[1, 2, 4], [3, 1, 1]], grad=False)
    check_error(lambda lib, x: lib.cov(x), normal(2, 3, 4), same_class=True)
    check_error(lambda lib, x, f: lib.cov(x, fweights=f), normal(3, 4), -counts, same_class=True)


def test_renorm() -> None:
    check_op(lambda lib, x: lib.renorm(x, 2, 0, 1.0), normal(3, 4), rtol=1e-6, atol=1e-6)
    check_op(lambda lib, x: lib.renorm(x, 1, -1, 2.0), normal(3, 4, 2), rtol=1e-6, atol=1e-6)
    check_op(lambda lib, x: x.clone().renorm_(2, 0, 1.0), normal(3, 4), rtol=1e-6, atol=1e-6)
    check_error(lambda lib, x: lib.renorm(x, 2, 0, -1.0), normal(3, 4), same_class=True)
    check_error(lambda lib, x: lib.renorm(x, 2, 0, 1.0), normal(3), same_class=True)
