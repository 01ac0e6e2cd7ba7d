"""torch.nn.modules: torch's file names for the layers, which live in pyburn.nn under families of their own."""

from __future__ import annotations

import sys
from types import ModuleType

from pyburn.nn import (
    _state,
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    fractional,
    lazy,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    rnn,
    rnn_cell,
    sparse,
    transformer,
    upsampling,
)
from pyburn.nn.modules import utils

# torch's file name: where its classes are here.
_FILES: dict[str, tuple[ModuleType, ...]] = {
    "activation": (activation, attention),
    "adaptive": (adaptive,),
    "batchnorm": (batchnorm, lazy),
    "channelshuffle": (upsampling,),
    "container": (container,),
    "conv": (conv, lazy),
    "distance": (distance,),
    "dropout": (dropout,),
    "flatten": (linear,),
    "fold": (upsampling,),
    "instancenorm": (batchnorm, lazy),
    "lazy": (lazy,),
    "linear": (linear, lazy, attention),
    "loss": (loss, adaptive),
    "module": (module, _state),
    "normalization": (normalization,),
    "padding": (padding,),
    "pixelshuffle": (upsampling,),
    "pooling": (pooling, fractional),
    "rnn": (rnn, rnn_cell),
    "sparse": (sparse,),
    "transformer": (transformer,),
    "upsampling": (upsampling,),
}


def _alias(name: str, sources: tuple[ModuleType, ...]) -> ModuleType:
    """A module of torch's name that shares the names of ours."""
    made = ModuleType(f"{__name__}.{name}", f"torch.nn.modules.{name}: names from pyburn.nn.")
    for source in sources:
        made.__dict__.update({k: v for k, v in vars(source).items() if not k.startswith("__")})
    sys.modules[made.__name__] = made
    return made


for _name, _sources in _FILES.items():
    globals()[_name] = _alias(_name, _sources)


def __getattr__(name: str) -> object:
    """A class of torch.nn, which torch.nn.modules has too."""
    from pyburn import nn

    if not name.startswith("_") and name in nn.__all__:
        return getattr(nn, name)
    raise AttributeError(f"module 'pyburn.nn.modules' has no attribute '{name}'")


__all__ = ["utils", *_FILES]
