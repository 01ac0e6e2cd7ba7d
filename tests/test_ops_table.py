"""docs/ops.md has a row for every function of burn's op traits, and each row names a sample that the tests run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from op_samples import CALLS

ROOT = Path(__file__).parents[1]
# Rows without a sample, each with what is missing.
OPEN = {"deform_conv2d": "no binding yet"}


def rows() -> dict[str, str]:
    """The cell beside each burn function in the page."""
    text = (ROOT / "docs" / "ops.md").read_text()
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))


def functions() -> list[str]:
    """burn's functions, as the generator reads them."""
    spec = importlib.util.spec_from_file_location("ops_table", ROOT / "tools" / "ops_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [name for names in module.burn_functions().values() for name in names]


def test_every_function_of_burn_has_a_row() -> None:
    assert set(functions()) - set(rows()) == set()


def test_every_row_names_a_sample_that_runs() -> None:
    named = {cell.strip("` ") for cell in rows().values() if not cell.startswith("internal")}
    assert named - set(CALLS) == set(OPEN)
