"""Runs a program once more with narrower vectors, and compares what it prints."""

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
