"""Small inputs with fixed values, made for torch or pyburn alike: what the samples of the op bank are called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTS, "bool")


@dataclass
class Make:
    """Makes inputs with fixed values in one dtype on one device, for either library.

    With `grad` every float input requires a gradient and is kept in `leaves`.
    """

    lib: Any
    dtype: str
    device: str = "cpu"
    grad: bool = False
    leaves: list[Any] = field(default_factory=list)

    @property
    def still(self) -> Make:
        """Makes inputs that are constants of the op by torch's definition: none has a gradient."""
        return Make(self.lib, self.dtype, self.device)

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        made = self.lib.tensor(values.tolist(), dtype=getattr(self.lib, dtype))
        made = made if self.device == "cpu" else made.to(self.device)
        if self.grad and dtype in FLOATS:
            self.leaves.append(made.requires_grad_())
        return made

    def x(self, *shape: int) -> Any:
        """Values of both signs (small and non-negative for unsigned types), no zeros among floats."""
        count = int(np.prod(shape))
        values = (np.arange(count) * 7 % 13 - 6) / 2 + 0.25
        if self.dtype in INTS:
            values = np.abs(values.round()) if self.dtype == "uint8" else values.round()
        if self.dtype == "bool":
            values = (np.arange(count) * 7 % 3) == 1
        return self._tensor(values.reshape(shape), self.dtype)

    def positive(self, *shape: int) -> Any:
        """Values from 1 to 6."""
        count = int(np.prod(shape))
        return self._tensor((np.arange(count) * 5 % 11 / 2 + 1).reshape(shape).astype(int), self.dtype)

    def unit(self, *shape: int) -> Any:
        """Values inside (-1, 1)."""
        count = int(np.prod(shape))
        return self._tensor(((np.arange(count) * 7 % 13 - 6) / 8).reshape(shape), self.dtype)

    def chance(self, *shape: int) -> Any:
        """Values inside (0, 1)."""
        count = int(np.prod(shape))
        return self._tensor(((np.arange(count) * 7 % 13 + 1) / 16).reshape(shape), self.dtype)

    def special(self, *shape: int) -> Any:
        """Values among which are NaN and both infinities (floats), or the extremes of the type."""
        count = int(np.prod(shape))
        odd = [1.5, np.nan, -np.inf, 0.0, np.inf, -2.5, 100.0]
        if self.dtype in INTS:
            # A GPU holds int64 as int32, so that sums of int32 must stay inside it too.
            wide, bounds = self.dtype in ("int64", "int32"), np.iinfo(self.dtype)
            most, least = (20000, -20000) if wide else (bounds.max, bounds.min)
            odd = [1, most, 0, 3, least, 2, 1]
        if self.dtype == "bool":
            odd = [True, False, False, True, True, False, True]
        return self._tensor(np.array([odd[at % 7] for at in range(count)], object).reshape(shape), self.dtype)

    def index(self, high: int, *shape: int) -> Any:
        """int64 indices below `high`."""
        count = int(np.prod(shape))
        return self._tensor((np.arange(count) * 5 % high).reshape(shape), "int64")

    def mask(self, *shape: int) -> Any:
        """Booleans of both kinds."""
        count = int(np.prod(shape))
        return self._tensor(((np.arange(count) % 3) == 0).reshape(shape), "bool")


Call = Callable[[Make], Any]


def functional(m: Make) -> Any:
    """`torch.nn.functional` of the library that is being called."""
    return m.lib.nn.functional


def assign(target: Any, index: Any, value: Any) -> Any:
    """A copy of `target` after `target[index] = value`."""
    target = target.clone()
    target[index] = value
    return target
