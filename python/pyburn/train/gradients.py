"""From a loss to new weights: precision, accumulation over batches, clipping, the optimizer's step."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pyburn._core import Tensor, bfloat16, float16, float32
from pyburn.amp import GradScaler, autocast
from pyburn.nn.utils import clip_grad_norm_, clip_grad_value_

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["Gradients"]

_PRECISIONS = {
    None: None,
    "float32": None,
    "32": None,
    "32-true": None,
    32: None,
    float32: None,
    "bfloat16": bfloat16,
    "bf16": bfloat16,
    "bf16-mixed": bfloat16,
    bfloat16: bfloat16,
    "float16": float16,
    "fp16": float16,
    "f16": float16,
    "16": float16,
    "16-mixed": float16,
    16: float16,
    float16: float16,
}


class Gradients:
    """How the gradients of a run are made and used.

    Args:
        accumulate: How many batches add up to one step of the optimizer.
        clip_norm: The largest norm of all gradients together.
        clip_value: The largest size of each number in a gradient.
        precision: "bfloat16" or "float16" (or these dtypes) computes products and convolutions in it
            (`pyburn.autocast`); float16 scales the loss so that small gradients survive.
    """

    def __init__(
        self,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: Any = None,
    ) -> None:
        if accumulate < 1:
            raise ValueError(f"Learner: accumulate is {accumulate}, but at least one batch must make a step")
        if precision not in _PRECISIONS:
            names = ", ".join(name for name in _PRECISIONS if isinstance(name, str))
            raise ValueError(f"Learner: precision is {precision!r}, but must be one of {names}")
        self.accumulate, self.clip_norm, self.clip_value = accumulate, clip_norm, clip_value
        self.dtype = _PRECISIONS[precision]
        self.scaler = GradScaler("cpu") if self.dtype is float16 else None
        self.waiting = 0

    def context(self, device: Any) -> contextlib.AbstractContextManager[Any]:
        """The block in which a forward pass runs."""
        return contextlib.nullcontext() if self.dtype is None else autocast(device.type, dtype=self.dtype)

    def backward(self, loss: Tensor) -> None:
        """Nothing; the gradients of this batch are added to the weights' own."""
        if self.accumulate > 1:
            loss = loss / self.accumulate
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        self.waiting += 1

    def step(self, learner: Learner) -> None:
        """Nothing; the weights are new and the gradients gone."""
        optimizer = learner.optimizer
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)
        if self.clip_value is not None or self.clip_norm is not None:
            self._clip([weight for group in optimizer.param_groups for weight in group["params"]])
        learner.events.fire("before_step", learner)
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()
        optimizer.zero_grad()
        self.waiting = 0
        learner.step += 1
        learner.schedule.after_step()
        learner.events.fire("after_step", learner)

    def _clip(self, weights: list[Tensor]) -> None:
        if self.clip_value is not None:
            clip_grad_value_(weights, self.clip_value)
        if self.clip_norm is not None:
            clip_grad_norm_(weights, self.clip_norm)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of the scale of the losses."""
        return {} if self.scaler is None else self.scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        if self.scaler is not None and state:
            self.scaler.load_state_dict(state)
