"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_settings


class ASGD(Stepping):
    """Gradient descent that keeps the average of the parameters in its state, under "ax".

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        lambd: How much the parameters shrink at each step.
        alpha: The power by which the learning rate falls.
        t0: At which step the averaging begins.
        weight_decay: How much of the parameter is added to its gradient.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.
        capturable: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.ASGD([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr, lambd=lambd, alpha=alpha, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device=p.device)
            state["eta"] = tensor(float(group["lr"]), dtype=float32, device=p.device)
            state["mu"] = tensor(1.0, dtype=float32, device=p.device)
            state["ax"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state, group)
        if not _core._alike([p, grad, state["ax"]]):
            return None
        lr, lambd = float(group["lr"]), float(group["lambd"])
        state["step"] += 1
        step, eta, mu = state["step"].item(), state["eta"].item(), state["mu"].item()
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
        return "asgd", [state["ax"]], [float(group["weight_decay"]), 1 - lambd * eta, eta, mu]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state, group)
        lr, lambd = float(group["lr"]), group["lambd"]
        state["step"] += 1
        step, eta, mu = state["step"].item(), state["eta"].item(), state["mu"].item()
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        state["ax"].copy_(p if mu == 1 else state["ax"] + (p - state["ax"]) * mu)
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
