"""Packages that build on torch.fx, unchanged: torchvision's feature extraction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fx import _features


@pytest.fixture(scope="module")
def both():
    script = Path(__file__).parent / "_features.py"
    command = [sys.executable, "-m", "pyburn", "run", str(script)]
    environment = os.environ | {"PYBURN_QUIET": "1", "PYBURN_DEVICE": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert "pyburn" in result["torch"]
    return result["found"], json.loads(json.dumps(_features.main()))


@pytest.mark.parametrize("name", _features.NODES)
def test_features_of_torchvisions_models_are_torchs(both, name):
    ours, theirs = (found[name] for found in both)
    assert ours["names"] == theirs["names"]
    assert ours["code"] == theirs["code"]
    for kind in ("features", "copied", "pickled"):
        assert list(ours[kind]) == list(theirs[kind])
        for node, (shape, values) in theirs[kind].items():
            assert ours[kind][node][0] == shape
            scale = max(1.0, float(np.abs(values).max()))
            np.testing.assert_allclose(ours[kind][node][1], values, rtol=1e-3, atol=1e-4 * scale)
    assert ours["pickled"]["output"] == ours["pickled"]["expected"]
