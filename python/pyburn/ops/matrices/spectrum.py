"""Singular values, eigenvalues and their vectors."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.joining import diag_embed
from pyburn.ops.matrices.checks import check_float, check_info, check_matrix, check_square, eye_like
from pyburn.ops.matrices.recorded import Backward, link, precise

__all__ = ["eigh", "eigvalsh", "svd", "svdvals"]

_NOT_FINITE = "The algorithm failed to converge because the input matrix contained non-finite values."
_NO_CONVERGENCE = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "{what} values (error code: {{info}})."
)


def _gaps(values: Tensor) -> Tensor:
    """`values[j] - values[i]` at (i, j), ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + eye_like(values, values.shape[-1])


@precise
def _svd_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (u, s, v), (grad_u, grad_s, grad_v) = context.saved, context.grads
    size = s.shape[-1]
    u, v = u.narrow(-1, 0, size), v.narrow(-1, 0, size)
    inner: Tensor | None = None if grad_s is None else diag_embed(grad_s).to(u.dtype)
    if grad_u is None and grad_v is None:
        return (None if inner is None else u @ inner @ v.mH,)
    if u.is_complex():
        _check_phase(u, grad_u, v, grad_v)
        if grad_u is not None and grad_v is not None:
            phase = (u.conj() * grad_u.narrow(-1, 0, size)).sum(-2).imag / s
            phase = diag_embed(phase) * 1j
            inner = phase if inner is None else inner + phase
    gaps, column = _gaps(s * s), s.unsqueeze(-1)
    outer: Tensor | None = None
    if grad_u is not None:
        grad_u = grad_u.narrow(-1, 0, size)
        turn = u.mH @ grad_u
        part = (turn - turn.mH) / gaps * s.unsqueeze(-2)
        inner = part if inner is None else inner + part
        if u.shape[-2] > size:
            outer = ((grad_u - u @ turn) / s.unsqueeze(-2)) @ v.mH
    if grad_v is not None:
        grad_v = grad_v.narrow(-1, 0, size)
        turn = v.mH @ grad_v
        part = (turn - turn.mH) / gaps * column
        inner = part if inner is None else inner + part
        if v.shape[-2] > size:
            rest = u @ ((grad_v - v @ turn).mH / column)
            outer = rest if outer is None else outer + rest
    assert inner is not None
    result = u @ inner @ v.mH
    return (result if outer is None else result + outer,)


def _check_phase(u: Tensor, grad_u: Tensor | None, v: Tensor, grad_v: Tensor | None) -> None:
    """Refuses a loss that depends on what no definition of complex singular vectors fixes."""
    turns = [
        (vectors.conj() * grad.narrow(-1, 0, vectors.shape[-1])).sum(-2).imag.detach()
        for vectors, grad in ((u, grad_u), (v, grad_v))
        if grad is not None
    ]
    total = turns[0] if len(turns) == 1 else turns[0] + turns[1]
    if not bool((total.abs() <= 1e-2).all().item()):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
        )


def _check_svd(op: str, info: Tensor) -> None:
    if not info.is_meta and (info < 0).any().item():
        check_info(op, info.clamp(max=0), _NOT_FINITE)
    check_info(op, info, _NO_CONVERGENCE.format(what="singular"))


def _unit(x: Tensor) -> Tensor:
    return eye_like(x, x.shape[-2], x.shape[-1], x.shape[:-2]).clone() if x.numel() else x


def raw_svd(op: str, A: Tensor, mode: int) -> tuple[Tensor, Tensor, Tensor]:
    """U, the singular values and V (not transposed), recorded; mode 0 gives no vectors, 1 as many as values, 2 all."""
    check_matrix(op, A)
    check_float(op, A)
    if mode == 0 and _core.is_grad_enabled() and A.requires_grad:
        mode = 1
    u, s, v, info = _core._svd(A, mode)
    _check_svd(op, info)
    if A.numel() == 0:
        # Nothing is computed for empty matrices; any orthonormal vectors will do.
        u, v = _unit(u), _unit(v)
    if mode:
        link("LinalgSvdBackward0", [A], [u, s, v], [u, s, v], _svd_rule)
    return u, s, v


def svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Sequence[Tensor] | None = None
) -> return_types.linalg_svd:
    """U, S and Vh with `A = U @ diag(S) @ Vh`; U and Vh are orthogonal, S falls.

    Args:
        A: (..., m, n).
        full_matrices: Whether U and Vh are square, or else have as many columns and rows as S has values.
        driver: Must be None: others exist on CUDA alone.
        out: Where to write the results.

    Raises:
        LinAlgError: A matrix has values that are not finite.

    Differs from torch:
        The signs of the vectors, which no definition fixes, may be others.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.svd(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])).S
        tensor([2., 1.])
    """
    _check_driver("linalg.svd", driver)
    u, s, v = raw_svd("linalg.svd", A, 2 if full_matrices else 1)
    return return_types.linalg_svd(write_outs(out, (u, s, v.mH)))


def _check_driver(op: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"{op}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values, from the greatest down.

    Args:
        A: (..., m, n).
        driver: Must be None.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.svdvals(pyburn.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor([4., 3.])
    """
    _check_driver("linalg.svdvals", driver)
    return write_out(out, raw_svd("linalg.svdvals", A, 0)[1])


@precise
def _eigh_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (values, vectors), (grad_values, grad_vectors) = context.saved, context.grads
    inner: Tensor | None = None if grad_values is None else diag_embed(grad_values).to(vectors.dtype)
    if grad_vectors is not None:
        turn = vectors.mH @ grad_vectors
        if vectors.is_complex():
            phases = turn.diagonal(0, -2, -1).imag
            if not bool((phases.detach().abs() <= 1e-2).all().item()):
                raise RuntimeError(
                    "linalg_eigh_backward: The eigenvectors in the complex case are specified up to multiplication by "
                    "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
                )
            turn = turn - diag_embed(phases) * 1j
        part = (turn - turn.mH) * 0.5 / _gaps(values)
        inner = part if inner is None else inner + part
    return (None if inner is None else vectors @ inner @ vectors.mH,)


def raw_eigh(op: str, A: Tensor, UPLO: str, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues from the least up and eigenvectors as columns, recorded."""
    check_square(op, A)
    check_float(op, A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    vectors = vectors or (_core.is_grad_enabled() and A.requires_grad)
    values, columns, info = _core._eigh(A if UPLO.upper() == "L" else A.detach().mH, vectors)
    check_info(op, info.abs(), _NO_CONVERGENCE.format(what="eigen"))
    if vectors:
        link("LinalgEighBackward0", [A], [values, columns], [values, columns], _eigh_rule)
    return values, columns


def eigh(A: Tensor, UPLO: str = "L", *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eigh:
    """The eigenvalues, rising, and the orthonormal eigenvectors, as columns, of Hermitian matrices.

    Args:
        A: (..., n, n), of which one triangle is read.
        UPLO: "L" to read the lower triangle, "U" the upper one.
        out: Where to write the results.

    Raises:
        LinAlgError: A matrix has values that are not finite.

    Differs from torch:
        The signs of the vectors, which no definition fixes, may be others.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.eigh(pyburn.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        tensor([1., 3.])
    """
    return return_types.linalg_eigh(write_outs(out, raw_eigh("linalg.eigh", A, UPLO, True)))


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, rising, of symmetric matrices.

    Args:
        A: (..., n, n), of which one triangle is read.
        UPLO: "L" to read the lower triangle, "U" the upper one.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.eigvalsh(pyburn.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
    """
    return write_out(out, raw_eigh("linalg.eigvalsh", A, UPLO, False)[0])
