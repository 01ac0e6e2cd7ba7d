"""Module paths of torch that public code imports: all of them import under the alias, what is absent says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyburn.compat import paths

IMPORTS = (Path(__file__).parent / "imports.txt").read_text().splitlines()


def aliased(code: str) -> str:
    done = subprocess.run([sys.executable, "-m", "pyburn", "run", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lines_of_public_code_import():
    assert len(IMPORTS) == len(set(IMPORTS)) > 150
    aliased("\n".join(IMPORTS))


def test_every_path_of_the_tables_imports():
    names = [f"import torch.{path}" for path in (*paths.SHARED, *paths.ABSENT)]
    assert aliased("\n".join([*names, "print(torch.fx.passes.shape_prop.ShapeProp.__name__)"])) == "ShapeProp\n"


def test_an_import_leaves_functions_of_the_same_name():
    code = """
import torch, torch.multiprocessing.spawn, torch.nn.parallel.data_parallel
from torch.multiprocessing.spawn import ProcessRaisedException
print(callable(torch.multiprocessing.spawn), callable(torch.nn.parallel.data_parallel))
print(ProcessRaisedException is torch.multiprocessing.ProcessRaisedException, torch.mtia.is_available())
print(hasattr(torch, "no_such_name"), hasattr(torch.fx, "no_such_name"))
"""
    assert aliased(code).split() == ["True", "True", "True", "False", "False", "False"]


@pytest.mark.parametrize("path", paths.ABSENT)
def test_what_is_absent_raises_with_a_reason_and_a_way_out(path):
    module = paths.make(path)
    why, names = paths.ABSENT[path]
    reason, instead = paths.WHY[why]
    for name in names.split():
        if f"{path}.{name}" in paths.ABSENT:
            continue
        with pytest.raises(NotImplementedError, match=r".+; .+") as caught:
            getattr(module, name)()
        assert str(caught.value) == f"{path}.{name}: {reason}; {instead}."


def test_what_no_table_has_is_not_made():
    assert paths.make("no.such.path") is None
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = paths.make("utils.data.datapipes").absent


def test_every_reason_is_used():
    assert set(paths.WHY) == {why for why, _ in paths.ABSENT.values()}
