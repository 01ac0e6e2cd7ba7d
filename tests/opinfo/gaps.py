"""The list of what does not pass yet, gaps.toml: it names samples one by one and can only shrink."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name("gaps.toml")
HEADER = """\
# What pyburn does not pass of torch's own bank of cases, sample by sample: `failed` and `errors` are numbers of samples
# and of error inputs, `of` is how many samples the entry has (0: torch itself does not run it on the CPU).
# A line can only shrink: an unlisted failure fails the tests, and so does a listed one that passes.
# `python tests/opinfo/run.py --shrink` strikes out what passes now. `rounded` are samples whose last digits hang on the
# order in which torch's products sum, which its libraries choose by the processor: they may pass or not.

"""


@dataclasses.dataclass
class Gap:
    """The failures of one entry that are known."""

    failed: set[int] = dataclasses.field(default_factory=set)
    errors: set[int] = dataclasses.field(default_factory=set)
    rounded: set[int] = dataclasses.field(default_factory=set)
    of: int = 0
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether the entry passes all the same: at most 3 % of its samples fail."""
        return self.of > 0 and len(self.failed | self.rounded) <= 0.03 * self.of


def load(path: Path = FILE) -> dict[str, Gap]:
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text())
    listed = ("failed", "errors", "rounded")
    return {
        name: Gap(*(parse(row.get(key, "")) for key in listed), of=row["of"], why=row["why"])
        for name, row in table.items()
    }


def save(gaps: dict[str, Gap], path: Path = FILE) -> None:
    lines = [f"{json.dumps(name)} = {{ {text(gaps[name])} }}\n" for name in sorted(gaps)]
    path.write_text(HEADER + "".join(lines))


def text(gap: Gap) -> str:
    parts = [f"{key} = {json.dumps(ranges(numbers))}" for key, numbers in numbered(gap) if numbers]
    return ", ".join([*parts, f"of = {gap.of}", f"why = {json.dumps(gap.why, ensure_ascii=False)}"])


def numbered(gap: Gap) -> list[tuple[str, set[int]]]:
    return [("failed", gap.failed), ("errors", gap.errors), ("rounded", gap.rounded)]


def parse(ranges: str) -> set[int]:
    """{0, 1, 2, 5} from "0-2,5"."""
    found: set[int] = set()
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def ranges(numbers: Iterable[int]) -> str:
    """ "0-2,5" from {0, 1, 2, 5}."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
