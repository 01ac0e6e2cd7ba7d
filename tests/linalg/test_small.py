"""Batches of small matrices, which are computed side by side, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from tests.linalg.samples import definite, normal, regular
from tests.oracle import check_error, check_op, to_torch
from tests.widths import WIDTHS, check_file

DTYPES = ["float32", "float64"]
# Sizes around those of groups and of the largest small matrix.
COUNTS = [1, 3, 4, 15, 16, 17, 40]
ROWS = [1, 2, 3, 4, 5, 8, 16, 23, 24, 25]


def near(dtype: str) -> dict[str, float]:
    return {"rtol": 1e-3, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", ROWS)
def test_batches(n: int, dtype: str) -> None:
    for count in COUNTS if n in (3, 24) else [5, 33]:
        a, b = normal(count, n, n) / np.sqrt(n) + 3 * np.eye(n), normal(count, n, 3)

        def run(lib: Any, a: Any, b: Any) -> Any:
            linalg = lib.linalg
            return [
                linalg.det(a.mT / 3),
                linalg.det(a / 3),
                linalg.inv_ex(a),
                linalg.solve_ex(a, b),
                linalg.solve(a, b.mT, left=False),
                linalg.lu_factor_ex(a),
                linalg.cholesky_ex(a @ a.mT),
                linalg.cholesky(a @ a.mT, upper=True),
                linalg.solve_triangular(a, b, upper=True),
                linalg.solve_triangular(a, b, upper=False, unitriangular=True),
                lib.cholesky_solve(b, linalg.cholesky(a @ a.mT)),
            ]

        check_op(lambda lib, a, b: lib.linalg.solve(a, b[..., 0]), a, b, dtypes=[dtype], grad=False, **near(dtype))
        check_op(run, a, b, dtypes=[dtype], grad=False, **near(dtype))


@pytest.mark.parametrize("n", [2, 4, 8])
def test_gradients_of_batches(n: int) -> None:
    a, b = regular(18, n, n), normal(18, n, 2)
    check_op(lambda lib, a: lib.linalg.det(a / n), a, gradgrad=True)
    check_op(lambda lib, a: lib.linalg.inv(a), a, gradgrad=True, atol=1e-7)
    check_op(lambda lib, a, b: lib.linalg.solve(a, b), a, b, gradgrad=True, atol=1e-7)
    check_op(lambda lib, a: lib.linalg.cholesky(a), definite(18, n, n), gradgrad=True, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_some_of_a_batch_are_singular(dtype: str) -> None:
    a = regular(37, 4, 4)
    a[3] = 0.0
    a[20, :, 2] = 0.0
    a[21, 1] = a[21, 0]
    a[36, 3, 3] = np.nan
    a[35, 0, 1] = np.inf
    check_op(lambda lib, a: lib.linalg.lu_factor_ex(a[:35])[1:], a, dtypes=[dtype], grad=False)
    check_op(lambda lib, a: lib.linalg.inv_ex(a[:35]).info, a, dtypes=[dtype], grad=False)
    check_op(lambda lib, a: lib.linalg.solve_ex(a[:35], a[:35]).info, a, dtypes=[dtype], grad=False)
    whole = [at for at in range(37) if at not in (3, 20, 21, 35, 36)]
    check_op(lambda lib, a: lib.linalg.inv_ex(a)[0][whole], a, dtypes=[dtype], grad=False, **near(dtype))
    check_op(lambda lib, a: lib.linalg.solve_ex(a, a[:, :, :1])[0][whole], a, dtypes=[dtype], grad=False, **near(dtype))
    check_op(lambda lib, a: lib.linalg.det(a), a, dtypes=[dtype], grad=False, **near(dtype))
    check_error(lambda lib, a: lib.linalg.inv(a), a[:21], match="(Batch element 3): The diagonal element 1 is zero")
    check_error(lambda lib, a: lib.linalg.lu_factor(a), a[4:21], match="(Batch element 16): U[3,3] is zero")
    check_error(lambda lib, a: lib.linalg.solve(a, a), a[4:21], match="singular")


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_integers(dtype: str) -> None:
    """What has an inverse gets it; which of the others are found to have none is decided by rounding."""
    a = np.random.default_rng(3).integers(-3, 4, (3000, 3, 3))
    ours, theirs = pyburn.tensor(a.tolist(), dtype=getattr(pyburn, dtype)), torch.tensor(a, dtype=getattr(torch, dtype))
    regular = torch.tensor(np.rint(np.linalg.det(a)) != 0)
    info, det = (to_torch(value) for value in (pyburn.linalg.inv_ex(ours).info, pyburn.linalg.det(ours)))
    assert not info[regular].any() and info[~regular].count_nonzero() > 0.5 * len(info[~regular])
    torch.testing.assert_close(det, torch.linalg.det(theirs), rtol=1e-5, atol=1e-5)
    # Where a row is zero there is nothing to round.
    assert info[(theirs == 0).all(-1).any(-1)].all()


def test_some_of_a_batch_are_not_positive_definite() -> None:
    a = definite(20, 5, 5)
    a[2, 0, 0] = -1.0
    a[17, 4, 4] = -1.0
    a[18, 3, 3] = np.nan
    for dtype in DTYPES:
        check_op(lambda lib, a: lib.linalg.cholesky_ex(a).info, a, dtypes=[dtype], grad=False)
    check_error(lambda lib, a: lib.linalg.cholesky(a), a, match="Batch element 2")
    check_error(lambda lib, a: lib.linalg.cholesky(a), a[3:18], match="minor of order 5")
    upper = np.where(np.tri(5) == 1, definite(20, 5, 5), np.nan)
    check_op(lambda lib, a: lib.linalg.cholesky(a), upper, grad=False)


def test_small_matrices_in_any_order() -> None:
    a, b = regular(4, 6, 3, 3), normal(4, 6, 3, 2)
    check_op(lambda lib, a: lib.linalg.inv(a.transpose(0, 1).mT), a, grad=False)
    check_op(lambda lib, a, b: lib.linalg.solve(a[:, ::2].mT, b[:, ::2].flip(-1)), a, b, grad=False)
    check_op(lambda lib, a, b: lib.linalg.solve(a[:1].expand(4, 6, 3, 3), b), a, b, grad=False)
    check_op(lambda lib, a: lib.linalg.det(a.permute(1, 0, 3, 2)), a, grad=False)
    check_op(lambda lib, a: lib.linalg.solve(a, a), a, grad=False, atol=1e-12)


def test_tiny_and_huge_numbers() -> None:
    a = regular(18, 3, 3)
    for factor in (1e-300, 1e300):
        check_op(lambda lib, a, factor=factor: lib.linalg.solve(a * factor, a[..., :1] * factor), a, grad=False)
    check_op(lambda lib, a: lib.linalg.inv(a * 1e-36), a, dtypes=["float32"], grad=False, rtol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9])
def test_eigenvalues_of_batches(n: int, dtype: str) -> None:
    a = normal(21, n, n)
    a[3], a[4], a[5] = 0.0, np.eye(n), np.ones((n, n))
    a[6] *= 1e-30
    a[7] = np.diag(10.0 ** -np.arange(n))
    poisoned = np.where(np.tri(n) == 1, a, np.nan)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    check_op(lambda lib, a: lib.linalg.eigvalsh(a), poisoned, dtypes=[dtype], grad=False, **close)

    def back(lib: Any, a: Any) -> Any:
        values, vectors = lib.linalg.eigh(a)
        return [values, (vectors * values.unsqueeze(-2)) @ vectors.mT, vectors.mT @ vectors]

    check_op(back, poisoned, dtypes=[dtype], grad=False, **close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (4, 4), (8, 8), (9, 9), (5, 3), (3, 5), (16, 8), (2, 16), (17, 2)])
def test_singular_values_of_batches(shape: tuple[int, int], dtype: str) -> None:
    a = normal(21, *shape)
    a[3], a[4], a[5] = 0.0, np.eye(*shape), 1.0
    a[6] *= 1e-30
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    check_op(lambda lib, a: lib.linalg.svdvals(a), a, dtypes=[dtype], grad=False, **close)

    def back(lib: Any, a: Any, full: bool) -> Any:
        u, s, v = lib.linalg.svd(a, full)
        k = s.shape[-1]
        return [s, (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k, :], u.mT @ u, v @ v.mT]

    for full in (False, True):
        check_op(lambda lib, a, full=full: back(lib, a, full), a, dtypes=[dtype], grad=False, **close)


def test_least_squares_of_tiny_and_huge_numbers() -> None:
    rng = np.random.default_rng(5)
    for factor in (1e-36, 1e-24, 1.0, 1e18):
        full = (rng.standard_normal((20, 6, 2)) * factor).astype(np.float32)
        lacking = np.concatenate([full, full.sum(-1, keepdims=True)], -1)
        b = rng.standard_normal((20, 6, 1)).astype(np.float32)
        for a, rank in ((full, 2), (lacking, 2)):
            found = pyburn.linalg.lstsq(pyburn.tensor(a.tolist()), pyburn.tensor(b.tolist()))
            assert found.rank.tolist() == [rank] * 20
            exact = np.linalg.pinv(a.astype(np.float64), rcond=1e-6) @ b
            np.testing.assert_allclose(found.solution.tolist(), exact, rtol=1e-3, atol=1e-3 / factor)


def test_values_that_are_not_finite_or_at_the_ends_of_the_range() -> None:
    a = normal(18, 4, 4)
    a = a + a.swapaxes(-1, -2)
    for factor in (1e-300, 1e-160, 1e-100, 1e-78, 1e78, 1e100, 1e139, 1e160, 1e300):
        scaled = a * factor
        check_op(lambda lib, x: [lib.linalg.eigvalsh(x), lib.linalg.svdvals(x)], scaled, grad=False, rtol=1e-11, atol=0)
    a[17, 2, 1] = np.nan
    for name in ("eigh", "eigvalsh", "svd", "svdvals"):
        check_error(lambda lib, a, name=name: getattr(lib.linalg, name)(a), a)


def test_gradients_of_eigenvalues_of_batches() -> None:
    a = normal(18, 3, 3)
    check_op(lambda lib, a: lib.linalg.eigvalsh(a + a.mT), a, gradgrad=True, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.svdvals(a), a, gradgrad=True, atol=1e-6)


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width: str) -> None:
    check_file(__file__, width)
