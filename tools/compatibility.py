"""Writes docs/compatibility.md: what became of every torch name that public projects use.

``python tools/compatibility.py`` writes the page, ``--check`` fails when it is not what the code says.

The names and how many of 31 projects use each stand in tests/compat/torch_api_usage.csv. A name works when
tests/compat/cases.txt has an expression for it, which the tests run on torch and on pyburn, or when
tests/compat/statuses.txt names another test; the same file says what is accepted without effect and what raises.
"""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COMPAT = ROOT / "tests" / "compat"
PAGE = ROOT / "docs" / "compatibility.md"
NAME_TEST = "tests/compat/test_names.py::test_same_as_torch"
IMPORT_TEST = "tests/compat/test_names.py::test_imports_under_the_alias"


class Row(NamedTuple):
    """A name with what became of it."""

    name: str
    projects: int
    status: str
    note: str


def cases() -> dict[str, str]:
    """The expression of each name that has one."""
    lines = (COMPAT / "cases.txt").read_text().splitlines()
    return dict(line.split(" = ", 1) for line in lines)


def statuses() -> dict[str, tuple[str, list[str]]]:
    """The names with a status of their own: it, and the rest of their line."""
    found = {}
    for line in (COMPAT / "statuses.txt").read_text().splitlines():
        status, name, *rest = line.split(" | ")
        found[name] = (status, rest)
    return found


def resolves(name: str) -> bool:
    """Whether pyburn has the name."""
    path = name.removeprefix("import ").split(".")
    found: object = importlib.import_module("pyburn")
    where = "pyburn"
    for part in path[1:] if path[0] == "torch" else path:
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{where}.{part}")
            except ImportError:
                return False
        where += f".{part}"
    return True


def rows() -> list[Row]:
    """Every name, the most used first."""
    expressions, own = cases(), statuses()
    found = []
    with (COMPAT / "torch_api_usage.csv").open() as file:
        for entry in csv.DictReader(file):
            space, projects = entry["namespace"], int(entry["repositories_of_31"])
            name = f"import {entry['name']}" if space == "import" else f"{space}.{entry['name']}"
            found.append(Row(name, projects, *_status(name, expressions, own)))
    return found


def _status(name: str, expressions: dict[str, str], own: dict[str, tuple[str, list[str]]]) -> tuple[str, str]:
    if name in own and own[name][0] != "works":
        return own[name][0], own[name][1][-1]
    if not resolves(name):
        return "not yet", "pyburn has no such name yet"
    if name in own:
        return "works", f"`{own[name][1][0]}`"
    if name.startswith("import "):
        return "works", f"`{IMPORT_TEST}`"
    if name in expressions:
        expression = expressions[name].replace("|", "\\|")
        return "works", f"`{expression}`"
    raise SystemExit(f"{name} has neither an expression in cases.txt nor a line in statuses.txt")


WORDS = {"works": "works", "accepted": "accepted, no effect", "raises": "raises", "not yet": "not yet"}


def page() -> str:
    """The text of docs/compatibility.md."""
    found = rows()
    common, rare = [row for row in found if row.projects >= 3], [row for row in found if row.projects < 3]
    lines = [INTRODUCTION.strip(), "", "| | 3 projects or more | 2 projects |", "|---|---|---|"]
    for status, words in WORDS.items():
        counts = [sum(row.status == status for row in part) for part in (common, rare)]
        lines.append(f"| {words} | {counts[0]} | {counts[1]} |")
    lines += [f"| together | {len(common)} | {len(rare)} |", "", "## Every name", ""]
    lines += ["| name | projects | status | tested by, or note |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.projects} | {WORDS[row.status]} | {row.note} |" for row in found]
    return "\n".join(lines) + "\n"


INTRODUCTION = f"""
# PyTorch programs on pyburn

`import pyburn as torch`, or not a line changed:

- `python -m pyburn run script.py [arguments]` runs a script whose `import torch` gives pyburn; `-m module` and
  `-c code` work as in Python.
- `pyburn.compat.alias_torch()` does the same for the rest of the process, and for the processes that it spawns. It
  refuses when PyTorch itself is already imported: two libraries of one name cannot share a process.

`torch.__version__` is then `2.15.0+pyburn`: the version of the API that pyburn follows. Packages that look whether
torch is there (numpy, scipy, scikit-learn) work as before.

What differs in the large:

- **CUDA is not there.** `torch.cuda.is_available()` is False and what it guards is not run. GPUs are reached through
  wgpu: `pyburn.devices()`, `device="wgpu"`.
- **Files.** `save` writes what `torch.load(weights_only=True)` reads, and `load` reads `.pt` and `.pth` files, new
  and old, without executing anything in them, whatever `weights_only` says: tensors, numbers, text, containers, numpy
  values, `argparse.Namespace` and paths. A whole Module that pyburn saved comes back with `weights_only=False` when the
  program has its class; one that torch saved does not: use its `state_dict()`. Other classes must be named by
  `serialization.add_safe_globals`. Tensors on a GPU are written as CPU tensors.
- **Compilers.** `jit.script`, `jit.trace`, `compile` and their marks give back what they are given, which Python runs;
  a trace follows other branches than its example took. `fx` traces and rewrites modules. `export`, TorchScript files
  and C++ extensions raise when they are really used; importing them does not.
- **Precision.** `autocast("cpu")` and `autocast("wgpu")` compute by torch's lists in bfloat16 or float16.
- **Processes.** `distributed` is right for a world of one, and refuses more. `multiprocessing` shares memory as torch's
  does: `share_memory_`, and CPU tensors that are sent; tensors on a GPU arrive as copies.
- **`func.vmap`** is a loop over the batch: right, not fast. `func.jvp` and `autograd.forward_ad` take two backward
  passes: ops under `no_grad` leave no tangents.
- **Writes after use.** What torch keeps for backward is kept, so that a later write is refused where torch refuses it;
  `kron`, products with broadcast batches and `fold` refuse some writes that torch lets pass.
- **Switches** for determinism, cuDNN, TF32 and threads between operations are kept and read back, and change no
  number.

## What the numbers say

736 names are used by two or more of 31 public projects. For each there is one expression that the tests run on torch
and on pyburn (`{NAME_TEST}`), or another test, or a reason.
"""


def main(arguments: list[str]) -> int:
    """Writes the page, or with --check compares it; 1 when it differs."""
    text = page()
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/compatibility.md is not what the code says: run `python tools/compatibility.py` and commit it.")
        return 1
    PAGE.write_text(text)
    missing = [row.name for row in rows() if row.status == "not yet"]
    print(f"{PAGE.relative_to(ROOT)}: {len(missing)} not yet: {' '.join(missing)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
