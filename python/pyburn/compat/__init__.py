"""Unchanged PyTorch programs on pyburn: for one process, `import torch` gives pyburn.

    import pyburn.compat
    pyburn.compat.alias_torch()
    import torch  # pyburn

or, without touching the program, ``python -m pyburn run train.py --epochs 3``.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing.spawn
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, dtype
from pyburn._overriding import arm
from pyburn.compat import paths
from pyburn.compat.torchvision import Finder as _Torchvision
from pyburn.nn.parameter import Buffer, Parameter

__all__ = ["alias_torch", "is_aliased"]


pyburn = sys.modules["pyburn"]


class _Torch(ModuleType):
    """The module that `import torch` gives: pyburn's names, and torch's version beside them."""

    def __init__(self) -> None:
        super().__init__("torch", pyburn.__doc__)
        from pyburn.version import __version__

        self.__dict__.update({name: value for name, value in vars(pyburn).items() if not name.startswith("__")})
        self.__version__ = __version__
        self.__file__ = pyburn.__file__
        self.__spec__ = importlib.machinery.ModuleSpec("torch", _Loader(self), origin=pyburn.__file__, is_package=True)
        # Submodules are found by the finder alone: a path would let Python load pyburn's files a second time.
        self.__path__: list[str] = []
        # torch's package has imported itself under its own name: `torch.torch.Tensor` is found in programs.
        self.torch = self
        self.__all__ = [name for name, value in vars(self).items() if _is_exported(name, value)]

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(pyburn, name)
        except AttributeError:
            if name not in paths.SHARED and name not in paths.ABSENT:
                raise
            return importlib.import_module(f"torch.{name}")
        _open_children()
        # What is found once is kept, so that later calls cost what they cost in pyburn.
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted(set(self.__dict__) | set(dir(pyburn)))


def _is_exported(name: str, value: object) -> bool:
    return not name.startswith("_") and not isinstance(value, ModuleType | dtype)


class _Loader(importlib.abc.Loader):
    """Puts a module of pyburn under torch's name; the module itself stays as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def exec_module(self, module: ModuleType) -> None:
        """Makes `import torch.x` give pyburn's module."""
        below = module.__name__.removeprefix("torch.")
        if not hasattr(self._module, "__path__") and (below in paths.PARENTS or below.partition(".")[0] in paths.OPEN):
            # One file here, a package in torch: Python looks below packages only.
            self._module.__path__ = []
        names = paths.open_names(below) if below.startswith(("ao.", "distributed.")) else None
        if names is not None and "__getattr__" not in vars(self._module):
            vars(self._module)["__getattr__"] = names
        sys.modules[module.__name__] = self._module
        _open_children()


def _open_children() -> None:
    """Lets modules of pyburn that are loaded answer for the modules that torch has below them, without an import."""
    for below in paths.PARENTS - _opened:
        module = sys.modules.get(f"pyburn.{below}")
        if module is not None:
            _opened.add(below)
            vars(module)["__getattr__"] = paths.with_children(module, below, vars(module).get("__getattr__"))


_opened: set[str] = set()


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for `torch` and everything below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The place of pyburn's module of this name, or None where pyburn has none."""
        root, _, below = fullname.partition(".")
        if root != "torch":
            return None
        module = _resolve(below)
        if module is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(module), origin=getattr(module, "__file__", None))
        if hasattr(module, "__path__"):
            spec.submodule_search_locations = []
        return spec


class _Functorch(importlib.abc.MetaPathFinder):
    """Answers for `functorch`, which comes with torch, where torch is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The place of the functions that were functorch's."""
        if fullname != "functorch":
            return None
        module = importlib.import_module("torch._functorch.deprecated")
        return importlib.machinery.ModuleSpec(fullname, _Loader(module))


_torch: _Torch | None = None
# Modules of pyburn that torch has not; `import torch.tensor` must not put a module over the function.
_NOT_TORCH = ("compat", "lr_scheduler", "module", "safetensors", "tensor")


def _resolve(below: str) -> ModuleType | None:
    """The module of pyburn for ``torch.<below>``: a file of that name, or an attribute of its parent."""
    if not below:
        return _torch
    if below in _NOT_TORCH:
        return None
    if f"pyburn.{below}" in sys.modules:
        return sys.modules[f"pyburn.{below}"]
    parent_name, _, child = below.rpartition(".")
    try:
        if importlib.util.find_spec(f"pyburn.{below}") is not None:
            return importlib.import_module(f"pyburn.{below}")
    except ModuleNotFoundError as error:
        # Only an absent parent means "look further"; a missing dependency of a module must be seen.
        if error.name is None or not f"pyburn.{below}".startswith(error.name):
            raise
    if (made := paths.make(below)) is not None:
        return made
    parent = _resolve(parent_name) if parent_name else pyburn
    found = getattr(parent, child, None) if parent is not None else None
    return found if isinstance(found, ModuleType) else paths.make_open(below)


class _AliasFirst:
    """Unpickled by a spawned process before it imports the program: the alias holds there too."""

    def __reduce__(self) -> tuple[Callable[[], ModuleType], tuple[()]]:
        return alias_torch, ()


def _follow_spawned_processes() -> None:
    plain = multiprocessing.spawn.get_preparation_data

    def with_alias(name: str) -> dict[str, Any]:
        return {**plain(name), "pyburn": _AliasFirst()}

    multiprocessing.spawn.get_preparation_data = with_alias


def is_aliased() -> bool:
    """Whether `import torch` gives pyburn in this process.

    Example:
        >>> import pyburn.compat
        >>> pyburn.compat.is_aliased()
        False
    """
    return _torch is not None and sys.modules.get("torch") is _torch


def _name_classes() -> None:
    """Nothing; packages that choose their functions by a tensor's module (opt_einsum) find torch's."""
    Tensor.__module__ = "torch"
    Parameter.__module__ = Buffer.__module__ = "torch.nn.parameter"


def alias_torch() -> ModuleType:
    """Makes `import torch` and every import below it give pyburn, in this process and in those it spawns.

    Returns:
        The module that `import torch` gives from now on.

    Raises:
        RuntimeError: If PyTorch itself is already imported; two libraries of one name cannot share a process.
    """
    global _torch
    if is_aliased():
        return sys.modules["torch"]
    if "torch" in sys.modules:
        raise RuntimeError(
            "alias_torch: PyTorch itself is already imported in this process; call pyburn.compat.alias_torch() before "
            "anything imports torch, or start the program with `python -m pyburn run script.py`."
        )
    if _torch is None:
        _torch = _Torch()
        sys.meta_path.insert(0, _Finder())
        sys.meta_path += [_Functorch(), _Torchvision()]
        sys.modules.update({f"torch.{path}": paths.late(path) for path in paths.EARLY})
        _follow_spawned_processes()
        _open_children()
    sys.modules["torch"] = _torch
    _name_classes()
    _core._set_aliased(True)
    _core._watch_classes(arm)
    return _torch
