"""torch.ao.quantization: pyburn does not quantize networks; the stubs for it pass their input on."""

from __future__ import annotations

from typing import Any

from pyburn._absent import absent_function
from pyburn._core import Tensor
from pyburn.nn import Module
from pyburn.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["DeQuantStub", "QuantStub", "convert", "fuse_conv_bn_eval", "get_default_qconfig", "prepare"]

_WHY = ("pyburn does not quantize networks", "compute in half precision with autocast or model.half()")

prepare = absent_function("ao.quantization.prepare", *_WHY)
prepare_qat = absent_function("ao.quantization.prepare_qat", *_WHY)
convert = absent_function("ao.quantization.convert", *_WHY)
quantize_dynamic = absent_function("ao.quantization.quantize_dynamic", *_WHY)
get_default_qconfig = absent_function("ao.quantization.get_default_qconfig", *_WHY)
fuse_modules = absent_function("ao.quantization.fuse_modules", *_WHY)


class QuantStub(Module):
    """A place where a quantized network would begin; it passes its input on, as in torch before `convert`."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """A place where a quantized network would end; it passes its input on."""
