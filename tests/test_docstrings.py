"""Every public name has a docstring that says on its first line what comes out, and every op a doctest."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pyburn

SHORT = 8  # letters: less says nothing
# They raise whatever they are given, or say that they are another function with one argument fixed.
WITHOUT_EXAMPLE = {
    *("adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d_with_indices"),
    *("scaled_addmm", "scaled_grouped_mm", "scaled_mm"),
}


def public_modules() -> list[ModuleType]:
    names = [info.name for info in pkgutil.walk_packages(pyburn.__path__, "pyburn.")]
    public = [name for name in names if not any(part.startswith("_") for part in name.split(".")[1:])]
    return [pyburn, *(importlib.import_module(name) for name in public)]


def public_names(module: ModuleType) -> list[str]:
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("_")]
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_")]


def documented(value: object) -> bool:
    lines = (inspect.getdoc(value) or "").strip().splitlines()
    return bool(lines) and len(lines[0].strip()) >= SHORT


def members(owner: type) -> dict[str, object]:
    """The public methods and properties that a class itself defines; classes and constants in it do not count."""
    kinds = (property, staticmethod, classmethod)
    own = {name: value for name, value in vars(owner).items() if not name.startswith("_")}
    own = {name: value for name, value in own.items() if callable(value) or isinstance(value, kinds)}
    return {name: value for name, value in own.items() if not inspect.isclass(value)}


def entries() -> dict[str, object]:
    """Public functions, classes and what these define, by the name that a user writes; Tensor has its own test."""
    found: dict[str, object] = {}
    for module in public_modules():
        for name in public_names(module):
            value = getattr(module, name)
            if not callable(value) or not (getattr(value, "__module__", "") or "").startswith("pyburn"):
                continue
            found[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value) and value is not pyburn.Tensor:
                # What a subclass of Tensor overrides means what it means there.
                known = dir(pyburn.Tensor) if issubclass(value, pyburn.Tensor) else ()
                own = {key: member for key, member in members(value).items() if key not in known}
                found |= {f"{module.__name__}.{name}.{key}": member for key, member in own.items()}
    return found


def test_every_module_says_what_it_is():
    assert [module.__name__ for module in public_modules() if not documented(module)] == []


def test_every_public_name_is_documented():
    assert sorted(name for name, value in entries().items() if not documented(value)) == []


def test_every_tensor_method_is_documented():
    found = {name: inspect.getattr_static(pyburn.Tensor, name) for name in dir(pyburn.Tensor)}
    public = {name: value for name, value in found.items() if not name.startswith("_") and hasattr(value, "__get__")}
    assert len(public) > 500
    assert [name for name, value in public.items() if not documented(value)] == []


def test_every_op_has_an_example():
    spaces = [pyburn.ops, pyburn.nn.functional, pyburn.linalg, pyburn.fft, pyburn.special]
    missing = set()
    for space in spaces:
        for name in space.__all__:
            value = getattr(space, name)
            # The in-place form of a function points to it, which has the example.
            if inspect.isfunction(value) and not name.endswith("_") and ">>>" not in (value.__doc__ or ""):
                missing.add(name)
    assert missing - WITHOUT_EXAMPLE == set()
