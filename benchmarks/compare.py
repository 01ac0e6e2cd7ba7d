"""Times the rows of `bars.py` in turn for both libraries, prints each group against its bar, and writes RESULTS.md.

`python benchmarks/compare.py` runs every setting (two threads, one thread, AVX2 only), the growth of the rows with
their size and the peak memory of the training steps. With names (`compare.py relu conv`, a name is a group's or a part
of a row's) it prints those rows alone, in the setting of `--threads` and `--vectors`.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import report
from bars import GROUPS, SCALES
from run import Peer


@dataclass(frozen=True)
class Setting:
    """How both libraries are run."""

    name: str
    threads: int
    vectors: int = 512
    clock: str = "wall"

    def peer(self, library: str) -> Peer:
        """The library in a process of its own."""
        # torch's exp takes as long with these limits as without them, its tanh five times as long.
        limits = {"PYBURN_VECTORS": "256", "ATEN_CPU_CAPABILITY": "avx2"}
        limits |= {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
        return Peer(library, str(self.threads), self.clock, env=limits if self.vectors < 512 else {})


# The share of a round's time, of one processor, that the host may keep for others, and how often a round is tried.
DISTURBED = 0.03
TRIES = 4

SETTINGS = (Setting("two threads", 2), Setting("one thread", 1), Setting("two threads, AVX2 only", 2, 256))


@dataclass(frozen=True)
class Result:
    """Seconds of both libraries in each round, or what went wrong."""

    name: str
    bar: float
    ours: tuple[float, ...] = ()
    theirs: tuple[float, ...] = ()
    problem: str = ""

    @property
    def ratios(self) -> list[float]:
        """Time of pyburn over time of torch, the smallest first."""
        return sorted(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        """The middle of the ratios."""
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        """What is to be said of the row."""
        return self.problem or ("" if self.ratio <= self.bar else "above the bar")

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name:40} {self.problem}"
        micro = [statistics.median(times) * 1e6 for times in (self.ours, self.theirs)]
        return f"{self.name:40} {micro[0]:11.1f} {micro[1]:11.1f} {self.ratio:7.2f}  {self.verdict}".rstrip()


def measure(peers: tuple[Peer, Peer], name: str, bar: float, rounds: int) -> Result:
    """Asks both libraries in turn; a round that the host disturbed is asked again."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for _ in range(TRIES):
            start, before = time.perf_counter(), stolen()
            answers: list[Any] = [peer.ask(name) for peer in peers]
            if stolen() - before <= DISTURBED * (time.perf_counter() - start):
                break
        for answer, seen in zip(answers, times, strict=True):
            if isinstance(answer, str):
                return Result(name, bar, problem=answer)
            seen.append(answer)
    return Result(name, bar, tuple(times[0]), tuple(times[1]))


def stolen() -> float:
    """Seconds for which the host of a virtual machine has kept its processors for others; zero where nobody says so."""
    stat = Path("/proc/stat")
    fields = stat.read_text().split(None, 9) if stat.exists() else []
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") if len(fields) > 8 else 0.0


def mean(results: list[Result]) -> float:
    """The geometric mean of the ratios."""
    return math.exp(statistics.mean(math.log(result.ratio) for result in results if not result.problem))


def run(setting: Setting, rounds: int, names: list[str]) -> dict[str, list[Result]]:
    """The rows of all groups, printed as they come."""
    peers = setting.peer("pyburn"), setting.peer("torch")
    print(f"\n{setting.name:40} {'pyburn us':>11} {'torch us':>11} {'ratio':>7}")
    found: dict[str, list[Result]] = {}
    for title, group in GROUPS.items():
        rows = [row for row in group.rows if not names or any(name == title or name in row for name in names)]
        if rows:
            print(f"{title}: at most {group.bar}")
        for row in rows:
            result = measure(peers, row, group.bar, rounds)
            print(result, flush=True)
            found.setdefault(title, []).append(result)
    for peer in peers:
        peer.close()
    every = [result for results in found.values() for result in results]
    if every:
        print(f"geometric mean of {len(every)} rows: {mean(every):.2f}")
    return found


def growth(setting: Setting, rounds: int) -> dict[str, list[Result]]:
    """The rows of `SCALES` at 1x, 4x and 16x."""
    peers = setting.peer("pyburn"), setting.peer("torch")
    print(f"\n{'growth: ratio at':40} {'1x':>7} {'4x':>7} {'16x':>7}")
    found = {}
    for name, scales in SCALES.items():
        found[name] = [measure(peers, f"{name}@{index}", math.inf, rounds) for index in range(len(scales))]
        print(f"{name:40} " + " ".join(result.problem or f"{result.ratio:7.2f}" for result in found[name]), flush=True)
    for peer in peers:
        peer.close()
    return found


def memory(setting: Setting) -> list[Result]:
    """The peak memory of each training step, in megabytes, each in a process of its own."""
    print(f"\n{'peak memory':40} {'pyburn MB':>11} {'torch MB':>11} {'ratio':>7}")
    found = []
    for name in GROUPS["training"].rows:
        peers = [setting.peer(library) for library in ("pyburn", "torch")]
        ours, theirs = (peer.ask(f"peak {name}") for peer in peers)
        for peer in peers:
            peer.close()
        found.append(Result(name, 1.0, (ours,), (theirs,)))
        print(f"{name:40} {ours:11.1f} {theirs:11.1f} {ours / theirs:7.2f}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vectors", type=int, default=512, choices=(256, 512), help="256: AVX2 only")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="count processor time: for one thread on a busy machine")
    parser.add_argument("--memory", action="store_true", help="the peak memory alone")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = Setting(f"{options.threads} threads", options.threads, options.vectors, "cpu" if options.cpu else "wall")
    if options.memory:
        memory(chosen)
    elif options.names:
        run(chosen, options.rounds, options.names)
    else:
        # Where there is no AVX-512 the first setting is AVX2's.
        settings = [setting for setting in SETTINGS if setting.vectors == 512 or report.vectors() == "AVX-512"]
        timed = {setting.name: run(setting, options.rounds, []) for setting in settings}
        report.write(timed, growth(SETTINGS[0], options.rounds), memory(SETTINGS[0]))


if __name__ == "__main__":
    main()
