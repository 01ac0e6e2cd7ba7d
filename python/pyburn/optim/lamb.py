"""LAMB (You and others, 2019), with burn's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Stepping, check_betas, check_settings


class Lamb(Stepping):
    """Adam whose step has, for each parameter, the size of the parameter; for very large batches.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much of the running mean and mean square is kept at each step.
        eps: Added to the root mean square.
        weight_decay: How much of the parameter is added to its step.
        use_trust_ratio: Whether the step is scaled to the parameter's norm.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Lamb([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        use_trust_ratio: bool = True,
        *,
        maximize: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "use_trust_ratio": use_trust_ratio,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"].item()
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        update = (mean / (1 - beta1**step)) / (square / (1 - beta2**step)).sqrt_().add_(group["eps"])
        if group["weight_decay"] != 0:
            update.add_(p, alpha=group["weight_decay"])
        ratio = 1.0
        if group["use_trust_ratio"]:
            size, length = p.norm().item(), update.norm().item()
            ratio = size / length if size > 0 and length > 0 else 1.0
        p.add_(update, alpha=-float(group["lr"]) * ratio)
