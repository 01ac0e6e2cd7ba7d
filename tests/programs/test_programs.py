"""Whole programs in plain PyTorch, run on torch and, not a line changed, on pyburn: the same losses from one seed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in HERE.glob("[a-z]*.py") if not path.stem.startswith("test_"))


def on_torch(path: Path) -> list[float]:
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.main()


def on_pyburn(path: Path) -> list[float]:
    command = [sys.executable, "-m", "pyburn", "run", str(HERE / "_under_alias.py"), str(path)]
    environment = os.environ | {"PYBURN_QUIET": "1", "PYBURN_DEVICE": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert "pyburn" in result["torch"]
    return result["curve"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    path = HERE / f"{name}.py"
    expected, found = on_torch(path), on_pyburn(path)
    assert len(found) == len(expected) >= 20
    assert found == pytest.approx(expected, rel=1e-3)
    fallen = min(sum(expected[i : i + 3]) for i in range(len(expected) - 2))
    assert fallen < 0.9 * sum(expected[:3]), "the program itself does not learn"


def test_there_are_programs():
    assert len(PROGRAMS) >= 14
