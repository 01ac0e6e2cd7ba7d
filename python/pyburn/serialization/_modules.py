"""Whole modules in files: the names of their classes, looked up among what the program itself has imported.

Nothing is imported and no method of a class is called: an object is made empty, and its attributes are set.
"""

from __future__ import annotations

import sys
from pickle import UnpicklingError
from types import FunctionType
from typing import Any

from pyburn.nn.module import Module

__all__ = ["ModuleClass", "find", "is_function_of_pyburn", "loaded"]


_FUNCTIONS_OF = ("pyburn.nn.functional", "pyburn.ops.")


def loaded(module: str, name: str) -> Any:
    """What an imported module has under a name, which may be that of a class inside a class; None for nothing."""
    found: Any = sys.modules.get(module)
    for number, part in enumerate(name.split(".")):
        if number and not isinstance(found, type):
            return None
        found = vars(found).get(part) if found is not None else None
    return found


def is_function_of_pyburn(value: Any) -> bool:
    """Whether it is a function on tensors that pyburn has under its own name, such as F.relu."""
    # Only these: a file may put a function where a module will call it.
    if not isinstance(value, FunctionType) or not (value.__module__ or "").startswith(_FUNCTIONS_OF):
        return False
    return loaded(value.__module__, value.__qualname__) is value


class ModuleClass:
    """A class of modules that the program has imported."""

    def __init__(self, kind: type[Module]) -> None:
        self.name = f"{kind.__module__}.{kind.__qualname__}"
        self.kind = kind

    def new(self, arguments: tuple[Any, ...]) -> Module:
        """A module without attributes; neither `__new__` nor `__init__` of the class is called."""
        if arguments:
            raise UnpicklingError(f"load: a {self.name} is made with arguments.")
        made: Module = object.__new__(self.kind)
        return made

    def call(self, arguments: tuple[Any, ...]) -> Module:
        """Nothing: raises, since a class is not to be called."""
        raise UnpicklingError(f"load: the file wants to call {self.name}.")


def find(module: str, name: str) -> Any:
    """A class of modules, or a function of pyburn, that has this name here; None for anything else."""
    found = loaded(module, name)
    if isinstance(found, type) and issubclass(found, Module) and found.__module__ == module:
        return ModuleClass(found)
    return found if is_function_of_pyburn(found) else None
