"""Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_settings


class Adadelta(Stepping):
    """Gradients times the running size of past steps, divided by their own running root mean square.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        rho: How much of the running means is kept at each step.
        eps: A small number for stability.
        weight_decay: How much of the parameter is added to its gradient.
        foreach: Accepted for torch's sake.
        capturable: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adadelta([w], lr=1.0)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9968])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["square_avg"] = zeros_like(p)
            state["acc_delta"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state)
        kept = [state["square_avg"], state["acc_delta"]]
        if not _core._alike([p, grad, *kept]):
            return None
        rho = float(group["rho"])
        state["step"] += 1
        return "adadelta", kept, [float(group["weight_decay"]), rho, 1 - rho, float(group["eps"]), float(group["lr"])]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state)
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt() / square.add(eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-float(group["lr"]))
