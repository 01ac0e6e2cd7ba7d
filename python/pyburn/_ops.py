"""torch.ops: operators by namespace, those that programs define with `library` and pyburn's own under `aten`."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from pyburn._core import Tensor, is_grad_enabled
from pyburn._schema import Schema

__all__ = ["OpOverload", "OpOverloadPacket", "define", "load_library", "namespace", "operator"]

_local = threading.local()


@contextmanager
def excluded(*keys: str) -> Iterator[None]:
    """A context in which calls pass by the implementations for these dispatch keys."""
    before: frozenset[str] = getattr(_local, "excluded", frozenset())
    _local.excluded = before | frozenset(keys)
    try:
        yield
    finally:
        _local.excluded = before


def _is_excluded(key: str) -> bool:
    return key in getattr(_local, "excluded", ())


class OpOverload:
    """One operator: its schema, and an implementation for each dispatch key that has one."""

    def __init__(self, namespace: str, name: str, overload: str, schema: Schema | None = None) -> None:
        self.namespace = namespace
        self._name = f"{namespace}::{name}" + (f".{overload}" if overload != "default" else "")
        self._qualname = f"{namespace}.{name}.{overload}"
        self._schema = schema
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.__name__ = f"{name}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch.ops.{namespace}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._schema is not None:
            args, kwargs = self._schema.bind(args, kwargs)
        return self._kernel(args)(*args, **kwargs)

    def _kernel(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The implementation for these arguments: autocast's before autograd's, that before the device's."""
        device = next((arg.device.type for arg in args if isinstance(arg, Tensor)), "cpu").upper()
        wanted = ["CompositeImplicitAutograd", device, "CompositeExplicitAutograd", "CompositeImplicitAutogradNested"]
        if is_grad_enabled():
            wanted = [f"Autograd{device}", "Autograd", *wanted]
        if any(key.startswith("Autocast") for key in self.kernels) and _autocasts(device.lower()):
            wanted.insert(0, f"Autocast{device}")
        for key in wanted:
            if key in self.kernels and not _is_excluded(key):
                return self.kernels[key]
        # Code for the CPU runs wherever pyburn's tensors are: it is written with pyburn's functions.
        if "CPU" in self.kernels:
            return self.kernels["CPU"]
        raise NotImplementedError(
            f"Could not run '{self._name}' with arguments from the '{device}' backend: the operator is defined but has "
            f"no implementation for it, only for {sorted(self.kernels)}; give it one with torch.library.impl."
        )

    def name(self) -> str:
        """The operator's name, as ``namespace::name``."""
        return self._name

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._name.replace('::', '.')}', overload='{self.__name__.rpartition('.')[2]}')>"

    def __str__(self) -> str:
        return self._qualname


def _autocasts(device: str) -> bool:
    amp = sys.modules.get("pyburn.amp")
    return amp is not None and bool(amp.is_autocast_enabled(device))


class OpOverloadPacket:
    """An operator with its overloads as attributes; called itself, it is the first of them that takes the arguments."""

    def __init__(self, namespace: str, name: str) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self._namespace, self.__name__ = namespace, name
        self.__qualname__, self.__module__ = name, f"torch.ops.{namespace}"
        self._overloads: dict[str, OpOverload] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        candidates = list(self._overloads.values())
        for overload in candidates[:-1]:
            if overload._schema is None or overload._schema.takes(args, kwargs):
                return overload(*args, **kwargs)
        return candidates[-1](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._overloads:
            return self._overloads[name]
        if self._namespace == "aten" and not name.startswith("_"):
            return self._overload_of_own(name)
        raise AttributeError(f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name '{name}'")

    def _overload_of_own(self, name: str) -> OpOverload:
        """Another overload of a function of pyburn's, which takes the arguments of all of them."""
        found = self._overloads[name] = OpOverload("aten", self.__name__, name)
        found.kernels.update(self._overloads["default"].kernels)
        return found

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


class OpNamespace(ModuleType):
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self._label = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' '{self._label}' object has no attribute '{name}'")
        packet = _own(name) if self._label in ("aten", "prims", "prim") else None
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self._label}' object has no attribute '{name}'")
        setattr(self, name, packet)
        return packet


def _own(name: str) -> OpOverloadPacket | None:
    """Pyburn's function of this name as an operator: at the top, in nn.functional, linalg or special, or a method."""
    pyburn: Any = sys.modules["pyburn"]
    for prefix, module in (("", ""), ("", "nn.functional"), ("linalg_", "linalg"), ("special_", "special")):
        if not name.startswith(prefix):
            continue
        home = importlib.import_module(f"pyburn.{module}") if module else pyburn
        function = getattr(home, name.removeprefix(prefix), None)
        if callable(function) and not isinstance(function, type):
            return _packet_of(name, function)
    method = getattr(Tensor, name, None) or importlib.import_module("pyburn._aten").NAMED.get(name)
    return _packet_of(name, method) if callable(method) else None


def _packet_of(name: str, function: Callable[..., Any]) -> OpOverloadPacket:
    packet = OpOverloadPacket("aten", name)
    overload = packet._overloads["default"] = OpOverload("aten", name, "default")
    overload.kernels["CompositeImplicitAutograd"] = function
    return packet


_namespaces: dict[str, OpNamespace] = {}
loaded_libraries: set[str] = set()


def namespace(name: str) -> OpNamespace:
    """The namespace of this name, which is there as soon as it is asked for, as in torch."""
    return _namespaces.setdefault(name, OpNamespace(name))


def define(qualname: str, schema: Schema | None = None) -> OpOverload:
    """A new operator ``namespace::name[.overload]``, or the one of that name with a new schema."""
    space, _, rest = qualname.partition("::")
    name, _, overload = rest.partition(".")
    home = namespace(space)
    packet = vars(home).get(name)
    if packet is None:
        packet = OpOverloadPacket(space, name)
        setattr(home, name, packet)
    found = packet._overloads.setdefault(overload or "default", OpOverload(space, name, overload or "default"))
    if schema is not None:
        found._schema = schema
    return found


def operator(op: Any) -> OpOverload:
    """The operator that is meant: by ``namespace::name``, a packet, an overload, or what `custom_op` gave.

    Raises:
        RuntimeError: If no operator of that name is defined.
    """
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        return op._overloads["default"]
    if hasattr(op, "_opoverload"):
        return operator(op._opoverload)
    space, _, rest = str(op).partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(namespace(space), name, None)
    if packet is None:
        raise RuntimeError(f"operator {op} does not exist")
    return packet._overloads["default"] if not overload else operator(getattr(packet, overload))


# Compiled libraries whose operators pyburn has itself: the folder and the start of the file's name, and where they are.
_REPLACED = {
    ("torchvision", "_C"): "pyburn.vision.operators",
    ("torchvision", "image"): "pyburn.vision.operators",
    ("torchaudio/lib", "_torchaudio"): "pyburn.compat.torchaudio",
    ("torchaudio/lib", "libtorchaudio"): "pyburn.compat.torchaudio",
}
_registered: set[str] = set()


def load_library(path: Any) -> None:
    """Nothing, where pyburn has the operators of a library itself; compiled code for torch cannot run here.

    Raises:
        OSError: If pyburn has them not, as in torch where a library cannot be loaded.
    """
    folder, file = os.path.split(os.fspath(path))
    for (name, start), module in _REPLACED.items():
        if f"/{folder.replace(os.sep, '/')}".endswith(f"/{name}") and file.startswith(start):
            if module not in _registered:
                _registered.add(module)
                importlib.import_module(module).register()
            loaded_libraries.add(os.path.realpath(path))
            return
    raise OSError(
        f"Could not load this library: {path}; it is compiled against torch's C++ library, which pyburn has not. "
        "Register the operators in Python with torch.library."
    )
