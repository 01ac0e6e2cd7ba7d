"""torch.ao: quantization can be imported, and raises when it is used."""

import importlib as _importlib

_LAZY = ("nn", "quantization")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"pyburn.ao.{name}")
    raise AttributeError(f"module 'pyburn.ao' has no attribute '{name}'")
