"""Writes what `compare.py` has measured as benchmarks/RESULTS.md."""

from __future__ import annotations

import datetime
import platform
import statistics
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compare import Result

HERE = Path(__file__).parent
INTRODUCTION = """# pyburn and PyTorch on the CPU

Written by `make bench`; pyburn's time over PyTorch's, the middle of the rounds, with the smallest and the largest in
brackets. Both libraries run in turn, row by row, on the same machine; a round for part of which the host kept its
processors for others (as Linux counts it) is run again for both, up to three times. Below 1.0 pyburn is the faster
one; a bar is the largest ratio that a group is meant to have, and a ratio above it is **bold**.

{hardware}
"""


def processor() -> list[str]:
    """The lines in which Linux describes the processors."""
    info = Path("/proc/cpuinfo")
    return info.read_text().splitlines() if info.exists() else []


def vectors() -> str:
    """The widest vectors that the processor has."""
    flags = next((line for line in processor() if line.startswith("flags")), "")
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"


def hardware() -> str:
    """Processor, threads, versions and commit."""
    lines = processor()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    cores = sum(line.startswith("processor") for line in lines)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE).stdout
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{model}, {cores} cores, {vectors()}; Python {platform.python_version()}, torch {metadata.version('torch')}, "
        f"pyburn {metadata.version('pyburn')} at {commit.strip() or 'no commit'}, {today}."
    )


def cell(result: Result) -> str:
    """A ratio with its spread."""
    if result.problem:
        return result.problem
    ratio = f"{result.ratio:.2f}" if result.ratio <= result.bar else f"**{result.ratio:.2f}**"
    return f"{ratio} ({result.ratios[0]:.2f}-{result.ratios[-1]:.2f})"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def summary(timed: dict[str, dict[str, list[Result]]]) -> str:
    """The geometric mean of each group and setting, and how many rows miss their bar."""
    from compare import mean

    settings = list(timed)
    rows = [
        [group, str(results[0].bar), *(f"{mean(timed[setting][group]):.2f}" for setting in settings)]
        for group, results in timed[settings[0]].items()
    ]
    every = {s: [result for results in timed[s].values() for result in results] for s in settings}
    rows.append(["**all rows**", "0.85", *(f"**{mean(every[setting]):.2f}**" for setting in settings)])
    missed = [str(sum(bool(result.verdict) for result in every[setting])) for setting in settings]
    rows.append(
        ["rows above their bar", "5", *(f"{n} of {len(every[s])}" for n, s in zip(missed, settings, strict=True))]
    )
    return table(["group", "bar", *settings], rows)


def grown(scales: list[Result]) -> list[str]:
    """The time of the largest work over that of the smallest, of both libraries."""
    middles = [[statistics.median(times) for times in (scale.ours, scale.theirs)] for scale in (scales[0], scales[-1])]
    return [f"{large / small:.1f}" for small, large in zip(*middles, strict=True)]


def rates(name: str, scales: list[Result]) -> str:
    """How much pyburn does in a second at the smallest and at the largest scale: as much where nothing is lost."""
    from bars import AMOUNTS

    if name not in AMOUNTS:
        return ""
    amount, unit = AMOUNTS[name]
    small, large = (statistics.median(scale.ours) for scale in (scales[0], scales[-1]))
    return f"{amount / small / 1e9:.0f}, {16 * amount / large / 1e9:.0f} {unit}"


def write(timed: dict[str, dict[str, list[Result]]], growth: dict[str, list[Result]], memory: list[Result]) -> None:
    """Writes the file at once, so that an interrupted run leaves the old one."""
    settings = list(timed)
    parts = [INTRODUCTION.format(hardware=hardware()), "## Summary (geometric means)\n", summary(timed)]
    parts.append("NEON is compiled from the portable loops and was not measured.\n")
    for group, results in timed[settings[0]].items():
        parts.append(f"## {group.capitalize()}: at most {results[0].bar}\n")
        parts.append(
            table(
                ["row", "pyburn us", "torch us", *settings],
                [
                    [
                        result.name,
                        *(
                            f"{statistics.median(times) * 1e6:.1f}" if times else ""
                            for times in (result.ours, result.theirs)
                        ),
                        *(cell(timed[setting][group][index]) for setting in settings),
                    ]
                    for index, result in enumerate(results)
                ],
            )
        )
    parts.append("## Growth: the ratio at 1x, 4x and 16x of the work, and 16x over 1x of each library\n")
    rows = [[name, *map(cell, scales), *grown(scales), rates(name, scales)] for name, scales in growth.items()]
    parts.append(table(["row", "1x", "4x", "16x", "pyburn grows", "torch grows", "pyburn at 1x, 16x"], rows))
    parts.append("## Peak memory of the training steps (MB above the level after import): at most 1.0\n")
    rows = [[r.name, f"{r.ours[0]:.1f}", f"{r.theirs[0]:.1f}", f"{r.ratio:.2f}"] for r in memory]
    parts.append(table(["row", "pyburn", "torch", "ratio"], rows))
    path = HERE / "RESULTS.md"
    temporary = path.with_suffix(".tmp")
    temporary.write_text("\n".join(parts))
    temporary.replace(path)
    print(f"wrote {path.name}")
