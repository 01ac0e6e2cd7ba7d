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
import threading
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opinfo.bank import Outcome
from opinfo.catalogue import names, run
from opinfo.gaps import Gap, load, save


def main() -> None:
    options = arguments()
    if options.child:
        serve(options.samples)
        return
    chosen = [name for name in names() if matches(name, options.patterns)]
    outcomes = []
    for outcome in run_all(chosen, options.samples, options.timeout):
        show(outcome, options)
        outcomes.append(outcome)
    passing = [outcome for outcome in outcomes if outcome.passes]
    print(
        f"{len(passing)} of {sum(outcome.samples > 0 for outcome in outcomes)} entries pass (97 % of their samples), "
        f"{sum(outcome.samples - len(outcome.failed) for outcome in outcomes)} of "
        f"{sum(outcome.samples for outcome in outcomes)} samples; "
        f"{sum(len(outcome.errors_failed) for outcome in passing)} error inputs of passing entries are accepted"
    )
    if options.shrink or options.rewrite:
        save(updated(load(), outcomes, options.rewrite))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names with wildcards, e.g. 'linalg.*' 'module:*' 'optim:*'")
    parser.add_argument("--samples", type=int, default=None, help="at most so many samples of each entry")
    parser.add_argument("--failing", action="store_true", help="print only the entries with a failure")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one entry")
    parser.add_argument("-v", action="store_true", help="print every failure")
    parser.add_argument("--shrink", action="store_true", help="strike out of gaps.toml what passes now")
    parser.add_argument("--rewrite", action="store_true", help="when torch's version changes: list new failures too")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def updated(known: dict[str, Gap], outcomes: list[Outcome], grow: bool) -> dict[str, Gap]:
    """The list of gaps after these outcomes; it grows only when asked to."""
    for outcome in outcomes:
        old = known.pop(outcome.name, Gap())
        failed, errors = set(outcome.failed) - old.rounded, set(outcome.errors_failed)
        if not grow:
            failed, errors = old.failed & ({*failed} | (old.failed - {*outcome.ran})), old.errors & errors
        if failed or errors or old.rounded or outcome.samples == 0:
            texts = [*outcome.failed.values(), *outcome.errors_failed.values(), "torch does not run it on the CPU"]
            of = outcome.samples if grow else old.of
            why = old.why or " ".join(texts[0].split())[:100]
            known[outcome.name] = Gap(failed, errors, old.rounded, of, why)
    return known


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


def run_all(chosen: list[str], limit: int | None, timeout: float) -> Iterator[Outcome]:
    child: subprocess.Popen[str] | None = None
    for name in chosen:
        child = child or start(limit)
        answer = ask(child, name, timeout)
        if answer is None:
            yield Outcome(name, [0], {0: f"CRASH: the process ended with {child.wait()}"})
            child = None
        else:
            yield Outcome.read(answer)
    if child is not None:
        child.communicate()


def start(limit: int | None) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--child"] + ([] if limit is None else ["--samples", str(limit)])
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(child: subprocess.Popen[str], name: str, timeout: float) -> str | None:
    assert child.stdin is not None and child.stdout is not None
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


def show(outcome: Outcome, options: argparse.Namespace) -> None:
    failed, accepted = outcome.failed, outcome.errors_failed
    if options.failing and not failed and not accepted:
        return
    total = len(outcome.errors_ran)
    errors = f", errors {total - len(accepted)}/{total}" if total else ""
    print(f"{outcome.name}: {outcome.samples - len(failed)}/{outcome.samples}{errors}", flush=True)
    for label, group in (("", failed), ("error ", accepted)):
        for index, text in list(group.items())[: None if options.v else 1]:
            print(f"    {label}{index}: {' '.join(text.split())[: 400 if options.v else 200]}", flush=True)


if __name__ == "__main__":
    main()
