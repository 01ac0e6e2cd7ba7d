"""torch.nn.utils: helpers around parameters and their gradients."""

import importlib as _importlib
import typing as _typing

from pyburn.nn.utils import (
    clip_grad,
    convert_parameters,
    fusion,
    init,
    parametrizations,
    parametrize,
    rnn,
    stateless,
)
from pyburn.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from pyburn.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from pyburn.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from pyburn.nn.utils.init import skip_init
from pyburn.nn.utils.memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from pyburn.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from pyburn.nn.utils.weight_norm import remove_weight_norm, weight_norm

if _typing.TYPE_CHECKING:
    from pyburn.nn.utils import prune


def __getattr__(name: str) -> object:
    """`prune`, which is loaded when first named."""
    if name == "prune":
        return _importlib.import_module("pyburn.nn.utils.prune")
    raise AttributeError(f"module 'pyburn.nn.utils' has no attribute '{name}'")


__all__ = [
    "clip_grad",
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "convert_parameters",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "get_total_norm",
    "init",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
