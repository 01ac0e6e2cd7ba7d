"""torch.ao.nn.quantized: `FloatFunctional`, the sums and products of networks that may be quantized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import ops
from pyburn._absent import absent_class
from pyburn._core import Tensor
from pyburn.nn import Identity, Module

__all__ = ["Conv2d", "DeQuantize", "FloatFunctional", "Linear", "QFunctional", "Quantize"]

_WHY = ("pyburn does not quantize networks", "use half precision: autocast or model.half()")

Conv2d: Any = absent_class("ao.nn.quantized.Conv2d", *_WHY)
DeQuantize: Any = absent_class("ao.nn.quantized.DeQuantize", *_WHY)
Linear: Any = absent_class("ao.nn.quantized.Linear", *_WHY)
QFunctional: Any = absent_class("ao.nn.quantized.QFunctional", *_WHY)
Quantize: Any = absent_class("ao.nn.quantized.Quantize", *_WHY)


class FloatFunctional(Module):
    """Sums and products as a module, so that an observer can be put behind each.

    Example:
        >>> import pyburn
        >>> FloatFunctional().add_relu(pyburn.tensor([1.0, -3.0]), pyburn.ones(2))
        tensor([2., 0.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        """Nothing: raises; call one of the methods.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError("FloatFunctional is not intended to use the forward. Please use the underlying operation")

    def _seen(self, value: Tensor) -> Tensor:
        result: Tensor = self.activation_post_process(value)
        return result

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """`x + y`."""
        return self._seen(x + y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x + y`, which is not observed."""
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """`x * y`."""
        return self._seen(x * y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x * y`, which is not observed."""
        return x * y

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """The tensors joined along a dimension."""
        return self._seen(ops.cat(x, dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """`relu(x + y)`."""
        return self._seen((x + y).relu())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """`x @ y`."""
        return self._seen(x @ y)
