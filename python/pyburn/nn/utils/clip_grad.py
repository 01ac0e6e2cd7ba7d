"""Gradients that are kept from becoming too large."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.ops import stack, tensor
from pyburn.ops.matrices.norms import vector_norm


def _listed(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _norm_of(x: Tensor, norm_type: float) -> Tensor:
    """The norm of all elements; of a sparse tensor, of those that it keeps."""
    return vector_norm(x.coalesce().values() if x.is_sparse else x, norm_type)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as if they were one vector.

    Args:
        tensors: The tensors.
        norm_type: Which norm; infinity for the largest magnitude.
        error_if_nonfinite: Whether a norm that is infinite or NaN is an error.
        foreach: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.get_total_norm([pyburn.tensor([3.0]), pyburn.tensor([4.0])])
        tensor(5.)
    """
    norms = [_norm_of(t.detach(), norm_type) for t in _listed(tensors)]
    if not norms:
        return tensor(0.0)
    total = vector_norm(stack([norm.to(norms[0].device) for norm in norms]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Nothing; the gradients are scaled by `max_norm / total_norm` where that is below 1.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> (8 * w).sum().backward()
        >>> pyburn.nn.utils.clip_grads_with_norm_(w, 1.0, pyburn.tensor(8.0)); w.grad
        tensor([1.0000])
    """
    factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    if factor.device.type == "cpu" and factor.item() == 1.0:
        return
    with no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.mul_(factor.to(parameter.grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all gradients together; they are scaled in place so that it is at most `max_norm`.

    Args:
        parameters: Whose gradients.
        max_norm: The largest norm.
        norm_type: Which norm; infinity for the largest magnitude.
        error_if_nonfinite: Whether a norm that is infinite or NaN is an error.
        foreach: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> (8 * w).sum().backward()
        >>> pyburn.nn.utils.clip_grad_norm_([w], 1.0), w.grad
        (tensor(8.), tensor([1.0000]))
    """
    listed = _listed(parameters)
    grads = [parameter.grad for parameter in listed if parameter.grad is not None]
    total = get_total_norm(grads, float(norm_type), error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Nothing; each element of the gradients lies within `clip_value` of 0.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> (8 * w).sum().backward()
        >>> pyburn.nn.utils.clip_grad_value_([w], 2.0); w.grad
        tensor([2.])
    """
    with no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(-clip_value, clip_value)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under the older name.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.clip_grad_norm([], 1.0)
        tensor(0.)
    """
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
