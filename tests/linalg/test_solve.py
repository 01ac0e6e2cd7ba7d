"""Systems of equations, inverses and determinants against torch, with first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
from pyburn.autograd.gradcheck import gradcheck, gradgradcheck

from tests.linalg.samples import definite, normal, regular
from tests.oracle import check_error, check_op

SQUARES = [(3, 3), (2, 3, 3), (1, 1), (2, 2, 4, 4)]
EMPTY = [(0, 0), (2, 0, 0), (0, 3, 3)]


@pytest.mark.parametrize("shape", SQUARES + EMPTY)
@pytest.mark.parametrize("name", ["inv", "inv_ex", "det", "slogdet"])
def test_of_one_matrix(name: str, shape: tuple[int, ...]) -> None:
    check_op(lambda lib, a: getattr(lib.linalg, name)(a), regular(*shape), gradgrad=True, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: getattr(lib.linalg, name)(a), regular(*shape), dtypes=["float32"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3, 2)),
        ((3, 3), (3,)),
        ((2, 3, 3), (2, 3)),
        ((2, 3, 3), (3, 4)),
        ((3, 3), (2, 3, 4)),
        ((2, 1, 3, 3), (4, 3, 1)),
        ((0, 0), (0, 2)),
        ((3, 3), (3, 0)),
        ((0, 3, 3), (0, 3, 2)),
    ],
)
def test_solve(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check_op(lambda lib, a, b: lib.linalg.solve(a, b), regular(*left), normal(*right), gradgrad=True)
    check_op(lambda lib, a, b: lib.linalg.solve_ex(a, b), regular(*left), normal(*right))


def test_solve_from_the_right() -> None:
    check_op(lambda lib, a, b: lib.linalg.solve(a, b, left=False), regular(2, 3, 3), normal(2, 2, 3), gradgrad=True)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(upper: bool, left: bool, unit: bool) -> None:
    def run(lib: Any, a: Any, b: Any) -> Any:
        return lib.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)

    check_op(run, regular(2, 3, 3), normal(2, 3, 3), gradgrad=True)
    check_op(run, regular(3, 3), normal(2, 3, 3))
    check_op(run, regular(0, 0), normal(0, 0))
    kept = np.tri(20, k=-int(unit)) == 1
    poisoned = np.where(kept.T if upper else kept, regular(20, 20), np.nan)
    check_op(run, poisoned, normal(20, 20), grad=False, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_lu_solve(adjoint: bool, left: bool) -> None:
    def run(lib: Any, a: Any, b: Any) -> Any:
        return lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=left, adjoint=adjoint)

    check_op(run, regular(2, 3, 3), normal(2, 3, 3), gradgrad=True)
    check_op(run, regular(3, 3), normal(2, 3, 3))


def test_older_names() -> None:
    check_op(lambda lib, a: lib.inverse(a) + a.inverse(), regular(2, 3, 3))
    check_op(lambda lib, a: lib.det(a) * a.det(), regular(2, 3, 3))
    check_op(lambda lib, a: (lib.logdet(a), a.slogdet()), definite(2, 3, 3))
    check_op(lambda lib, a: lib.logdet(-a), np.eye(1), grad=False)
    check_op(lambda lib, a: lib.lu_unpack(*lib.linalg.lu_factor(a)), regular(2, 3, 3))
    check_op(lambda lib, a: lib.matrix_power(a, -2), regular(2, 3, 3), gradgrad=True)


@pytest.mark.parametrize("upper", [False, True])
def test_with_cholesky_factors(upper: bool) -> None:
    check_op(lambda lib, a: lib.cholesky_inverse(a, upper), regular(2, 3, 3), gradgrad=True)
    check_op(lambda lib, b, a: lib.cholesky_solve(b, a, upper), normal(2, 3, 2), regular(2, 3, 3), gradgrad=True)
    check_op(lambda lib, b, a: b.cholesky_solve(a, upper), normal(2, 3, 2), regular(3, 3))


def test_the_gradient_of_a_singular_determinant() -> None:
    singular = normal(2, 4, 3) @ normal(2, 3, 4)
    singular[0] = normal(4, 4)
    check_op(lambda lib, a: lib.linalg.det(a), singular, atol=1e-6, rtol=1e-5)
    # The cofactors, where torch 2.15 gives zeros.
    a = pyburn.tensor(np.diag([2.0, 3.0, 0.0]).tolist(), requires_grad=True)
    pyburn.linalg.det(a).backward()
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), np.diag([0.0, 0.0, 6.0]), atol=1e-5)
    check_op(lambda lib, a: lib.linalg.slogdet(a), np.zeros((2, 2, 2)), grad=False)


def test_gradients_by_finite_differences() -> None:
    a = pyburn.tensor(regular(2, 3, 3).tolist(), dtype=pyburn.float64, requires_grad=True)
    b = pyburn.tensor(normal(2, 3, 2).tolist(), dtype=pyburn.float64, requires_grad=True)
    for function in (pyburn.linalg.inv, pyburn.linalg.det, lambda x: pyburn.linalg.slogdet(x)[1]):
        assert gradcheck(function, (a,)) and gradgradcheck(function, (a,))
    assert gradcheck(pyburn.linalg.solve, (a, b)) and gradgradcheck(pyburn.linalg.solve, (a, b))


def test_singular_matrices_are_refused() -> None:
    batch = np.stack([np.eye(3), np.zeros((3, 3))])
    check_error(lambda lib, a: lib.linalg.inv(a), batch, match="linalg.inv: (Batch element 1): The diagonal element 1")
    check_error(lambda lib, a: lib.linalg.solve(a, a), batch, match="torch.linalg.solve: (Batch element 1): The solver")
    check_error(lambda lib, a: lib.linalg.inv(a), np.zeros((2, 2)), match="linalg.inv: The diagonal element 1 is zero")
    with pytest.raises(pyburn.linalg.LinAlgError):
        pyburn.linalg.inv(pyburn.zeros(2, 2))
    assert issubclass(pyburn.linalg.LinAlgError, RuntimeError)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_go_through(value: float) -> None:
    spoilt = regular(4, 4)
    spoilt[1, 2] = value
    assert not np.isfinite(pyburn.linalg.inv_ex(pyburn.tensor(spoilt.tolist())).inverse.numpy()).all()
    assert not np.isfinite(pyburn.linalg.det(pyburn.tensor(spoilt.tolist())).item())


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigvalsh"])
def test_mistakes(name: str) -> None:
    def run(lib: Any, a: Any) -> Any:
        return getattr(lib.linalg, name)(a)

    check_error(run, normal(2, 3), same_class=True)
    check_error(run, normal(3), same_class=True)
    check_error(run, np.eye(3).astype("int64"))
    check_error(run, normal(3, 3).astype("float16"))


def test_mistakes_of_two_matrices() -> None:
    check_error(lambda lib, a, b: lib.linalg.solve(a, b), regular(3, 3), normal(4, 2), match="Incompatible shapes")
    check_error(lambda lib, a, b: lib.linalg.solve(a, b), regular(3, 3), normal(3, 2).astype("float32"))
    check_error(lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True), regular(3, 3), normal(4, 2))
    check_error(lambda lib, a, b: lib.linalg.solve(a, b), regular(2, 3, 3), normal(4, 3, 2))


def test_out() -> None:
    def run(lib: Any, a: Any) -> Any:
        out = lib.empty(0, dtype=a.dtype)
        answer = lib.linalg.inv(a, out=out)
        assert answer is out
        return out

    check_op(run, regular(3, 3), grad=False)


def test_large_and_strided() -> None:
    big = regular(120, 120) + 30 * np.eye(120)
    check_op(lambda lib, a: lib.linalg.inv(a), big, grad=False, rtol=1e-6, atol=1e-6)
    check_op(lambda lib, a: lib.linalg.solve(a.mT, a[:, ::3]), big, grad=False, rtol=1e-6, atol=1e-6)
