"""Adan (Xie and others, 2022), with burn's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Stepping, check_betas, check_settings


class Adan(Stepping):
    """Adam with a Nesterov step: the change of the gradient has a running mean of its own.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much is kept at each step of the means of the gradient, of its change, and of the square of both.
        eps: Added to the root mean square.
        weight_decay: By how much the parameter itself shrinks.
        no_prox: Whether it shrinks before the step instead of after it.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adan([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float, float] = (0.98, 0.92, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        no_prox: bool = False,
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
            "no_prox": no_prox,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            for name in ("exp_avg", "exp_avg_diff", "exp_avg_sq"):
                state[name] = zeros_like(p)
            state["prev_grad"] = grad.clone()
        lr, (beta1, beta2, beta3) = float(group["lr"]), group["betas"]
        state["step"] += 1
        step = state["step"].item()
        change = grad - state["prev_grad"]
        state["prev_grad"].copy_(grad)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        drift = state["exp_avg_diff"].lerp_(change, 1 - beta2)
        ahead = grad.add(change, alpha=beta2)
        square = state["exp_avg_sq"].mul_(beta3).addcmul_(ahead, ahead, value=1 - beta3)
        root = (square.sqrt() / (1 - beta3**step) ** 0.5).add_(group["eps"])
        decay = lr * group["weight_decay"]
        if decay != 0 and group["no_prox"]:
            p.mul_(1 - decay)
        p.addcdiv_(mean, root, value=-lr / (1 - beta1**step))
        p.addcdiv_(drift, root, value=-lr * beta2 / (1 - beta2**step))
        if decay != 0 and not group["no_prox"]:
            p.div_(1 + decay)
