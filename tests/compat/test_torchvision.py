"""Programs that import torchvision run on pyburn, with torchvision installed and without it."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("_vision_program.py")


def output(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def expected():
    return output(str(PROGRAM))


def test_torchvision_itself_runs_on_pyburn(expected):
    assert output("-m", "pyburn", "run", str(PROGRAM)) == expected


def test_vision_stands_for_torchvision_where_there_is_none(expected):
    assert output(str(PROGRAM), "--alone") == expected


ABSENT = """
import importlib.machinery
plain = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = (
    lambda name, path=None, target=None: None if name.split(".")[0] == "torchvision" else plain(name, path, target)
)
import pyburn.compat
pyburn.compat.alias_torch()
import torchvision
from torchvision.datasets import CelebA
from torchvision.io import read_video
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
for call in (CelebA, read_video, FastRCNNPredictor, torchvision.models.detection.retinanet_resnet50_fpn):
    try:
        call("somewhere")
    except NotImplementedError as error:
        print(error)
for text in ("import torchvision.nothing", "from torchvision.models import nothing", "torchvision.models.nothing"):
    try:
        exec(text)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__)
"""


def test_what_is_absent_says_so_when_it_is_used():
    lines = output("-c", ABSENT).splitlines()
    assert [line.partition(":")[0] for line in lines[:4]] == [
        "torchvision.datasets.CelebA",
        "torchvision.io.read_video",
        "torchvision.models.detection.faster_rcnn.FastRCNNPredictor",
        "torchvision.models.detection.retinanet_resnet50_fpn",
    ]
    assert "install torchvision" in lines[0] and "no detectors" in lines[2]
    assert lines[4:] == ["ModuleNotFoundError", "ImportError", "AttributeError"]
