"""Muon (Jordan and others, 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pyburn._core import Tensor, bfloat16, float32
from pyburn.ops import zeros_like
from pyburn.optim.optimizer import Stepping, check_settings

_ADJUSTMENTS = ("original", "match_rms_adamw", "spectral_unclamped")


class Muon(Stepping):
    """Momentum whose matrices are made nearly orthogonal before each step; for matrices only.

    Args:
        params: What is optimized, see `Optimizer`; each has two dimensions.
        lr: The learning rate.
        weight_decay: By how much the parameter itself shrinks.
        momentum: How much of the running mean is kept at each step.
        nesterov: Whether the gradient is looked up one momentum step ahead.
        ns_coefficients: The polynomial of the Newton-Schulz iteration.
        eps: The least norm that a matrix is divided by.
        ns_steps: How many iterations.
        adjust_lr_fn: How the rate depends on the shape: "original", "match_rms_adamw" or "spectral_unclamped".

    Example:
        >>> import pyburn
        >>> w = pyburn.eye(2, requires_grad=True)
        >>> optimizer = pyburn.optim.Muon([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.shape
        pyburn.Size([2, 2])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_settings(lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported; it is one of {list(_ADJUSTMENTS)}."
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.dim() != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}; "
                    "give biases and embeddings to AdamW."
                )

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        lr, momentum = float(group["lr"]), group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        direction = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * _rate_for(p.shape[0], p.shape[1], group["adjust_lr_fn"]))


def orthogonalized(grad: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """`grad` with its singular values brought near one, as precise as bfloat16, by a polynomial of its Gram matrix."""
    if steps >= 100:
        raise ValueError("Muon: the number of Newton-Schulz steps must be less than 100.")
    if len(coefficients) != 3:
        raise ValueError("Muon: ns_coefficients must be a tuple of exactly 3 values.")
    a, b, c = coefficients
    tall = grad.shape[0] > grad.shape[1]
    matrix = _rounded(grad.t() if tall else grad)
    matrix = _rounded(matrix / _rounded(matrix.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = _rounded(matrix @ matrix.t())
        matrix = _rounded(a * matrix + _rounded(b * gram + c * (gram @ gram)) @ matrix)
    return matrix.t() if tall else matrix


def _rounded(x: Tensor) -> Tensor:
    """`x` as bfloat16 holds it; sums are taken in float32, as torch's bfloat16 products do."""
    # GPUs here have no bfloat16.
    return x.to(bfloat16).to(float32) if x.is_cpu else x.cpu().to(bfloat16).to(float32).to(x.device)


def _rate_for(rows: int, columns: int, adjustment: str | None) -> float:
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    ratio = rows / columns
    return math.sqrt(ratio if adjustment == "spectral_unclamped" else max(1, ratio))
