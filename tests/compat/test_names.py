"""Each torch name that public projects use does here what it does in torch: one expression per name, run on both."""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from compat.scene import scene

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("compatibility", ROOT / "tools" / "compatibility.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["compatibility"] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool()
# Expressions that need other names beside their own; they wait until those are there.
NEEDS = {
    "Tensor.indices": "Tensor.to_sparse",
    "Tensor.values": "Tensor.to_sparse",
    "Tensor.storage": "Tensor.untyped_storage",
    "torch.complex64": "Tensor.real",
    "torch.view_as_complex": "Tensor.imag",
}
CASES = {
    name: expression
    for name, expression in tool.cases().items()
    if tool.resolves(name) and tool.resolves(NEEDS.get(name, name))
}
RAISES = {name: rest for name, (status, rest) in tool.statuses().items() if status == "raises"}


def plain(value: Any) -> Any:
    """A result without its library: tensors become arrays with the name of their dtype."""
    if isinstance(value, torch.Tensor | pyburn.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        values = value.detach()
        if kind == "bfloat16":
            values = values.float()
        return kind, np.asarray(values.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return str(value.dtype), value
    assert value is None or isinstance(value, bool | int | float | complex | str), type(value)
    return value


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs):
            assert_same(*pair)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6)
    else:
        assert ours == theirs and type(ours) is type(theirs)


def value_of(expression: str, library: Any) -> Any:
    library.manual_seed(0)
    names = scene(library)
    library.manual_seed(0)
    return plain(eval(expression, names))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    assert_same(value_of(CASES[name], pyburn), value_of(CASES[name], torch))


@pytest.mark.parametrize("name", RAISES)
def test_what_raises_says_so(name):
    with pytest.raises((RuntimeError, AttributeError)):
        eval(RAISES[name][0], scene(pyburn))
    assert ";" in RAISES[name][1], "a reason and a workaround"


def test_imports_under_the_alias():
    with (HERE / "torch_api_usage.csv").open() as file:
        modules = [row["name"] for row in csv.DictReader(file) if row["namespace"] == "import"]
    present = [name for name in modules if tool.resolves(f"import {name}")]
    code = "\n".join(["import torch", *(f"import {name}" for name in present), "print(torch.__name__)"])
    done = subprocess.run([sys.executable, "-m", "pyburn", "run", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "torch\n"), done.stderr


def test_enough_names_work():
    rows = tool.rows()
    common = [row.status for row in rows if row.projects >= 3]
    rare = [row.status for row in rows if row.projects < 3]
    assert (len(common), len(rare)) == (548, 188)
    assert common.count("works") >= 500 and rare.count("works") >= 120


def test_page_is_what_the_code_says():
    assert tool.main(["--check"]) == 0


def test_named_tests_exist():
    for status, rest in tool.statuses().values():
        if status == "works":
            path, _, function = rest[0].partition("::")
            assert f"def {function}(" in (ROOT / path).read_text(), rest[0]
