"""Adam for gradients that are sparse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor
from pyburn.ops import zeros_like
from pyburn.optim.optimizer import Stepping, check_betas


class SparseAdam(Stepping):
    """Adam that only touches the elements for which a sparse gradient has values.

    Args:
        params: What is optimized, see `Optimizer`; dense tensors whose gradients are sparse.
        lr: The learning rate.
        betas: How much of the running mean and mean square is kept at each step.
        eps: Added to the root mean square.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(3, requires_grad=True)
        >>> w.grad = gradient = pyburn.sparse_coo_tensor([[1]], [2.0], (3,))
        >>> pyburn.optim.SparseAdam([w], lr=0.5).step(); w.detach()
        tensor([1.0000, 0.5000, 1.0000])
    """

    _counts_in_tensors = False
    _takes_sparse = "sparse"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"Tensor lr must be 1-element, but it has shape {list(lr.shape)}")
        if not float(lr) > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", "requires dense parameter tensors", lambda p: p.is_sparse)
        self._refuse("Complex", "does not support complex parameters", lambda p: p.is_complex())

    def _refuse(self, kind: str, reason: str, is_kind: Any) -> None:
        groups = enumerate(self.param_groups)
        found = [[i, j] for i, group in groups for j, p in enumerate(group["params"]) if is_kind(p)]
        if found:
            raise ValueError(f"{kind} params at indices {found}: SparseAdam {reason}")

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
        state["step"] += 1
        whole: Any = grad.coalesce()
        places, values = tuple(whole._indices()), whole._values()
        if values.numel() == 0:
            return
        step, (beta1, beta2) = state["step"], group["betas"]
        mean = state["exp_avg"][places].lerp(values, 1 - beta1)
        square = state["exp_avg_sq"][places].lerp(values * values, 1 - beta2)
        state["exp_avg"][places] = mean
        state["exp_avg_sq"][places] = square
        size = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p[places] = p[places].addcdiv(mean, square.sqrt().add(group["eps"]), value=-size)
