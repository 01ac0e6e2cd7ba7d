"""Adagrad (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops import full_like, tensor
from pyburn.optim.optimizer import Native, Stepping, check_settings


class Adagrad(Stepping):
    """Gradients divided by the root of the sum of all their squares so far.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The learning rate.
        lr_decay: By how much the learning rate falls with each step.
        weight_decay: How much of the parameter is added to its gradient.
        initial_accumulator_value: What the sum of squares begins with.
        eps: Added to the root.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.
        differentiable: Whether the step itself is recorded, for gradients through it.
        fused: Accepted for torch's sake.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    # A zero of the gradient changes nothing here, so giving a sparse gradient its zeros does not either.
    _takes_sparse = "dense"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(
            lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def share_memory(self) -> None:
        """Nothing; the sums of squares lie where other processes see them from now on."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Nothing; the group is added, its sums of squares begin at once, as in torch."""
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            self.state[p]["step"] = tensor(0.0, dtype=float32, device="cpu")
            self.state[p]["sum"] = full_like(p.detach(), self.param_groups[-1]["initial_accumulator_value"])

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        if not _core._alike([p, grad, state["sum"]]):
            return None
        state["step"] += 1
        lr = float(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        return "adagrad", [state["sum"]], [float(group["weight_decay"]), float(group["eps"]), lr]

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        lr = float(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, state["sum"].sqrt().add(group["eps"]), value=-lr)
