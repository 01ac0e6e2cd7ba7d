"""Adam (Kingma and Ba, 2014) and AdamW (Loshchilov and Hutter, 2017)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Native, Stepping, check_betas, check_settings


class Adam(Stepping):
    """Steps of the size `lr`, divided by a running root mean square of each element's gradient.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        betas: How much of the running mean and mean square is kept at each step.
        eps: Added to the root mean square.
        weight_decay: How much of the parameter is added to its gradient.
        amsgrad: Whether the largest mean square so far is used.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        capturable: Accepted for torch's sake.
        differentiable: Whether the step itself is recorded, for gradients through it.
        fused: Accepted for torch's sake.
        decoupled_weight_decay: Whether the parameter itself shrinks instead, as in AdamW.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_settings(lr, epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        self._begin(p, state, group)
        kept = [state["exp_avg"], state["exp_avg_sq"]]
        if group["amsgrad"]:
            kept.append(state["max_exp_avg_sq"])
        if not _core._alike([p, grad, *kept]):
            return None
        lr, decay = float(group["lr"]), float(group["weight_decay"])
        beta1, beta2 = (float(beta) for beta in group["betas"])
        state["step"] += 1
        step = state["step"].item()
        added, shrink = (0.0, 1 - lr * decay) if group["decoupled_weight_decay"] else (decay, 1.0)
        root, rate = (1 - beta2**step) ** 0.5, lr / (1 - beta1**step)
        numbers = [added, shrink, 1 - beta1, beta2, 1 - beta2, root, float(group["eps"]), rate]
        return ("amsgrad" if group["amsgrad"] else "adam"), kept, numbers

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._begin(p, state, group)
        lr, decay = float(group["lr"]), group["weight_decay"]
        beta1, beta2 = (float(beta) for beta in group["betas"])
        state["step"] += 1
        step = state["step"].item()
        if decay != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * decay)
            else:
                grad = grad.add(p, alpha=decay)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
        root = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        p.addcdiv_(mean, root, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves; arguments as `Adam`.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.AdamW([w], lr=0.1, weight_decay=1.0)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
