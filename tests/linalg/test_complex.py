"""Complex matrices: values of the factorizations, and gradients of what no phase changes, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
import pytest
import torch

from oracle import to_torch

Run = Callable[[Any, Any, Any], Any]


def matrices(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.complex128, generator=generator)


def definite(size: int) -> torch.Tensor:
    a = matrices(2, size, size, seed=3)
    return a @ a.mH + torch.eye(size)


def projector(lib: Any, vectors: Any, count: int) -> Any:
    """What the first vectors span: the same whatever their phases are."""
    chosen = vectors[..., :count]
    return chosen @ chosen.mH


def hermitian(a: Any) -> Any:
    return (a + a.mH) / 2


SQUARE = matrices(2, 4, 4)
TALL = matrices(2, 5, 3, seed=1)
WIDE = matrices(2, 3, 5, seed=2)
# Functions of the library, a matrix and a right side; the results do not depend on what no definition fixes.
CASES: dict[str, tuple[torch.Tensor, Run]] = {
    "inv": (SQUARE, lambda lib, a, b: lib.linalg.inv(a)),
    "solve": (SQUARE, lambda lib, a, b: lib.linalg.solve(a, b)),
    "solve from the right": (SQUARE, lambda lib, a, b: lib.linalg.solve(a, b.mT, left=False)),
    "det": (SQUARE, lambda lib, a, b: lib.linalg.det(a)),
    "slogdet": (SQUARE, lambda lib, a, b: lib.linalg.slogdet(a)),
    "logdet": (SQUARE, lambda lib, a, b: lib.logdet(a)),
    "lu_factor": (SQUARE, lambda lib, a, b: lib.linalg.lu_factor(a)[0]),
    "lu of tall": (TALL, lambda lib, a, b: lib.linalg.lu(a)[1:]),
    "lu of wide": (WIDE, lambda lib, a, b: lib.linalg.lu(a)[1:]),
    "lu_solve": (SQUARE, lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b)),
    "adjoint lu_solve": (SQUARE, lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, adjoint=True)),
    "cholesky": (definite(4), lambda lib, a, b: lib.linalg.cholesky(hermitian(a))),
    "upper cholesky": (definite(4), lambda lib, a, b: lib.linalg.cholesky(hermitian(a), upper=True)),
    "cholesky_solve": (definite(4), lambda lib, a, b: lib.cholesky_solve(b, lib.linalg.cholesky(hermitian(a)))),
    "cholesky_inverse": (definite(4), lambda lib, a, b: lib.cholesky_inverse(lib.linalg.cholesky(hermitian(a)))),
    "qr of square": (SQUARE, lambda lib, a, b: lib.linalg.qr(a)),
    "qr of tall": (TALL, lambda lib, a, b: lib.linalg.qr(a)),
    "qr of wide": (WIDE, lambda lib, a, b: lib.linalg.qr(a)),
    "solve_triangular": (SQUARE, lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True)),
    "householder_product": (TALL, lambda lib, a, b: lib.linalg.householder_product(a, a[..., 0, :])),
    "svdvals": (TALL, lambda lib, a, b: lib.linalg.svdvals(a)),
    "svd": (TALL, lambda lib, a, b: projector(lib, lib.linalg.svd(a, full_matrices=False)[0], 2)),
    "svd's product": (
        WIDE,
        lambda lib, a, b: (lambda u, s, v: (u * s.exp().unsqueeze(-2)) @ v)(*lib.linalg.svd(a, False)),
    ),
    "eigvalsh": (SQUARE, lambda lib, a, b: lib.linalg.eigvalsh(hermitian(a))),
    "eigh": (SQUARE, lambda lib, a, b: projector(lib, lib.linalg.eigh(hermitian(a))[1], 2)),
    "upper eigh": (SQUARE, lambda lib, a, b: lib.linalg.eigvalsh(a, UPLO="U")),
    "eig's sum": (SQUARE, lambda lib, a, b: (lib.linalg.eigvals(a) ** 3).sum(-1)),
    "eig's vectors": (SQUARE, lambda lib, a, b: lib.linalg.eig(a)[1].abs().square().sum((-1, -2))),
    "pinv": (TALL, lambda lib, a, b: lib.linalg.pinv(a)),
    "hermitian pinv": (SQUARE, lambda lib, a, b: lib.linalg.pinv(hermitian(a), hermitian=True)),
    "lstsq": (TALL, lambda lib, a, b: lib.linalg.lstsq(a, lib.cat([b, b[:, :1]], 1)).solution),
    "matrix_exp": (SQUARE, lambda lib, a, b: lib.linalg.matrix_exp(a)),
    "matrix_power": (SQUARE, lambda lib, a, b: lib.linalg.matrix_power(a, -2)),
    "nuclear norm": (TALL, lambda lib, a, b: lib.linalg.matrix_norm(a, "nuc")),
    "spectral norm": (TALL, lambda lib, a, b: lib.linalg.matrix_norm(a, 2)),
    "cond": (SQUARE, lambda lib, a, b: lib.linalg.cond(a)),
}


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def summed(lib: Any, found: list[Any]) -> Any:
    """A real number in which every part of every result counts."""
    total = 0.0
    for place, one in enumerate(found):
        real = lib.view_as_real(one.resolve_conj()) if one.is_complex() else one
        weight = lib.linspace(0.5, 1.5, real.numel(), dtype=lib.float64).reshape(real.shape)
        total = total + (place + 1) * (real * weight).sum()
    return total


def run(lib: Any, name: str, a: Any, b: Any) -> tuple[list[Any], list[Any]]:
    leaves = [a.clone().requires_grad_(), b.clone().requires_grad_()]
    found = results(CASES[name][1](lib, *leaves))
    summed(lib, found).backward()
    return [one.detach() for one in found], [leaf.grad for leaf in leaves if leaf.grad is not None]


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    a, b = CASES[name][0], matrices(2, 4, 2, seed=5)
    ours = [pyburn.tensor(x.tolist(), dtype=pyburn.complex128) for x in (a, b)]
    theirs, expected = run(torch, name, a, b)
    found, gradients = run(pyburn, name, *ours)
    for one, other in zip(found + gradients, theirs + expected, strict=True):
        torch.testing.assert_close(to_torch(one), other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["inv", "qr of tall", "svdvals", "eigvalsh", "cholesky"])
def test_single_precision(name: str) -> None:
    a = CASES[name][0].to(torch.complex64)
    expected = results(CASES[name][1](torch, a, None))
    found = results(CASES[name][1](pyburn, pyburn.tensor(a.tolist(), dtype=pyburn.complex64), None))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(to_torch(one), other, rtol=1e-4, atol=1e-4)


def test_second_derivatives() -> None:
    a = pyburn.tensor(SQUARE[0].tolist(), dtype=pyburn.complex128).requires_grad_()
    for function in (pyburn.linalg.inv, pyburn.linalg.det, pyburn.linalg.svdvals):
        assert pyburn.autograd.gradcheck(function, (a,)), function.__name__
    assert pyburn.autograd.gradgradcheck(pyburn.linalg.inv, (a,))


@pytest.mark.parametrize("name", ["svd", "eigh", "eig"])
def test_a_loss_of_the_phase_is_refused(name: str) -> None:
    a = pyburn.tensor(hermitian(SQUARE[0]).tolist(), dtype=pyburn.complex128).requires_grad_()
    found = getattr(pyburn.linalg, name)(a)
    vectors = found[0] if name == "svd" else found[1]
    with pytest.raises(RuntimeError, match="ill-defined"):
        vectors.imag.sum().backward()


def test_reconstruction() -> None:
    a = pyburn.tensor(TALL.tolist(), dtype=pyburn.complex128)
    u, s, v = pyburn.linalg.svd(a, full_matrices=False)
    assert pyburn.allclose((u * s.unsqueeze(-2)) @ v, a)
    square = pyburn.tensor(SQUARE.tolist(), dtype=pyburn.complex128)
    values, vectors = pyburn.linalg.eig(square)
    assert pyburn.allclose(square @ vectors, vectors * values.unsqueeze(-2))
    q, r = pyburn.linalg.qr(a, "complete")
    assert pyburn.allclose(q @ r, a) and pyburn.allclose(r.diagonal(0, -2, -1).imag, pyburn.zeros(2, 3).double())


def test_extremes() -> None:
    wide = pyburn.tensor([[1e200 + 1e200j, 0j], [0j, 3e200j]], dtype=pyburn.complex128)
    assert pyburn.allclose(pyburn.linalg.svdvals(wide) / 1e200, pyburn.tensor([3.0, 2.0**0.5], dtype=pyburn.float64))
    broken = pyburn.tensor([[complex("nan"), 1], [0, 1]], dtype=pyburn.complex64)
    for function in (pyburn.linalg.svd, pyburn.linalg.eigh, pyburn.linalg.eig):
        with pytest.raises(RuntimeError):
            function(broken)
    singular = pyburn.zeros(2, 2, dtype=pyburn.complex64)
    with pytest.raises(pyburn.linalg.LinAlgError):
        pyburn.linalg.inv(singular)
