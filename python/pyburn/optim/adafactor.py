"""Adafactor (Shazeer and Stern, 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, float32
from pyburn._typeinfo import finfo
from pyburn.ops import tensor, zeros_like
from pyburn.optim.optimizer import Stepping, check_settings


class Adafactor(Stepping):
    """Steps relative to each parameter's size, with mean squares kept only by row and by column.

    Args:
        params: What is optimized, see `Optimizer`.
        lr: The largest learning rate; the rate also falls with the root of the step.
        beta2_decay: With which power of the step the mean squares take less of the new gradient.
        eps: The least mean square (the dtype's epsilon when None), and the least size of a parameter.
        d: The largest root mean square of a step before it is scaled down.
        weight_decay: By how much the parameter itself shrinks.
        foreach: Accepted for torch's sake.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> optimizer = pyburn.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward(); optimizer.step(); w.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_settings(lr, weight_decay=weight_decay)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for i, value in enumerate(eps):
            if value is not None and not value >= 0.0:
                raise ValueError(f"epsilon{i + 1} should be >= 0 but is: {value}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if not state:
            _begin(state, grad)
        lr, (eps1, eps2) = float(group["lr"]), group["eps"]
        eps1 = finfo(p.dtype).eps if eps1 is None else eps1
        state["step"] += 1
        step = state["step"].item()
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        square = _mean_square(state, grad, step ** group["beta2_decay"], eps1)
        update = square.clamp(min=eps1 * eps1).rsqrt().mul_(grad)
        scale = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        p.add_(update, alpha=-size * min(lr, step**-0.5) / scale)


def _begin(state: dict[str, Any], grad: Tensor) -> None:
    state["step"] = tensor(0.0, dtype=float32, device="cpu")
    if grad.dim() > 1:
        state["row_var"] = grad.new_zeros([*grad.shape[:-1], 1])
        state["col_var"] = grad.new_zeros([*grad.shape[:-2], 1, grad.shape[-1]])
    else:
        state["variance"] = zeros_like(grad)


def _mean_square(state: dict[str, Any], grad: Tensor, new: float, eps: float) -> Tensor:
    """The running mean square of each element; of a matrix, what its rows and columns say of it."""
    square = grad * grad
    if grad.dim() <= 1:
        variance: Tensor = state["variance"].lerp_(square, new)
        return variance
    rows = state["row_var"].lerp_(square.mean(dim=-1, keepdim=True), new)
    columns = state["col_var"].lerp_(square.mean(dim=-2, keepdim=True), new)
    estimate: Tensor = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp(min=eps))
    return estimate
