"""RAdam, Adam with rectified first steps (Liu et al., 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Stepping, check_betas, check_settings


class RAdam(Stepping):
    """Adam that takes plain momentum steps until its mean square can be trusted.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much of the running mean and mean square is kept at each step.
        eps: A small number for stability.
        weight_decay: How much of the parameter is added to its gradient.
        decoupled_weight_decay: Whether the parameter itself shrinks instead, as in AdamW.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        capturable: Accepted for torch's sake.
        differentiable: Whether the step itself is recorded, for gradients through it.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, 1 - beta1) / (1 - beta1**step)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        left = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / left
        if length <= 5.0:
            p.add_(mean, alpha=-lr)
            return
        above = (length - 4) * (length - 2) * longest
        rectified = (above / ((longest - 4) * (longest - 2) * length)) ** 0.5
        p.addcdiv_(mean, square.sqrt().add(group["eps"]), value=-lr * rectified * left**0.5)
