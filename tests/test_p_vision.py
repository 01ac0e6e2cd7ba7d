"""`p_vision` is `pyburn.vision` by a name of its own (M24)."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pyburn
import pytest

ROOT = Path(__file__).parents[1]

PROGRAM = """
import p_vision
import p_vision.models.segmentation
import pyburn.vision
from p_vision import Backend, Dense, Input, Sequential, googlenet, unet
from p_vision.models import resnet18
from p_vision.transforms import v2

assert p_vision.models is pyburn.vision.models and p_vision.models.__name__ == "pyburn.vision.models"
assert p_vision.models.segmentation is pyburn.vision.models.segmentation
assert sys.modules["p_vision.models"].__spec__.name == "pyburn.vision.models"
assert resnet18 is pyburn.vision.resnet18 and p_vision.datasets is pyburn.vision.datasets
assert {"googlenet", "Sequential", "transforms", "unet"} <= set(dir(p_vision))
model = Sequential([Input(shape=(4,)), Dense(3)])
assert len(model.weights) == 2
assert next(googlenet(Backend.NDARRAY, num_classes=2, init_weights=False).parameters()).device.type == "cpu"
"""


def test_names_and_modules_are_those_of_pyburn_vision():
    done = subprocess.run([sys.executable, "-c", f"import sys\n{PROGRAM}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_not_there_is_not_there():
    import p_vision

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        p_vision.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        import p_vision.nothing
    with pytest.raises(ImportError):
        from pyburn.vision import resnet19  # noqa: F401


def test_import_of_vision_loads_no_models():
    code = "import sys, pyburn.vision; print(any('models' in name or 'keras' in name for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_wheel_holds_both_packages():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["python-packages"]
    folders = {path.parent.name for path in (ROOT / "python").glob("*/__init__.py")}
    assert set(listed) == folders == {"pyburn", "p_vision"}
    assert Path(pyburn.__file__).parents[1].joinpath("p_vision", "py.typed").exists()
