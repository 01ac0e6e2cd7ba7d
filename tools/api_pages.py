"""A mkdocs hook that adds one page per public module, made of signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, *, config: Any) -> Files:
    """The pages of the site with the generated ones added."""
    modules = public_modules()
    for module in modules:
        files.append(File.generated(config, f"api/{module.__name__}.md", content=module_page(module)))
    listing = "\n".join(f"- [{module.__name__}]({module.__name__}.md)" for module in modules)
    files.append(File.generated(config, "api/index.md", content=f"# Reference\n\n{listing}\n"))
    return files


def public_modules() -> list[ModuleType]:
    """`pyburn` and the modules below it whose names have no underscore."""
    root = importlib.import_module("pyburn")
    names = [info.name for info in pkgutil.walk_packages(root.__path__, "pyburn.")]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    modules = [root, *(importlib.import_module(name) for name in public)]
    return [module for module in modules if exported(module)]


def exported(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, otherwise the public names that it defines itself."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return sorted(name for name in own if not name.startswith("_"))


def module_page(module: ModuleType) -> str:
    """The markdown page of one module."""
    parts = [f"# {module.__name__}", formatted(inspect.getdoc(module) or "")]
    for name in exported(module):
        value = getattr(module, name)
        if inspect.ismodule(value):
            continue
        parts.append(entry(name, value, "##"))
        if inspect.isclass(value):
            members = sorted(key for key in vars(value) if not key.startswith("_"))
            parts += [entry(f"{name}.{key}", getattr(value, key), "###") for key in members]
    return "\n\n".join(parts) + "\n"


def entry(name: str, value: Any, heading: str) -> str:
    """One documented name: heading, signature, text."""
    if not callable(value):
        return f"{heading} {name}"
    try:
        # Annotations are text in every module: shown without their quotes.
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    except (TypeError, ValueError):
        signature = "(...)"
    return f"{heading} {name}\n\n    {name}{signature}\n\n{formatted(inspect.getdoc(value) or '')}"


def formatted(docstring: str) -> str:
    """A Google docstring as markdown: bold section names, examples and indented text as blocks."""
    lines = []
    for line in docstring.splitlines():
        if re.fullmatch(r"[A-Z][\w ]*:", line):
            lines += ["", f"**{line}**", ""]
        else:
            lines.append(line)
    return "\n".join(lines)


__all__ = ["on_files"]
