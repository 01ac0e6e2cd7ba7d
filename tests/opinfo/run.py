"""Command line of the bank: `python tests/opinfo/run.py [patterns] [--samples N] [-v]`.

Prints passed/total samples of each entry and the first failure. Each entry runs in a child process that is started
again when an entry kills it.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opinfo.catalogue import names, run


def main() -> None:
    options = arguments()
    if options.child:
        serve(options.samples)
        return
    chosen = [name for name in names() if matches(name, options.patterns)]
    counts = [0, 0, 0, 0, 0]
    for result in run_all(chosen, options.samples, options.timeout):
        show(result, options)
        passed = result["samples"] - len(result["failed"])
        good = result["samples"] > 0 and len(result["failed"]) <= 0.03 * result["samples"]
        for index, amount in enumerate((good, result["samples"] > 0, passed, result["samples"])):
            counts[index] += amount
        counts[4] += len(result["errors_failed"]) if good else 0
    print(
        f"{counts[0]} of {counts[1]} entries pass (97 % of their samples), {counts[2]} of {counts[3]} samples; "
        f"{counts[4]} error inputs of passing entries are accepted"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names with wildcards, e.g. 'linalg.*' 'module:*' 'optim:*'")
    parser.add_argument("--samples", type=int, default=None, help="at most so many samples of each entry")
    parser.add_argument("--failing", action="store_true", help="print only the entries with a failure")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one entry")
    parser.add_argument("-v", action="store_true", help="print every failure")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ["*"])


def serve(limit: int | None) -> None:
    """The child: one name per line in, one outcome per line out."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        outcome = run(line.strip(), limit)
        answers.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
        answers.flush()


def run_all(chosen: list[str], limit: int | None, timeout: float) -> Iterator[dict[str, Any]]:
    child: subprocess.Popen[str] | None = None
    for name in chosen:
        child = child or start(limit)
        answer = ask(child, name, timeout)
        if answer is None:
            status = child.wait()
            yield {"name": name, "samples": 1, "failed": {"0": f"CRASH {status}"}, "errors": 0, "errors_failed": {}}
            child = None
        else:
            yield json.loads(answer)
    if child is not None:
        child.communicate()


def start(limit: int | None) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--child"] + ([] if limit is None else ["--samples", str(limit)])
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(child: subprocess.Popen[str], name: str, timeout: float) -> str | None:
    assert child.stdin is not None and child.stdout is not None
    import threading

    watch = threading.Timer(timeout, child.kill)
    watch.start()
    try:
        child.stdin.write(name + "\n")
        child.stdin.flush()
        return child.stdout.readline() or None
    except BrokenPipeError:
        return None
    finally:
        watch.cancel()


def show(result: dict[str, Any], options: argparse.Namespace) -> None:
    failed, refused = result["failed"], result["errors_failed"]
    if options.failing and not failed and not refused:
        return
    errors = f", errors {result['errors'] - len(refused)}/{result['errors']}" if result["errors"] else ""
    print(f"{result['name']}: {result['samples'] - len(failed)}/{result['samples']}{errors}", flush=True)
    for label, group in (("", failed), ("error ", refused)):
        for index, text in list(group.items())[: None if options.v else 1]:
            print(f"    {label}{index}: {' '.join(text.split())[: 400 if options.v else 200]}", flush=True)


if __name__ == "__main__":
    main()
