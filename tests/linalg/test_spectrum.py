"""Singular values, eigenvalues, and what they decide, against torch; vectors are compared without their signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
from pyburn.autograd.gradcheck import gradcheck, gradgradcheck

from tests.linalg.samples import definite, normal, regular
from tests.oracle import check_error, check_op

SHAPES = [(3, 3), (2, 5, 3), (2, 3, 5), (1, 4), (4, 1), (0, 0), (3, 0), (0, 3), (0, 2, 2)]


def unsigned_svd(lib: Any, a: Any, full: bool) -> Any:
    u, s, vh = lib.linalg.svd(a, full_matrices=full)
    size = s.shape[-1]
    return u.narrow(-1, 0, size).abs(), s, vh.narrow(-2, 0, size).abs()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(shape: tuple[int, ...], full: bool) -> None:
    check_op(lambda lib, a: unsigned_svd(lib, a, full), normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-5)
    check_op(
        lambda lib, a: unsigned_svd(lib, a, full), normal(*shape), dtypes=["float32"], grad=False, rtol=1e-3, atol=1e-4
    )
    check_op(lambda lib, a: lib.linalg.svdvals(a), normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-5)
    a = pyburn.tensor(normal(*shape))
    u, s, vh = pyburn.linalg.svd(a, full_matrices=full)
    size = s.shape[-1]
    np.testing.assert_allclose(
        (u[..., :size] * s[..., None, :] @ vh[..., :size, :]).numpy(), normal(*shape), atol=1e-12
    )
    for one in (u, vh.mT):
        unit = np.broadcast_to(np.eye(one.shape[-1]), (*one.shape[:-2], one.shape[-1], one.shape[-1]))
        np.testing.assert_allclose((one.mT @ one).numpy(), unit, atol=1e-12)


def test_older_svd() -> None:
    a = pyburn.tensor(normal(4, 3))
    u, s, v = pyburn.svd(a)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), normal(4, 3), atol=1e-12)
    assert a.svd(some=False)[0].shape == (4, 4)
    empty = pyburn.svd(a, compute_uv=False)
    assert empty[0].shape == (4, 4) and empty[0].abs().sum().item() == 0
    np.testing.assert_allclose(empty[1].numpy(), s.numpy())


@pytest.mark.parametrize("size", [60, 130])
def test_larger_spectra(size: int) -> None:
    check_op(lambda lib, a: lib.linalg.svdvals(a), normal(size, size - 7), grad=False, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.eigvalsh(a), normal(size, size), grad=False, rtol=1e-6, atol=1e-6)
    values, vectors = pyburn.linalg.eigh(pyburn.tensor(definite(size, size)))
    np.testing.assert_allclose((vectors * values @ vectors.mT).numpy(), definite(size, size), atol=1e-9)


def test_repeated_and_extreme_values() -> None:
    for scale in (1e-30, 1.0, 1e30):
        check_op(lambda lib, a: lib.linalg.svdvals(a), scale * np.eye(5), grad=False, rtol=1e-6)
        check_op(
            lambda lib, a: lib.linalg.eigvalsh(a), scale * np.ones((5, 5)), grad=False, rtol=1e-6, atol=1e-6 * scale
        )
    # Near the ends of the range faer alone gives wrong values or none.
    for scale in (1e-310, 1e-308, 1e306):
        x = pyburn.tensor(scale * np.ones((40, 40)))
        np.testing.assert_allclose(pyburn.linalg.svdvals(x)[0].item(), 40 * scale, rtol=1e-9)
        np.testing.assert_allclose(pyburn.linalg.eigvalsh(x)[-1].item(), 40 * scale, rtol=1e-9)
        np.testing.assert_allclose(pyburn.linalg.eigvals(x).real.amax().item(), 40 * scale, rtol=1e-9)
    check_op(lambda lib, a: lib.linalg.svdvals(a), np.zeros((3, 4)), grad=False)
    check_op(lambda lib, a: lib.linalg.eigvalsh(a), np.zeros((4, 4)), grad=False)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(shape: tuple[int, ...], uplo: str) -> None:
    def run(lib: Any, a: Any) -> Any:
        values, vectors = lib.linalg.eigh(a, uplo)
        return values, vectors.abs()

    check_op(run, normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-5)
    check_op(lambda lib, a: lib.linalg.eigvalsh(a, uplo), normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-5)
    check_op(lambda lib, a: lib.linalg.eigvalsh(a, uplo), normal(*shape), dtypes=["float32"], rtol=1e-4, atol=1e-4)


def test_gradients_by_finite_differences() -> None:
    def singular(x: Any) -> Any:
        u, s, vh = pyburn.linalg.svd(x, full_matrices=False)
        return u.abs(), s, vh.abs(), u @ vh

    def symmetric(x: Any) -> Any:
        values, vectors = pyburn.linalg.eigh(x + x.mT)
        return values, vectors.abs()

    for shape in ((3, 3), (4, 3), (3, 4)):
        a = pyburn.tensor(normal(*shape), requires_grad=True)
        assert gradcheck(singular, (a,)) and gradgradcheck(singular, (a,))
        assert gradcheck(pyburn.linalg.pinv, (a,)) and gradgradcheck(pyburn.linalg.pinv, (a,))
    a = pyburn.tensor(normal(3, 3), requires_grad=True)
    assert gradcheck(symmetric, (a,)) and gradgradcheck(symmetric, (a,))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [2, 40])
def test_values_that_are_not_finite_are_refused(value: float, size: int) -> None:
    batch = np.stack([normal(size, size), normal(size, size)])
    batch[1, 1, 0] = value
    x = pyburn.tensor(batch.tolist())
    for name in ("svd", "svdvals", "eigh", "eigvalsh"):
        with pytest.raises(
            pyburn.linalg.LinAlgError, match=rf"linalg.{name}: \(Batch element 1\): The algorithm failed"
        ):
            getattr(pyburn.linalg, name)(x)
    if np.isnan(value):
        check_error(lambda lib, a: lib.linalg.svd(a), batch, match="input matrix contained non-finite values")


@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (2, 3, 5), (3, 0), (0, 3)])
def test_pinv(shape: tuple[int, ...]) -> None:
    check_op(lambda lib, a: lib.linalg.pinv(a), normal(*shape), gradgrad=True, rtol=1e-5, atol=1e-6)
    check_op(lambda lib, a: lib.pinverse(a) + a.pinverse(), normal(*shape), rtol=1e-5, atol=1e-6)


def test_pinv_with_tolerances() -> None:
    low = normal(2, 4, 2) @ normal(2, 2, 5)
    check_op(lambda lib, a: lib.linalg.pinv(a), low, rtol=1e-5, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.pinv(a, atol=0.5, rtol=0.1), normal(4, 5), grad=False)
    check_op(lambda lib, a, t: lib.linalg.pinv(a, atol=t), normal(2, 4, 5), np.array([0.1, 1.0]), grad=False)
    check_op(lambda lib, a: lib.linalg.pinv(a, hermitian=True), definite(3, 3), grad=False)


def test_matrix_rank() -> None:
    low = normal(2, 4, 2) @ normal(2, 2, 5)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a), low, grad=False)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a, tol=1.0), low, grad=False)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a, atol=1.0, rtol=0.1), low, grad=False)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a, hermitian=True), definite(3, 3), grad=False)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a), normal(2, 0, 3), grad=False)
    check_op(lambda lib, a: lib.linalg.matrix_rank(a), np.zeros((2, 2)), grad=False)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 5), (2, 5, 3)])
def test_lstsq(driver: str | None, shape: tuple[int, ...]) -> None:
    right = (*shape[:-1], 2)
    check_op(lambda lib, a, b: lib.linalg.lstsq(a, b, driver=driver), normal(*shape), normal(*right), atol=1e-6)


def test_lstsq_of_vectors_and_low_rank() -> None:
    check_op(lambda lib, a, b: lib.linalg.lstsq(a, b).solution, normal(2, 5, 3), normal(2, 5), gradgrad=True, atol=1e-6)
    low = normal(6, 2) @ normal(2, 4)
    check_op(lambda lib, a, b: lib.linalg.lstsq(a, b, driver="gelsd"), low, normal(6, 2), grad=False, atol=1e-6)
    check_op(lambda lib, a, b: lib.linalg.lstsq(a, b), normal(3, 0), normal(3, 2), grad=False)
    check_error(lambda lib, a, b: lib.linalg.lstsq(a, b), normal(3, 2), normal(4, 2))
    check_error(lambda lib, a, b: lib.linalg.lstsq(a, b, driver="other"), normal(3, 2), normal(3, 2))


def test_polar_and_square_root() -> None:
    check_op(lambda lib, a: lib.linalg.polar(a), normal(2, 4, 3), gradgrad=True, rtol=1e-5, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.matrix_sqrth(a), definite(2, 3, 3), gradgrad=True, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, "fro", "nuc", np.inf, -np.inf])
def test_cond(p: Any) -> None:
    # torch 2.15 cannot differentiate those that need the inverse.
    check_op(lambda lib, a: lib.linalg.cond(a, p), regular(2, 3, 3), grad=p in (None, 2, -2), rtol=1e-5, atol=1e-6)
    if p not in ("nuc", 2, -2, None):
        check_op(lambda lib, a: lib.linalg.cond(a, p), np.zeros((2, 2)), grad=False)
    a = pyburn.tensor(regular(3, 3), requires_grad=True)
    assert gradcheck(lambda x: pyburn.linalg.cond(x, p), (a,))


def test_lowrank() -> None:
    a = normal(9, 3) @ normal(3, 7)
    for function in (pyburn.svd_lowrank, lambda x, q: pyburn.pca_lowrank(x, q, center=False)):
        for source in (a, a.T.copy()):
            u, s, v = function(pyburn.tensor(source), q=4)
            np.testing.assert_allclose((u * s @ v.mT).numpy(), source, atol=1e-10)
    s = pyburn.pca_lowrank(pyburn.tensor(a), q=3)[1]
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(a - a.mean(0))[1][:3], atol=1e-10)
    check_error(lambda lib, a: lib.pca_lowrank(a, q=9), a, same_class=True)


def test_residuals_of_lstsq_have_second_derivatives() -> None:
    a, b = pyburn.tensor(normal(5, 3), requires_grad=True), pyburn.tensor(normal(5, 2), requires_grad=True)

    def residuals(a: Any, b: Any) -> Any:
        return pyburn.linalg.lstsq(a, b, driver="gels")[1]

    assert gradcheck(residuals, (a, b)) and gradgradcheck(residuals, (a, b))


@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_refinements_without_end_are_refused(name):
    matrix = pyburn.eye(4)
    with pytest.raises(ValueError, match="at most 1048576, got 1099511627776; 2 to 10 do"):
        getattr(pyburn, name)(matrix, 2, niter=2**40)
