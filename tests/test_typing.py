"""`mypy --strict` accepts programs that use pyburn, and knows every namespace that is loaded late."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyburn

HERE = Path(__file__).parent
PACKAGES = Path(pyburn.__file__).parents[1]


def mypy(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"MYPYPATH": str(PACKAGES)}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_user_code(tmp_path):
    lazy = "\n".join(f"print(pyburn.{name}.__name__)" for name in [*pyburn._LAZY, *pyburn._LAZY_NAMES])
    (tmp_path / "lazy.py").write_text(f"import pyburn\n\n{lazy}\n")
    (tmp_path / "wrong.py").write_text('import pyburn\n\npyburn.zeros(2).reshape("a") + pyburn.no_such_name\n')
    done = mypy(str(HERE / "typing" / "user_code.py"), "lazy.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = mypy("wrong.py", cwd=tmp_path)
    assert 'has no attribute "no_such_name"' in refused.stdout
