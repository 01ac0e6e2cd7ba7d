"""Adamax, the form of Adam with the infinity norm (Kingma and Ba, 2014)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_betas, check_settings


class Adamax(Stepping):
    """Adam whose steps are divided by the largest recent gradient instead of a root mean square.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much of the running mean and maximum is kept at each step.
        eps: A small number for stability.
        weight_decay: How much of the parameter is added to its gradient.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.
        capturable: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["exp_avg"] = zeros_like(p)
            state["exp_inf"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state)
        kept = [state["exp_avg"], state["exp_inf"]]
        if not _core._alike([p, grad, *kept]):
            return None
        beta1, beta2 = (float(beta) for beta in group["betas"])
        state["step"] += 1
        rate = float(group["lr"]) / (1 - beta1 ** state["step"].item())
        return "adamax", kept, [float(group["weight_decay"]), 1 - beta1, beta2, float(group["eps"]), rate]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = state["exp_inf"].mul(beta2).maximum(grad.abs().add_(group["eps"]))
        state["exp_inf"].copy_(largest)
        p.addcdiv_(mean, largest, value=-float(group["lr"]) / (1 - beta1 ** state["step"].item()))
