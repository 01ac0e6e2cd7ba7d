"""Times pyburn and torch side by side and prints a table of ratios: `make bench`.

Both run at once in two processes that take turns case by case, so that a busy machine hurts both alike.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cases import CASES, LIMITS

HERE = Path(__file__).parent
ROUNDS = 5


@functools.cache
def limits() -> dict[str, str]:
    """Keeps torch from AMX where the machine announces it and does not run it, as some virtual machines do."""
    program = "import torch; a = torch.ones(64, 64).bfloat16(); a @ a"
    works = subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
    return {} if works else {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}


class Peer:
    """A library in a process of its own."""

    def __init__(self, name: str, *settings: str, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, str(HERE / "worker.py"), name, *settings]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, env=os.environ | limits() | (env or {}), **pipes)

    def ask(self, case: str) -> Any:
        """The answer of the worker for one case."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """Ends the process, whose memory the next ones may need."""
        self.process.kill()
        self.process.wait()


def import_seconds(name: str) -> float:
    """The best time of importing a library in a fresh process, the bare interpreter's start taken off."""

    def best(code: str) -> float:
        program = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True) for _ in range(3)]
        return min(float(run.stdout) for run in runs)

    return best(f"import {name}")


def row(name: str, ours: Any, theirs: Any) -> str:
    """One line of the table."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return f"{name:18} {ours if isinstance(ours, str) else theirs}"
    ratio = ours / theirs
    limit = LIMITS.get(name)
    verdict = "" if limit is None else f"  limit {limit}: {'held' if ratio <= limit else 'MISSED'}"
    return f"{name:18} {ours * 1e6:11.2f} {theirs * 1e6:11.2f} {ratio:7.2f}{verdict}"


def main() -> None:
    peers = Peer("pyburn"), Peer("torch")
    print(f"{'case':18} {'pyburn us':>11} {'torch us':>11} {'ratio':>7}")
    for name in CASES:
        best: list[Any] = [None, None]
        for _ in range(ROUNDS):
            for index, peer in enumerate(peers):
                answer = peer.ask(name)
                known = best[index]
                best[index] = answer if known is None or isinstance(answer, str) else min(known, answer)
        print(row(name, *best), flush=True)
    graphs = [peer.ask("freed_graph") for peer in peers]
    for library, graph in zip(("pyburn", "torch"), graphs, strict=True):
        print(f"freed graph of 100,000 ops, {library}: {graph['grown']:.0f} MB, {graph['left']:.0f} MB left after del")
    ours, theirs = import_seconds("pyburn"), import_seconds("torch")
    print(f"import: pyburn {ours:.3f} s, torch {theirs:.3f} s, ratio {ours / theirs:.3f}")
    wheels = sorted((HERE.parent / "dist").glob("*.whl"))
    print(f"wheel: {wheels[-1].stat().st_size / 1e6:.1f} MB" if wheels else "wheel: not built here (make wheel)")


if __name__ == "__main__":
    main()
