"""torch.ao.quantization: pyburn does not quantize networks; the stubs for it pass their input on."""

from __future__ import annotations

from typing import Any

from pyburn._absent import absent_class, absent_function
from pyburn._core import Tensor
from pyburn.nn import Module
from pyburn.nn.utils.fusion import fuse_conv_bn_eval

__all__ = [
    "DeQuantStub",
    "FakeQuantize",
    "HistogramObserver",
    "MinMaxObserver",
    "QConfig",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "default_qconfig",
    "fuse_conv_bn_eval",
    "fuse_modules",
    "fuse_modules_qat",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "prepare",
    "prepare_qat",
    "quantize",
    "quantize_dynamic",
]

_WHY = ("pyburn does not quantize networks", "compute in half precision with autocast or model.half()")

prepare = absent_function("ao.quantization.prepare", *_WHY)
prepare_qat = absent_function("ao.quantization.prepare_qat", *_WHY)
convert = absent_function("ao.quantization.convert", *_WHY)
quantize_dynamic = absent_function("ao.quantization.quantize_dynamic", *_WHY)
get_default_qconfig = absent_function("ao.quantization.get_default_qconfig", *_WHY)
get_default_qat_qconfig = absent_function("ao.quantization.get_default_qat_qconfig", *_WHY)
fuse_modules = absent_function("ao.quantization.fuse_modules", *_WHY)
fuse_modules_qat = absent_function("ao.quantization.fuse_modules_qat", *_WHY)
quantize = absent_function("ao.quantization.quantize", *_WHY)
default_qconfig: Any = None
FakeQuantize: Any = absent_class("ao.quantization.FakeQuantize", *_WHY)
HistogramObserver: Any = absent_class("ao.quantization.HistogramObserver", *_WHY)
MinMaxObserver: Any = absent_class("ao.quantization.MinMaxObserver", *_WHY)
QConfig: Any = absent_class("ao.quantization.QConfig", *_WHY)
QuantWrapper: Any = absent_class("ao.quantization.QuantWrapper", *_WHY)


class QuantStub(Module):
    """A place where a quantized network would begin; it passes its input on, as in torch before `convert`."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """A place where a quantized network would end; it passes its input on."""
