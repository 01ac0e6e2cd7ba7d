"""torch.ao.nn: layers for quantization, which pyburn has not; their arithmetic on floats works."""

from pyburn.ao.nn import quantized

__all__ = ["quantized"]
