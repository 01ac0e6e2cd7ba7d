"""Runs a program, or the tests of a file, once more with narrower vectors."""

import os
import subprocess
import sys

import numpy as np

WIDTHS = ["128", "256"]


def check_width(program: str, width: str, rtol: float, atol: float) -> None:
    """The list of numbers that `program` prints is the same, within the tolerances, with vectors of `width` bits."""
    environment = os.environ | {"PYBURN_VECTORS": width, "PYBURN_QUIET": "1"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    own: list[list[float]] = []
    exec(program, {"print": own.append})
    narrow = eval(run.stdout, {"inf": np.inf, "nan": np.nan})
    np.testing.assert_allclose(narrow, own[0], rtol=rtol, atol=atol)


def check_file(path: str, width: str) -> None:
    """The tests of a file, but for those of "narrower" vectors, hold with vectors of `width` bits."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", path, "-k", "not narrower"]
    environment = os.environ | {"PYBURN_VECTORS": width, "PYBURN_QUIET": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout[-3000:]
