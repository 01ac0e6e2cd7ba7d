"""torch.ao: quantization can be imported, and raises when it is used."""

import importlib as _importlib


def __getattr__(name: str) -> object:
    if name == "quantization":
        return _importlib.import_module("pyburn.ao.quantization")
    raise AttributeError(f"module 'pyburn.ao' has no attribute '{name}'")
