"""What a loss must be so that a model can learn from it."""

from __future__ import annotations

from typing import Any, NoReturn

from pyburn._core import Tensor

__all__ = ["fits", "refuse"]


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
