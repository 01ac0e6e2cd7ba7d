"""The pages keep their word: their Python runs, and the tests they name exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {page: re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE) for page in PAGES}
EXAMPLES = [pytest.param(blocks, id=str(page.relative_to(ROOT))) for page, blocks in BLOCKS.items() if blocks]


def mission_rows() -> list[tuple[int, str]]:
    text = (ROOT / "docs" / "mission.md").read_text()
    return [(int(number), proof) for number, proof in re.findall(r"^\| M(\d+) \|.*\| (.*) \|$", text, re.MULTILINE)]


@pytest.mark.parametrize("blocks", EXAMPLES)
def test_python_of_the_pages_runs(blocks, tmp_path, monkeypatch):
    """The blocks of a page are one program: a later one may use what an earlier one made."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, "page", "exec"), names)


def test_mission_lists_every_row_once():
    assert [number for number, _ in mission_rows()] == list(range(1, 42))


def test_mission_names_tests_that_exist():
    missing = []
    for number, proof in mission_rows():
        names = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", proof)
        if not names and not proof.startswith("open"):
            missing.append(f"M{number}: {proof!r} names no test")
        for path, function in names:
            file = ROOT / path
            if not file.is_file():
                missing.append(f"M{number}: {path}")
            elif function and function not in defined_functions(file):
                missing.append(f"M{number}: {path}::{function}")
    assert missing == []


def defined_functions(file: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}
