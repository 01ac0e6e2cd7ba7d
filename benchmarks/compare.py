"""Times the rows of `bars.py` in turn for both libraries and prints each group against its bar.

`python benchmarks/compare.py [--threads 1] [--rounds 5] [name ...]`, where a name is a group's or a part of a row's.
"""

from __future__ import annotations

import argparse
import math
import statistics

from bars import GROUPS
from run import Peer


def ratio(peers: tuple[Peer, Peer], name: str, rounds: int) -> tuple[float, float, str]:
    """Seconds of each library, the middle of the rounds, and what went wrong."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for peer, seen in zip(peers, times, strict=True):
            answer = peer.ask(name)
            if isinstance(answer, str):
                return 0.0, 0.0, answer
            seen.append(answer)
    return statistics.median(times[0]), statistics.median(times[1]), ""


def show(name: str, ours: float, theirs: float, bar: float, problem: str) -> None:
    """One line of the table."""
    verdict = problem or ("" if ours / theirs <= bar else "above the bar")
    numbers = "" if problem else f"{ours * 1e6:11.1f} {theirs * 1e6:11.1f} {ours / theirs:7.2f}"
    print(f"{name:32} {numbers}  {verdict}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="count processor time: for one thread on a busy machine")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    settings = [str(options.threads), *(["cpu"] if options.cpu else [])]
    peers = Peer("pyburn", *settings), Peer("torch", *settings)
    print(f"{'row':32} {'pyburn us':>11} {'torch us':>11} {'ratio':>7}")
    logs = []
    for group_name, group in GROUPS.items():
        rows = [r for r in group.rows if not options.names or any(n == group_name or n in r for n in options.names)]
        if rows:
            print(f"{group_name}: at most {group.bar}")
        for name in rows:
            ours, theirs, problem = ratio(peers, name, options.rounds)
            show(name, ours, theirs, group.bar, problem)
            if not problem:
                logs.append(math.log(ours / theirs))
    if logs:
        print(f"geometric mean of {len(logs)} rows: {math.exp(statistics.mean(logs)):.2f}")


if __name__ == "__main__":
    main()
