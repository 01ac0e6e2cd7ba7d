"""torch.backends.quantized: there is no engine for quantized networks."""

__all__ = ["engine", "supported_engines"]

engine = "none"
supported_engines = ["none"]
