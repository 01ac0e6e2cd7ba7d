"""The names that a file may use: torch's tensors and the containers and numbers around them.

Nothing here looks a name up in a module. A name that is not listed raises; a program may add classes of its own
with `add_safe_globals`, as in torch, and only those are ever called.
"""

from __future__ import annotations

import argparse
import pathlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.nn.module import Module
from pyburn.nn.parameter import Buffer, Parameter
from pyburn.serialization import _modules, _numpy
from pyburn.serialization._storages import DTYPES, NAMED_DTYPES, StorageType, rebuild_tensor, size_of

# Classes that the program itself has declared safe, by their full names.
USER: dict[str, Any] = {}


class Function:
    """A name of the list, and what calling it gives."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def call(self, arguments: tuple[Any, ...]) -> Any:
        """The object for these arguments."""
        return self.function(*arguments)

    def new(self, arguments: tuple[Any, ...]) -> Any:
        """The object that `__new__` would make of them."""
        return self.call(arguments)


class UserClass(Function):
    """A class or function that the program has allowed."""

    def new(self, arguments: tuple[Any, ...]) -> Any:
        """The object without its `__init__`, as pickle makes it."""
        kind: Any = self.function
        return kind.__new__(kind, *arguments)


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = None, state: Any = None) -> Any:
    if data is None:
        return None
    if not isinstance(data, Tensor):
        raise UnpicklingError("load: a parameter without a tensor.")
    return Parameter(data, requires_grad is True)


def _rebuild_from_type(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with a class and attributes of its own; the attributes of plain tensors are kept."""
    if not isinstance(function, Function) or function.name not in _REBUILDERS or not isinstance(arguments, tuple):
        raise UnpicklingError("load: a tensor's class is rebuilt by a function that is not allowed.")
    made = function.call(arguments)
    if isinstance(kind, Function) and kind.name == "torch.nn.parameter.Buffer" and isinstance(made, Tensor):
        made = Buffer(made)
    attributes = state[0] if isinstance(state, tuple) and state else state
    if isinstance(made, Tensor) and isinstance(attributes, dict):
        vars(made).update({key: value for key, value in attributes.items() if isinstance(key, str)})
    return made


def _encode(text: Any, codec: Any = "latin1") -> bytes:
    if not isinstance(text, str) or codec not in ("latin1", "latin-1", "utf-8"):
        raise UnpicklingError(f"load: bytes are written in the encoding {codec!r}.")
    return text.encode(codec)


def _ordered(*items: Any) -> OrderedDict[Any, Any]:
    made: OrderedDict[Any, Any] = OrderedDict()
    for pair in items[0] if items else ():
        key, value = pair
        made[key] = value
    return made


def _counter(*counts: Any) -> Counter[Any]:
    return Counter(counts[0]) if counts and isinstance(counts[0], dict) else Counter()


def _default_dict(*factory: Any) -> defaultdict[Any, Any]:
    if not factory or factory[0] is None:
        return defaultdict(None)
    kind = _FACTORIES.get(getattr(factory[0], "name", ""))
    if kind is None:
        raise UnpicklingError("load: a defaultdict's factory is not list, dict, set, int, float, str, bool or tuple.")
    return defaultdict(kind)


_FACTORIES: dict[str, Callable[[], Any]] = {
    f"builtins.{kind.__name__}": kind for kind in (list, dict, set, int, float, str, bool, tuple)
}


def _set(*items: Any) -> set[Any]:
    from pyburn.serialization._unpickle import _check_key

    values = list(items[0]) if items else []
    for value in values:
        _check_key(value)
    return set(values)


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


def _byte_array(*data: Any) -> bytearray:
    if not data:
        return bytearray()
    value = _encode(*data) if isinstance(data[0], str) else data[0]
    if not isinstance(value, bytes):
        raise UnpicklingError("load: a bytearray is made of other than bytes.")
    return bytearray(value)


def _path(*parts: Any) -> pathlib.PurePath:
    return pathlib.PurePath(*(str(part) for part in parts))


def _device(kind: Any, index: Any = None) -> _core.device:
    """The device; one that is not here, such as CUDA, becomes the CPU, since nothing else could be done with it."""
    if not isinstance(kind, str) or (index is not None and type(index) is not int):
        raise UnpicklingError("load: a device is made of other than a name and a number.")
    try:
        return _core.device(kind) if index is None else _core.device(f"{kind}:{index}")
    except RuntimeError:
        return _core.device("cpu")


def _refuse(what: str, instead: str) -> Callable[..., Any]:
    def function(*_: Any) -> Any:
        raise UnpicklingError(f"load: the file holds {what}, which pyburn cannot read; {instead}.")

    return function


def _rebuild_v2(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Any:
    return rebuild_tensor(storage, offset, size, stride, requires_grad, metadata=metadata)


def _rebuild_meta(kind: Any, size: Any, stride: Any, requires_grad: Any = False) -> Any:
    numbers = [*size, *stride] if isinstance(size, tuple) and isinstance(stride, tuple) else [None]
    if not isinstance(kind, _core.dtype) or any(type(number) is not int for number in numbers):
        raise UnpicklingError("load: a meta tensor is made of other than a dtype, sizes and strides.")
    made = _core._empty_strided(list(size), list(stride), kind, _core.device("meta"))
    return made.requires_grad_() if requires_grad is True else made


_REBUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": lambda storage, offset, size, stride: rebuild_tensor(storage, offset, size, stride),
    "torch._utils._rebuild_tensor_v2": _rebuild_v2,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": lambda data, *_: data,
    "torch._utils._rebuild_qtensor": _refuse("a quantized tensor", "save its .dequantize()"),
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta,
    "torch._utils._rebuild_sparse_tensor": _refuse("a sparse tensor", "save its .to_dense()"),
    "torch._utils._rebuild_wrapper_subclass": _refuse("a tensor subclass", "save a plain tensor"),
    "torch._utils._rebuild_device_tensor_from_numpy": _refuse("a tensor of a foreign device", "save its .cpu()"),
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_REBUILDERS,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch.Size": lambda sizes=(): size_of(sizes),
    "torch.device": _device,
    "torch.Tensor": _refuse("a tensor of a very old form", "load it with torch and save it again"),
    "torch.nn.parameter.Parameter": _rebuild_parameter,
    "torch.nn.parameter.Buffer": lambda data, *_: Buffer(data),
    "torch.serialization._get_layout": _refuse("a layout", "save plain tensors"),
    "collections.OrderedDict": _ordered,
    "collections.Counter": _counter,
    "collections.defaultdict": _default_dict,
    "_codecs.encode": _encode,
    "builtins.bytearray": _byte_array,
    "builtins.set": _set,
    "builtins.frozenset": lambda *items: frozenset(_set(*items)),
    "builtins.complex": _complex,
    "builtins.slice": lambda *bounds: slice(*(bound if type(bound) is int else None for bound in bounds)),
    **{name: _refuse(f"a {name}", "use a plain value") for name in _FACTORIES if name != "builtins.set"},
    "argparse.Namespace": argparse.Namespace,
    **{f"pathlib.{name}": _path for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path")},
    **{f"pathlib._local.{name}": _path for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")},
    **_numpy.FUNCTIONS,
}

# Names of Python 2 and of numpy before 2.
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "numpy.core.multiarray": "numpy._core.multiarray"}


def find_with_modules(module: str, name: str) -> Any:
    """As `find`; also classes of modules that the program has imported, and pyburn's functions.

    Raises:
        UnpicklingError: It is neither.
    """
    found = _modules.find(module, name)
    return find(module, name) if found is None else found


def find(module: str, name: str) -> Any:
    """What the name stands for.

    Raises:
        UnpicklingError: It is not on the list.
    """
    full = f"{_RENAMED.get(module, module)}.{name}"
    if full in USER:
        return UserClass(full, USER[full])
    if module in ("torch", "torch.storage") and name.endswith("Storage"):
        if name == "UntypedStorage":
            return StorageType(None)
        if name in DTYPES:
            return StorageType(DTYPES[name])
    if module == "torch" and name in NAMED_DTYPES:
        return NAMED_DTYPES[name]
    if full in _FUNCTIONS:
        return Function(full, _FUNCTIONS[full])
    raise UnpicklingError(_not_allowed(full))


def _not_allowed(full: str) -> str:
    if full.startswith(("torch.nn.", "pyburn.nn.")) or not full.startswith(("torch.", "builtins.", "os.", "posix.")):
        hint = (
            "Save model.state_dict() and load it into a model that your program builds; for a whole module of a class "
            "that your program has imported use weights_only=False, and for another class that you trust call "
            "pyburn.serialization.add_safe_globals([TheClass]) first."
        )
    else:
        hint = "No checkpoint of tensors needs it."
    return f"load: the file names {full}, which is not allowed, and nothing of it was executed. {hint}"


def build(target: Any, state: Any) -> None:
    """Sets the state of an object of an allowed class.

    Raises:
        UnpicklingError: The object is of another class.
    """
    if _numpy.build(target, state):
        return
    if isinstance(target, argparse.Namespace) and isinstance(state, dict):
        vars(target).update({key: value for key, value in state.items() if isinstance(key, str)})
    elif isinstance(target, Module) and isinstance(state, dict) and all(isinstance(key, str) for key in state):
        Module.__setstate__(target, state)
    elif any(isinstance(kind, type) and type(target) is kind for kind in USER.values()):
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
        elif isinstance(state, dict):
            vars(target).update(state)
    else:
        raise UnpicklingError(f"load: the file sets the state of a {type(target).__name__}, which has none.")
