"""Losses multiplied before `backward`, and gradients divided after it, so that small ones survive half precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.optim import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far the gradients of an optimizer are since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, skips steps whose gradients are not finite, and finds the largest scale that works.

    Args:
        device: The device type; for one that is not here, such as "cuda", the scaler does nothing, as in torch.
        init_scale: The first scale.
        growth_factor: What the scale is multiplied by after `growth_interval` good steps.
        backoff_factor: What it is multiplied by after a step that was skipped.
        growth_interval: How many good steps in a row let it grow.
        enabled: Whether the scaler does anything.

    Example:
        >>> import pyburn
        >>> weight = pyburn.ones(1, requires_grad=True)
        >>> optimizer, scaler = pyburn.optim.SGD([weight], lr=0.5), pyburn.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(weight.sum()).backward()
        >>> _ = scaler.step(optimizer), scaler.update()
        >>> weight, scaler.get_scale()
        (tensor([0.5000], requires_grad=True), 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1.0:
            raise ValueError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise ValueError("The backoff factor must be < 1.0.")
        self._device = device
        self._enabled = enabled
        if enabled and device not in ("cpu", "wgpu"):
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._began = False
        self._states: dict[int, OptState] = {}
        self._found_inf: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """The outputs, a tensor or tensors in lists, multiplied by the scale."""
        if not self._enabled:
            return outputs
        self._began = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            return scaled if isinstance(outputs, list) else tuple(scaled)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Nothing; the gradients of this optimizer's parameters are divided by the scale, once per step."""
        if not self._enabled:
            return
        self._need_scale("unscale_")
        state = self._states.get(id(optimizer), OptState.READY)
        if state is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._found_inf[id(optimizer)] = self._unscale(optimizer)
        self._states[id(optimizer)] = OptState.UNSCALED

    def _need_scale(self, name: str) -> None:
        """Refuses steps over gradients that nobody scaled: dividing them by the scale would make them tiny."""
        if not self._began:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def _unscale(self, optimizer: Optimizer) -> bool:
        """Whether a gradient was not finite; all of them are divided by the scale."""
        infinite = False
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        infinite |= not bool(ops.isfinite(parameter.grad).all())
                        parameter.grad.mul_(1.0 / self._scale)
        return infinite

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """What `optimizer.step` returns; None when a gradient was not finite and the step was skipped."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        state = self._states.get(id(optimizer), OptState.READY)
        if state is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state is OptState.READY:
            self.unscale_(optimizer)
        result = None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._states[id(optimizer)] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Nothing; the scale shrinks when a step was skipped since the last call, and grows after many good ones."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found_inf:
                raise RuntimeError("No inf checks were recorded prior to update.")
            if any(self._found_inf.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._states.clear()
        self._found_inf.clear()

    def get_scale(self) -> float:
        """The scale; 1.0 when the scaler does nothing."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Nothing; sets what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Nothing; sets what the scale shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Nothing; sets how many good steps let the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The settings and the scale; empty when the scaler does nothing."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the settings and the scale become those of `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
