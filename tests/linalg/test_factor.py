"""LU, Cholesky and QR factors against torch, with first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
from pyburn.autograd.gradcheck import gradcheck, gradgradcheck

from tests.linalg.samples import definite, normal, regular
from tests.oracle import check_error, check_op

SHAPES = [(3, 3), (2, 5, 3), (2, 3, 5), (1, 4), (4, 1), (0, 0), (3, 0), (0, 3), (0, 2, 2), (20, 33)]


@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...]) -> None:
    check_op(lambda lib, a: lib.linalg.lu(a), normal(*shape), gradgrad=max(shape) < 20, rtol=1e-5, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.lu_factor(a), normal(*shape), rtol=1e-5, atol=1e-5)
    check_op(lambda lib, a: lib.linalg.lu_factor_ex(a), normal(*shape), dtypes=["float32"], grad=False, rtol=1e-3)


def test_lu_of_singular_matrices_is_lapacks() -> None:
    check_op(lambda lib, a: lib.linalg.lu_factor_ex(a), np.zeros((2, 3, 3)), grad=False)
    singular = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [0.0, 5.0, 7.0]])
    check_op(lambda lib, a: lib.linalg.lu_factor_ex(a), singular, grad=False)
    check_op(lambda lib, a: lib.linalg.lu(a), singular, grad=False)
    check_error(lambda lib, a: lib.linalg.lu_factor(a), singular, match="U[1,1] is zero", same_class=True)
    check_error(lambda lib, a: lib.linalg.lu_factor(a, pivot=False), singular)


def test_older_lu() -> None:
    LU, pivots = pyburn.lu(pyburn.tensor(regular(3, 3).tolist()))
    P, L, U = pyburn.lu_unpack(LU, pivots)
    np.testing.assert_allclose((P @ L @ U).numpy(), regular(3, 3), rtol=1e-5, atol=1e-5)
    assert pyburn.lu_unpack(LU, pivots, unpack_data=False)[1].shape == (0,)
    assert len(pyburn.tensor(regular(3, 3).tolist()).lu(get_infos=True)) == 3


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 0), (40, 40)])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape: tuple[int, ...], upper: bool) -> None:
    def run(lib: Any, a: Any) -> Any:
        return lib.linalg.cholesky(a, upper=upper)

    check_op(run, definite(*shape), gradgrad=max(shape) < 20, rtol=1e-5, atol=1e-6)
    check_op(run, definite(*shape), dtypes=["float32"], grad=False, rtol=1e-3, atol=1e-3)
    check_op(lambda lib, a: lib.linalg.cholesky_ex(a, upper=upper), definite(*shape), rtol=1e-5, atol=1e-6)


def test_cholesky_reads_one_triangle() -> None:
    a = definite(3, 3)
    a[0, 2] = np.nan
    check_op(lambda lib, a: lib.linalg.cholesky(a), a, grad=False)
    check_op(lambda lib, a: lib.linalg.cholesky(a, upper=True), a.T.copy(), grad=False)


def test_what_is_not_definite_is_refused() -> None:
    batch = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    text = "linalg.cholesky: (Batch element 1): The factorization could not be completed because the input is not "
    check_error(
        lambda lib, a: lib.linalg.cholesky(a), batch, match=text + "positive-definite (the leading minor of ord"
    )
    check_error(lambda lib, a: lib.linalg.cholesky(a), np.full((2, 2), np.nan), match="linalg.cholesky: The fact")
    assert pyburn.linalg.cholesky_ex(pyburn.tensor(batch.tolist()))[1].tolist() == [0, 2]


@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape: tuple[int, ...]) -> None:
    check_op(lambda lib, a: lib.linalg.qr(a), normal(*shape), gradgrad=max(shape) < 20, rtol=1e-5, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.qr(a, mode="complete"), normal(*shape), grad=False, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.qr(a, mode="r"), normal(*shape), grad=False, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: lib.geqrf(a), normal(*shape), grad=False, rtol=1e-6, atol=1e-6)


def test_qr_without_a_gradient_says_so() -> None:
    check_error(lambda lib, a: lib.linalg.qr(a, mode="what"), normal(3, 3), match="unrecognized mode")
    for mode, text in (("r", "depends on Q"), ("complete", "not differentiable when mode='complete'")):
        a = pyburn.ones(3, 2, requires_grad=True)
        with pytest.raises(RuntimeError, match=text):
            pyburn.linalg.qr(a, mode)[1].sum().backward()


def test_reflectors() -> None:
    a, tau, other = normal(2, 5, 3), normal(2, 2), normal(2, 5, 2)
    all_tau = normal(2, 3)
    check_op(lambda lib, a, t: lib.linalg.householder_product(a, t), a, tau, gradgrad=True)
    check_op(lambda lib, a, t: lib.linalg.householder_product(a, t), a, normal(2, 0))
    check_op(lambda lib, a, t: lib.orgqr(a, t), a, tau)
    check_op(lambda lib, a, t, o: lib.ormqr(a, t, o), a, all_tau, other)
    check_op(lambda lib, a, t, o: lib.ormqr(a, t, o, True, True), a, all_tau, other)
    check_op(lambda lib, a, t, o: lib.ormqr(a, t, o.mT, False, False), a, all_tau, other)
    check_op(lambda lib, a, t, o: lib.ormqr(a, t, o.mT, False, True), a, all_tau, other)


def test_a_qr_can_be_put_together_again() -> None:
    a = pyburn.tensor(normal(6, 4).tolist(), dtype=pyburn.float64)
    q = pyburn.linalg.householder_product(*pyburn.geqrf(a))
    np.testing.assert_allclose((q @ pyburn.linalg.qr(a)[1]).numpy(), normal(6, 4), atol=1e-12)
    np.testing.assert_allclose((q.mT @ q).numpy(), np.eye(4), atol=1e-12)


def test_gradients_by_finite_differences() -> None:
    def packed(x: Any) -> Any:
        return pyburn.linalg.lu_factor(x)[0]

    def lower(x: Any) -> Any:
        return pyburn.linalg.cholesky(x @ x.mT + pyburn.eye(3, dtype=x.dtype))

    def both(x: Any) -> Any:
        return tuple(pyburn.linalg.qr(x))

    for shape in ((3, 3), (4, 3), (3, 4)):
        a = pyburn.tensor(normal(*shape).tolist(), dtype=pyburn.float64, requires_grad=True)
        assert gradcheck(both, (a,)) and gradgradcheck(both, (a,))
        assert gradcheck(packed, (a,)) and gradgradcheck(packed, (a,))
    a = pyburn.tensor(normal(3, 3).tolist(), dtype=pyburn.float64, requires_grad=True)
    assert gradcheck(lower, (a,)) and gradgradcheck(lower, (a,))


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 7, 7), (0, 0), (0, 3, 3)])
def test_ldl(shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    a = a + np.swapaxes(a, -1, -2)
    check_op(lambda lib, x: lib.linalg.ldl_factor_ex(x), a, grad=False, rtol=1e-6, atol=1e-6)

    def solved(lib: Any, x: Any, b: Any) -> Any:
        return lib.linalg.ldl_solve(*lib.linalg.ldl_factor(x), b)

    check_op(solved, a, normal(*shape[:-1], 2), grad=False, rtol=1e-6, atol=1e-6)


def test_ldl_refuses_what_it_cannot() -> None:
    check_error(lambda lib, x: lib.linalg.ldl_factor(x), np.zeros((2, 2)), match="D[1,1] is zero", same_class=True)
    LD = pyburn.eye(2)
    for pivots in ([0, 1], [1, 3], [-1, 1], [-1, -2], [1, -1]):
        with pytest.raises(RuntimeError, match="pivots"):
            pyburn.linalg.ldl_solve(LD, pyburn.tensor(pivots), pyburn.ones(2, 1))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_end(value: float) -> None:
    spoilt = normal(30, 30)
    spoilt[3, 4] = value
    x = pyburn.tensor(spoilt.tolist())
    assert pyburn.linalg.lu_factor_ex(x)[0].shape == (30, 30)
    assert pyburn.linalg.qr(x)[1].shape == (30, 30)
    assert pyburn.linalg.cholesky_ex(x)[0].shape == (30, 30)


def test_reflectors_of_complex_numbers() -> None:
    def made(*shape: int) -> np.ndarray:
        return normal(*shape) + 1j * normal(*shape)[::-1]

    a, tau, other = made(5, 3), made(3), made(5, 2)
    for transpose in (False, True):
        check_op(lambda lib, a, t, o, flag=transpose: lib.ormqr(a, t, o, True, flag), a, tau, other, grad=False)
        check_op(lambda lib, a, t, o, flag=transpose: lib.ormqr(a, t, o.mT, False, flag), a, tau, other, grad=False)
