"""`import pyburn` stays light: what it may load, and how much disk it takes."""

import subprocess
import sys
from pathlib import Path

import pyburn

# Part of the promise to be light next to PyTorch: a new name here is a decision, not an accident.
STANDARD_LIBRARY = set(
    """
    __future__ _ast _bisect _collections _collections_abc _functools _opcode _operator _random _sha2 _sha512 _sre
    _struct _typing _weakrefset abc array ast bisect collections contextlib copy copyreg dataclasses dis enum functools
    html importlib inspect itertools keyword linecache math numbers opcode operator os platform random re reprlib struct
    threading token tokenize types typing warnings weakref
    """.split()
)
# Packages that a script loads when it first names them.
LAZY = set(pyburn._LAZY)
MEGABYTE = 1_000_000
INSTALLED_LIMIT = 120 * MEGABYTE


def modules_loaded_by(statement: str) -> set[str]:
    """The names that a fresh interpreter adds to `sys.modules` while it runs `statement`."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_only_listed_modules():
    loaded = modules_loaded_by("import pyburn")
    assert {name.partition(".")[0] for name in loaded} - {"pyburn"} <= STANDARD_LIBRARY
    assert not {f"pyburn.{name}" for name in LAZY} & loaded


def test_what_is_lazy_is_found_by_name():
    names = sorted(LAZY)
    statement = f"import pyburn; [getattr(pyburn, name) for name in {names}]"
    assert {f"pyburn.{name}" for name in names} <= modules_loaded_by(statement)


def test_the_list_would_catch_numpy():
    roots = {name.partition(".")[0] for name in modules_loaded_by("import numpy")}
    assert not roots <= STANDARD_LIBRARY


def test_installed_size():
    package = Path(pyburn.__file__).parent
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert any(path.name.startswith("_core") and path.suffix == ".so" for path in files)
    assert sum(path.stat().st_size for path in files) <= INSTALLED_LIMIT
