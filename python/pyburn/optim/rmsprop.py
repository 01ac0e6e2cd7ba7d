"""RMSprop (Hinton's lecture 6e, and Graves 2013 for the centered form)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_settings


class RMSprop(Stepping):
    """Gradients divided by their running root mean square.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        alpha: How much of the running mean square is kept at each step.
        eps: Added to the root mean square.
        weight_decay: How much of the parameter is added to its gradient.
        momentum: How much of the last step is kept.
        centered: Whether the variance is used instead of the mean square.
        capturable: Accepted for torch's sake.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.RMSprop([w], lr=0.01)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["square_avg"] = zeros_like(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state, group)
        kept = [state["square_avg"]]
        if group["momentum"] > 0:
            kept.append(state["momentum_buffer"])
        if group["centered"] or not _core._alike([p, grad, *kept]):
            return None
        state["step"] += 1
        alpha = float(group["alpha"])
        settings = (group["weight_decay"], alpha, 1 - alpha, group["eps"], group["lr"], group["momentum"])
        rule = "rmsprop momentum" if group["momentum"] > 0 else "rmsprop"
        return rule, kept, [float(setting) for setting in settings]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state, group)
        lr, alpha = float(group["lr"]), group["alpha"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root)
            p.add_(buffer, alpha=-lr)
        else:
            p.addcdiv_(grad, root, value=-lr)
