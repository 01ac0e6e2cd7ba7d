"""Times cases for one library: reads case names from standard input, writes seconds per call."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
import timeit
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bars import ROWS, SCALES

from cases import CASES


def resident() -> int:
    """Bytes of memory that this process occupies."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def freed_graph(lib: object) -> dict[str, float]:
    """Megabytes that a graph of 100,000 ops takes, and what is left of them after `del`."""
    weight = lib.ones(4, 4, requires_grad=True)  # type: ignore[attr-defined]

    def grow() -> object:
        y = weight
        for _ in range(100_000):
            y = y * weight
        return y

    grow()
    before = resident()
    graph = grow()
    grown = resident()
    del graph
    return {"grown": (grown - before) / 1e6, "left": (resident() - before) / 1e6}


def peak(name: str, lib: object) -> float:
    """Megabytes by which some calls raise the memory of a process that has done nothing else, at their highest."""
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # the highest level begins anew
    before = resident()
    statement = ROWS[name].prepare(lib)
    for _ in range(5):
        statement()
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3 - before / 1e6


def prepared(name: str, lib: object) -> object:
    """The statement to repeat: a row of the bars, a row at some scale ("add@2"), or a case."""
    if name in ROWS:
        return ROWS[name].prepare(lib)
    row, at, scale = name.partition("@")
    return SCALES[row][int(scale)].prepare(lib) if at else CASES[name](lib)


def answer(name: str, lib: object) -> object:
    """What is asked for by a line."""
    gc.collect()  # the tensors of the row before are part of a cycle
    if name == "freed_graph":
        return freed_graph(lib)
    if name.startswith("peak "):
        return peak(name.removeprefix("peak "), lib)
    return measure(prepared(name, lib))


def measure(statement: object) -> float:
    """The best time per call among rounds of about 20 ms."""
    clock = time.process_time if "cpu" in sys.argv else time.perf_counter
    timer = timeit.Timer(statement, timer=clock)  # type: ignore[arg-type]
    timer.timeit(3)
    count = 1
    while (spent := timer.timeit(count)) < 0.02:
        count = max(count * 2, int(count * 0.02 / max(spent, 1e-9)))
    return min(timer.repeat(5, count)) / count


def main() -> None:
    lib = importlib.import_module(sys.argv[1])
    importlib.import_module(f"{sys.argv[1]}.nn.functional")
    lib.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    for line in sys.stdin:
        try:
            said = answer(line.strip(), lib)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
