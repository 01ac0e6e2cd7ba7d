"""Eigenvalues of matrices that need not be symmetric: complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core, return_types
from pyburn._core import Tensor
from pyburn.ops._methods import write_out, write_outs
from pyburn.ops.joining import diag_embed
from pyburn.ops.matrices.checks import check_float, check_info, check_square, eye_like
from pyburn.ops.matrices.recorded import Backward, link, precise
from pyburn.ops.matrices.solve import solve

__all__ = ["eig", "eigvals"]


@precise
def _complex_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (values, vectors), (grad_values, grad_vectors) = context.saved, context.grads
    inner: Tensor | None = None if grad_values is None else diag_embed(grad_values)
    if grad_vectors is not None:
        turn = vectors.mH @ grad_vectors
        lengths = turn.diagonal(0, -2, -1).real.unsqueeze(-2)
        if not bool((turn.diagonal(0, -2, -1).imag.detach().abs() <= 1e-2).all().item()):
            raise RuntimeError(
                "linalg_eig_backward: The eigenvectors in the complex case are specified up to multiplication by "
                "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
            )
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1) + eye_like(values.real, values.shape[-1])
        part = (turn - (vectors.mH @ vectors) * lengths) / gaps.conj()
        part = part - diag_embed(part.diagonal(0, -2, -1))
        inner = part if inner is None else inner + part
    if inner is None:
        return (None,)
    return (solve(vectors.mH, inner @ vectors.mH),)


def _real_rule(context: Backward) -> tuple[Tensor | None, ...]:
    (grad,) = _complex_rule(context)
    return (None if grad is None else grad.real,)


def raw_eig(op: str, A: Tensor, vectors: bool) -> tuple[Tensor, Tensor]:
    """Complex eigenvalues in no order and eigenvectors of length 1 as columns, recorded."""
    check_square(op, A)
    check_float(op, A)
    vectors = vectors or (_core.is_grad_enabled() and A.requires_grad)
    values, columns, info = _core._eig(A, vectors)
    if not info.is_meta and (info < 0).any().item():
        raise RuntimeError(f"torch.{op}: input tensor should not contain infs or NaNs.")
    check_info(op, info, "The algorithm failed to converge (error code: {info}).")
    if vectors:
        rule = _complex_rule if A.is_complex() else _real_rule
        link("LinalgEigBackward0", [A], [values, columns], [values, columns], rule)
    return values, columns


def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig:
    """The complex eigenvalues and, as columns, eigenvectors of square matrices.

    Args:
        A: (..., n, n).
        out: Where to write the results.

    Differs from torch:
        The phases of the vectors, which no definition fixes, and the order of the values may be others.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.eig(pyburn.tensor([[3.0]])).eigenvalues
        tensor([3.+0.j])
    """
    return return_types.linalg_eig(write_outs(out, raw_eig("linalg.eig", A, True)))


def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex eigenvalues of square matrices.

    Args:
        A: (..., n, n).
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.eigvals(pyburn.tensor([[3.0]]))
        tensor([3.+0.j])
    """
    return write_out(out, raw_eig("linalg.eigvals", A, False)[0])
