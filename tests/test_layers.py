"""Imports inside pyburn point one way, from the engine up to the facades."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "pyburn"

# From the bottom up; a module may import from its own row and from the rows above it in this table.
LAYERS = [
    {
        "_checks",
        "_copying",
        "_core",
        "_dense",
        "_devices",
        "_files",
        "_formats",
        "_guards",
        "_integers",
        "_memory",
        "_legacy",
        "_legacy_storage",
        "_log",
        "_overriding",
        "_printing",
        "_progress",
        "_quantized",
        "_shared_blocks",
        "_sharing",
        "_size",
        "_sobol",
        "_storage",
        "_subclass",
        "_typeinfo",
    }
    | {"_absent", "_schema", "_settings", "_symbols", "return_types"},
    {"_aten", "_ops", "ops"},
    {"_distribution", "_tensor", "autograd", "tensor"},
    {"cuda", "linalg", "fft", "masked", "signal", "special", "sparse", "distributions", "func", "safetensors", "utils"}
    | {
        "__config__",
        "_custom_ops",
        "_prims_common",
        "_six",
        "_dynamo",
        "_inductor",
        "_utils",
        "accelerator",
        "backends",
        "compiler",
        "distributed",
        "export",
        "functional",
        "futures",
        "library",
        "mps",
        "multiprocessing",
        "nested",
    }
    | {
        "overrides",
        "profiler",
        "quasirandom",
        "random",
        "storage",
        "testing",
        "torch_version",
        "types",
        "version",
        "xpu",
    },
    {"nn", "module"},
    {"optim", "lr_scheduler", "serialization"},
    {"_C", "_VF", "_jit_internal", "amp", "ao", "cpu", "fx", "hub", "jit", "quantization"},
    {"data"},
    {"train"},
    {"keras", "vision", "models", "onnx", "inference", "serve", "compat", "cli", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# torch's other name of a module stands where that module stands.
ALIASES = {
    ("cuda", "amp"): "amp",
    ("utils", "data"): "data",
    ("utils", "flop_counter"): "nn",
    ("utils", "model_zoo"): "hub",
}


def rank_of(module: tuple[str, ...]) -> int | None:
    return RANK.get(ALIASES.get(module[:2], module[0] if module else ""))


def imported_modules(tree: ast.Module, module: tuple[str, ...], is_package: bool) -> list[tuple[str, ...]]:
    """Every module of pyburn that a file imports, inside functions too, as a path below the package."""
    found: list[tuple[str, ...]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
            found += [name[1:] for name in names if name[0] == "pyburn"]
        elif isinstance(node, ast.ImportFrom):
            path = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                keep = len(module) - node.level + (1 if is_package else 0)
                path = module[:keep] + path
            elif path[:1] == ("pyburn",):
                path = path[1:]
            else:
                continue
            # `from pyburn import nn` names its module in the import list.
            found += [path] if path else [(alias.name,) for alias in node.names]
    return found


def upward_imports(source: str, module: tuple[str, ...], is_package: bool = False) -> list[str]:
    """The imports of one file that break the order, as sentences."""
    problems = []
    for target in imported_modules(ast.parse(source), module, is_package):
        above, own = rank_of(target), rank_of(module)
        if above is None:
            problems.append(f"{'.'.join(module)} imports pyburn.{'.'.join(target)}, which has no place in LAYERS")
        elif own is not None and above > own:
            problems.append(f"{'.'.join(module)} imports {'.'.join(target)}, a layer above it")
    return problems


def package_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_every_module_has_a_layer():
    names = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in package_files()}
    assert names <= set(RANK), f"no place in LAYERS: {sorted(names - set(RANK))}"


def test_imports_point_one_way():
    problems = []
    for path in package_files():
        module = path.relative_to(PACKAGE).with_suffix("").parts
        is_package = module[-1] == "__init__"
        problems += upward_imports(path.read_text(), module[:-1] if is_package else module, is_package)
    assert problems == []


@pytest.mark.parametrize(
    ("source", "module", "is_package"),
    [
        ("from pyburn.nn import Linear", ("ops", "loss"), False),
        ("from ..nn import Linear", ("ops", "loss"), False),
        ("from .. import nn", ("ops", "loss"), False),
        ("from ..optim.sgd import SGD", ("nn",), True),
        ("def f():\n    import pyburn.train", ("optim", "sgd"), False),
        ("import pyburn", ("nn", "linear"), False),
        ("from pyburn import zeros", ("nn", "linear"), False),
        ("from pyburn.utils.data import DataLoader", ("nn", "linear"), False),
        ("from pyburn.data import DataLoader", ("utils", "hooks"), False),
    ],
)
def test_an_upward_import_is_found(source, module, is_package):
    assert upward_imports(source, module, is_package)


@pytest.mark.parametrize(
    ("source", "module", "is_package"),
    [
        ("from pyburn._core import Tensor", ("ops", "loss"), False),
        ("from .. import _core, ops", ("nn", "linear"), False),
        ("from .linear import Linear", ("nn",), True),
        ("from . import functional", ("nn", "linear"), False),
        ("import math\nfrom typing import Any", ("ops", "loss"), False),
        ("from ..nn import Linear", ("optim", "sgd"), False),
        ("from pyburn.data import DataLoader", ("utils", "data"), True),
    ],
)
def test_a_downward_import_is_accepted(source, module, is_package):
    assert upward_imports(source, module, is_package) == []
