"""Lion (Chen and others, 2023), with burn's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops import zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_betas, check_settings


class Lion(Stepping):
    """Steps of one length, in the direction of the sign of a running mean of the gradient.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate; smaller than Adam's.
        betas: How much of the running mean is in the step, and how much is kept.
        weight_decay: By how much the parameter itself shrinks.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Lion([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        check_settings(lr, weight_decay=weight_decay)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        if not state:
            state["exp_avg"] = zeros_like(p)
        if not _core._alike([p, grad, state["exp_avg"]]):
            return None
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        numbers = [1 - lr * float(group["weight_decay"]), 1 - float(beta1), 1 - float(beta2), lr]
        return "lion", [state["exp_avg"]], numbers

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["exp_avg"] = zeros_like(p)
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        p.add_(state["exp_avg"].lerp(grad, 1 - beta1).sign_(), alpha=-lr)
        state["exp_avg"].lerp_(grad, 1 - beta2)
