"""NAdam, Adam with Nesterov's momentum (Dozat, 2016)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_betas, check_settings


class NAdam(Stepping):
    """Adam that looks one momentum step ahead.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much of the running mean and mean square is kept at each step.
        eps: A small number for stability.
        weight_decay: How much of the parameter is added to its gradient.
        momentum_decay: How fast the momentum grows to its full value.
        decoupled_weight_decay: Whether the parameter itself shrinks instead, as in AdamW.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        capturable: Accepted for torch's sake.
        differentiable: Whether the step itself is recorded, for gradients through it.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.8944])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["mu_product"] = tensor(1.0, dtype=float32, device="cpu")
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state)
        kept = [state["exp_avg"], state["exp_avg_sq"]]
        if not _core._alike([p, grad, *kept]):
            return None
        lr, decay = float(group["lr"]), float(group["weight_decay"])
        beta1, beta2 = (float(beta) for beta in group["betas"])
        state["step"] += 1
        step = state["step"].item()
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        added, shrink = (0.0, 1 - lr * decay) if group["decoupled_weight_decay"] else (decay, 1.0)
        rates = [lr * (1.0 - mu) / (1.0 - product), lr * mu_next / (1.0 - product * mu_next)]
        share, eps = 1 - beta2**step, float(group["eps"])
        return "nadam", kept, [added, shrink, 1 - beta1, beta2, 1 - beta2, share, eps, *rates]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state)
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt().add(group["eps"])
        p.addcdiv_(grad, root, value=-lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(mean, root, value=-lr * mu_next / (1.0 - product * mu_next))
