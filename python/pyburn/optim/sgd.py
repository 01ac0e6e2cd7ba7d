"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.optim.optimizer import Native, Stepping, check_settings


class SGD(Stepping):
    """`p -= lr * v`, where `v` is the gradient or its running sum with momentum.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        momentum: How much of the running sum is kept at each step.
        dampening: How much of the new gradient is left out of the running sum.
        weight_decay: How much of the parameter is added to its gradient.
        nesterov: Whether the gradient is looked up one momentum step ahead.
        maximize: Whether the loss is to grow.
        foreach: Accepted for torch's sake.
        differentiable: Whether the step itself is recorded, for gradients through it.
        fused: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.8000])
    """

    # A zero of the gradient changes nothing here, so giving a sparse gradient its zeros does not either.
    _takes_sparse = "dense"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _step_group(self, group: dict[str, Any]) -> None:
        """Nothing; without momentum there is no state to look up, so the usual step is one native call."""
        if group["momentum"] == 0 and not self.defaults.get("differentiable"):
            pairs = [[p, grad] for p in group["params"] if (grad := p.grad) is not None]
            numbers = [[float(group["weight_decay"]), float(group["lr"])]] * len(pairs)
            dense = not any(grad.is_sparse for _, grad in pairs)
            if dense and _core._fused_step("sgd", pairs, numbers, bool(group.get("maximize"))):
                return
        super()._step_group(group)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        lr, decay, momentum = float(group["lr"]), float(group["weight_decay"]), group["momentum"]
        buffer = state.get("momentum_buffer")
        if momentum == 0:
            if not _core._alike([p, grad]):
                return None
            self.state.pop(p, None)
            return "sgd", [], [decay, lr]
        if buffer is None or not _core._alike([p, grad, buffer]):
            return None
        numbers = [decay, lr, float(momentum), 1.0 - group["dampening"], float(group["nesterov"])]
        return "momentum", [buffer], numbers

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum == 0:
            # torch keeps no state here, and neither does an entry that was only looked up.
            self.state.pop(p, None)
        else:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(grad, alpha=-float(group["lr"]))
