"""Rprop, resilient backpropagation (Riedmiller and Braun, 1993)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.ops import full_like, tensor, zeros_like
from pyburn.optim.optimizer import Stepping, check_settings


class Rprop(Stepping):
    """Steps by the gradient's sign alone, longer where it stays and shorter where it turns.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The first length of a step.
        etas: By which factors a step becomes shorter and longer.
        step_sizes: The least and largest length of a step.
        capturable: Accepted for torch's sake.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = tensor(0.0, dtype=float32, device="cpu")
            state["prev"] = zeros_like(p)
            state["step_size"] = full_like(grad, float(group["lr"]))
        (shorter, longer), (least, largest) = group["etas"], group["step_sizes"]
        state["step"] += 1
        product = grad * state["prev"]
        turned = product < 0
        factor = full_like(grad, 1.0).masked_fill(product > 0, longer).masked_fill(turned, shorter)
        size = state["step_size"].mul_(factor).clamp_(least, largest)
        kept = grad.masked_fill(turned, 0.0)
        p.addcmul_(kept.sign(), size, value=-1)
        state["prev"].copy_(kept)
