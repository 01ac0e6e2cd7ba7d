"""A deep-learning library with PyTorch's API and burn, the Rust framework, as its engine."""

import importlib as _importlib
import os as _os

from pyburn import _core
from pyburn._core import (
    DeviceError,
    DimError,
    DTypeError,
    ShapeError,
    Tensor,
    bfloat16,
    bool,  # noqa: A004
    can_cast,
    cdouble,
    cfloat,
    complex64,
    complex128,
    device,
    double,
    dtype,
    float,  # noqa: A004
    float16,
    float32,
    float64,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    half,
    int,  # noqa: A004
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    is_inference_mode_enabled,
    long,
    promote_types,
    set_default_device,
    set_default_dtype,
    set_num_threads,
    short,
    synchronize,
    uint8,
    uint16,
    uint32,
    uint64,
)
from pyburn._size import Size
from pyburn import _copying, _storage, _tensor
from pyburn._formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from pyburn._devices import Backend, DeviceInfo, devices
from pyburn._legacy import *  # noqa: F403
from pyburn._printing import get_printoptions, printoptions, set_printoptions
from pyburn._typeinfo import finfo, iinfo
from pyburn.ops import *  # noqa: F403
from pyburn import autograd
from pyburn.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from pyburn import utils
from pyburn._distribution import Distribution
from pyburn._storage import TypedStorage, UntypedStorage
from pyburn import cuda
from pyburn.ops import random

# `pyburn.tensor` is a module that can be called: it replaces the function of the same name.
_importlib.import_module("pyburn.tensor")

_os.register_at_fork(after_in_child=_core._after_fork_in_child)

__version__ = "0.1.0"

# Loaded when first named, so that a program that only computes does not pay for layers and optimizers.
_LAZY = ("compat", "data", "nn", "optim", "safetensors", "serialization", "torch_version", "version")


# Functions whose modules are loaded when they are first named.
_LAZY_NAMES = {"load": "serialization", "save": "serialization"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _importlib.import_module(f"pyburn.{name}")
    if name in _LAZY_NAMES:
        found: object = getattr(_importlib.import_module(f"pyburn.{_LAZY_NAMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'pyburn' has no attribute '{name}'")
