"""torch._C: the few names of torch's own binary that programs reach for.

Switches of compilers that are not here answer that they are off. What only torch's binary has is absent, so that
programs which look for it with `hasattr` take their other way.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from pyburn import _ops
from pyburn import fft as _fft
from pyburn import linalg as _linalg
from pyburn import special as _special
from pyburn._absent import absent_class
from pyburn._core import Generator, Tensor, _disabled_torch_function_impl, _set_grad_enabled, device, dtype
from pyburn._formats import layout, memory_format
from pyburn._overriding import DisableTorchFunction, DisableTorchFunctionSubclass, modes
from pyburn._size import Size
from pyburn._storage import TypedStorage, UntypedStorage
from pyburn.accelerator import current_accelerator
from pyburn.autograd.engine import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from pyburn.cuda import Event, Stream
from pyburn.func import _levels as _functorch
from pyburn.futures import Future
from pyburn.jit import ScriptFunction, ScriptModule
from pyburn.nn import functional as _functional
from pyburn.nn.module import _parse_to as _device_and_dtype
from pyburn.ops.matrices.checks import LinAlgError as _LinAlgError

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "Event",
    "Future",
    "Generator",
    "Graph",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "ScriptFunction",
    "ScriptModule",
    "Size",
    "Stream",
    "TypedStorage",
    "UntypedStorage",
    "Value",
    "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard",
    "_LinAlgError",
    "_TensorBase",
    "_TensorMeta",
    "_are_functorch_transforms_active",
    "_disabled_torch_function_impl",
    "_fft",
    "_functorch",
    "_get_accelerator",
    "_get_privateuse1_backend_name",
    "_get_tracing_state",
    "_is_alias_of",
    "_is_torch_function_mode_enabled",
    "_is_tracing",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_nvfuser_enabled",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_linalg",
    "_log_api_usage_once",
    "_nn",
    "_set_grad_enabled",
    "_special",
    "device",
    "dtype",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "layout",
    "memory_format",
    "set_anomaly_enabled",
]

_TensorBase = Tensor
_TensorMeta = type(Tensor)
_GLIBCXX_USE_CXX11_ABI = True
has_cuda = has_cudnn = has_mkl = has_mps = has_xpu = False
has_lapack = has_openmp = has_spectral = True
_NO_GRAPHS = ("pyburn does not trace programs", "call the module itself")
Graph: Any = absent_class("_C.Graph", *_NO_GRAPHS)
Value: Any = absent_class("_C.Value", *_NO_GRAPHS)
_NO_TYPES = ("pyburn does not compile programs", "use Python's own types")
# The types of compiled programs, which annotations name.
AnyType: Any = absent_class("_C.AnyType", *_NO_TYPES)
BoolType: Any = absent_class("_C.BoolType", *_NO_TYPES)
ClassType: Any = absent_class("_C.ClassType", *_NO_TYPES)
ComplexType: Any = absent_class("_C.ComplexType", *_NO_TYPES)
DeviceObjType: Any = absent_class("_C.DeviceObjType", *_NO_TYPES)
DictType: Any = absent_class("_C.DictType", *_NO_TYPES)
EnumType: Any = absent_class("_C.EnumType", *_NO_TYPES)
FloatType: Any = absent_class("_C.FloatType", *_NO_TYPES)
FutureType: Any = absent_class("_C.FutureType", *_NO_TYPES)
InterfaceType: Any = absent_class("_C.InterfaceType", *_NO_TYPES)
IntType: Any = absent_class("_C.IntType", *_NO_TYPES)
ListType: Any = absent_class("_C.ListType", *_NO_TYPES)
NoneType: Any = absent_class("_C.NoneType", *_NO_TYPES)
NumberType: Any = absent_class("_C.NumberType", *_NO_TYPES)
OptionalType: Any = absent_class("_C.OptionalType", *_NO_TYPES)
StreamObjType: Any = absent_class("_C.StreamObjType", *_NO_TYPES)
StringType: Any = absent_class("_C.StringType", *_NO_TYPES)
TupleType: Any = absent_class("_C.TupleType", *_NO_TYPES)
Type: Any = absent_class("_C.Type", *_NO_TYPES)
UnionType: Any = absent_class("_C.UnionType", *_NO_TYPES)
_NO_RECORDS = ("pyburn reads and writes whole files", "use torch.load(path, mmap=True) or torch.save")
PyTorchFileReader: Any = absent_class("PyTorchFileReader", *_NO_RECORDS)
PyTorchFileWriter: Any = absent_class("PyTorchFileWriter", *_NO_RECORDS)


def _is_alias_of(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors share memory."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _is_torch_function_mode_enabled() -> bool:
    """Whether a `TorchFunctionMode` is active."""
    return bool(modes())


class _Nn(ModuleType):
    """torch._C._nn: the functions of nn.functional, and how the arguments of `to` are read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_functional, name)

    def _parse_to(self, *args: Any, **kwargs: Any) -> tuple[device | None, dtype | None, bool, memory_format | None]:
        """The device and dtype that are wanted, whether the copy may be late, and the order in memory."""
        target, kind = _device_and_dtype(args, kwargs)
        flags = [value for value in args if isinstance(value, bool)]
        return target, kind, bool(kwargs.get("non_blocking", flags[:1] == [True])), kwargs.get("memory_format")


_nn = _Nn("torch._C._nn")


class _DispatchKeys:
    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


# The name of a layer that calls pass through: a device, its autograd, its autocast.
DispatchKey = _DispatchKeys()


class DispatchKeySet:
    """A set of dispatch keys; ``|`` joins two."""

    def __init__(self, *keys: str) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys - other.keys))

    def has(self, key: str) -> bool:
        """Whether a key is in the set."""
        return key in self.keys

    def add(self, key: str) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(*self.keys, key)


def _ExcludeDispatchKeyGuard(keys: DispatchKeySet) -> AbstractContextManager[None]:
    """A context in which operators pass by what is registered for these keys."""
    return _ops.excluded(*keys.keys)


def _AutoDispatchBelowAutograd() -> AbstractContextManager[None]:
    """A context in which operators pass by what is registered for autograd."""
    return _ops.excluded("Autograd", "AutogradCPU", "AutogradWGPU")


def _are_functorch_transforms_active() -> bool:
    """False: `func` transforms call functions as they are."""
    return False


def _get_privateuse1_backend_name() -> str:
    """Torch's own name for the device that others may add."""
    return "privateuseone"


def _get_accelerator() -> device:
    """The device of `accelerator`, or the CPU where there is none."""
    return current_accelerator() or device("cpu")


def _log_api_usage_once(key: str) -> None:
    """Nothing; nobody is told what a program uses."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """False: it was off before, and there is no compiler that would use it."""
    return False


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """False: it was off before, and there is no compiler that would use it."""
    return False


def _jit_override_can_fuse_on_cpu(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_override_can_fuse_on_gpu(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Nothing; there is no such compiler."""


def _jit_set_nvfuser_enabled(enabled: bool) -> bool:
    """False: it was off before, and there is no such compiler."""
    return False
