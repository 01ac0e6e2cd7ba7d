"""What a loss must be so that a model can learn from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyburn import nn
from pyburn._core import Tensor

__all__ = ["fits", "named", "refuse"]

_F = nn.functional
_NAMES: dict[str, Callable[..., Tensor]] = {
    "binary_cross_entropy": _F.binary_cross_entropy,
    "binary_cross_entropy_with_logits": _F.binary_cross_entropy_with_logits,
    "cross_entropy": _F.cross_entropy,
    "huber": _F.huber_loss,
    "kl_div": _F.kl_div,
    "l1": _F.l1_loss,
    "mae": _F.l1_loss,
    "mse": _F.mse_loss,
    "nll": _F.nll_loss,
    "smooth_l1": _F.smooth_l1_loss,
}


def named(given: Any) -> Any:
    """The loss that a name or a class of losses means; whatever else is given stays itself.

    Example:
        >>> named("mse").__name__, named(nn.MSELoss)
        ('mse_loss', MSELoss())
    """
    if isinstance(given, type) and issubclass(given, nn.Module):
        return given()
    if not isinstance(given, str):
        return given
    if given not in _NAMES:
        raise ValueError(f"train: there is no loss {given!r}; give a function, or one of {', '.join(_NAMES)}")
    return _NAMES[given]


def fits(loss: Any) -> bool:
    """Whether `loss` is one number that depends on weights.

    Example:
        >>> fits(1.0)
        False
    """
    return isinstance(loss, Tensor) and loss.requires_grad and loss.numel() == 1


def refuse(loss: Any) -> NoReturn:
    """Nothing; says why a model cannot learn from `loss`.

    Raises:
        TypeError: It is no tensor.
        ValueError: It is more than one number.
        RuntimeError: It depends on no weight that trains.
    """
    if not isinstance(loss, Tensor):
        raise TypeError(f"Learner: the loss is a {type(loss).__name__}; it must be a tensor that the weights led to")
    if loss.numel() != 1:
        raise ValueError(
            f"Learner: the loss has shape {tuple(loss.shape)}, but must be one number; take its .mean() or .sum(), or "
            "leave out reduction='none'"
        )
    raise RuntimeError(
        "Learner: the loss does not depend on any weight that trains, so there is nothing to learn (it does not "
        "require grad); unfreeze some weights, and compute it from the output without detach() or no_grad()"
    )
