"""`mypy --strict` accepts programs that use pyburn, and knows every namespace that is loaded late."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pyburn

HERE = Path(__file__).parent
PACKAGES = Path(pyburn.__file__).parents[1]


def mypy(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # The sources are read as a user's mypy reads them: without the settings of this repository.
    environment = os.environ | {"MYPYPATH": str(PACKAGES)}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_user_code(tmp_path):
    lazy = "\n".join(f"print(pyburn.{name}.__name__)" for name in [*pyburn._LAZY, *pyburn._LAZY_NAMES])
    (tmp_path / "lazy.py").write_text(f"import pyburn\n\n{lazy}\n")
    (tmp_path / "wrong.py").write_text('import pyburn\n\npyburn.zeros(2).reshape("a") + pyburn.no_such_name\n')
    programs = [str(program) for program in sorted((HERE / "typing").glob("*.py"))]
    done = mypy(*programs, "lazy.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = mypy("wrong.py", cwd=tmp_path)
    assert 'has no attribute "no_such_name"' in refused.stdout


def test_the_training_script_runs(tmp_path):
    spec = importlib.util.spec_from_file_location("training", HERE / "typing" / "training.py")
    training = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(training)
    results = training.train(tmp_path)
    assert results["parameters"] == 227 and 0 < results["loss"] < 20
    assert training.Block(8)(pyburn.zeros(2, 3, 8)).shape == (2, 3, 8)
    assert training.Recurrent()([pyburn.tensor([1, 2, 3]), pyburn.tensor([4])]).shape == (2, 3)
    assert training.shapes(pyburn.rand(2, 3, 8, 8))[3:5] == (8, 8)
    assert len(training.hooks(pyburn.nn.Sequential(pyburn.nn.Linear(8, 2)))) == 4
    assert training.sample(pyburn.zeros(4, 3)).dim() == 0
