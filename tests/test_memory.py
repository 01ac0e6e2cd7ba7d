"""The memory of tensors: what is counted, what is kept for the next ones, and what is given back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pyburn
import pytest

SIZES = [1, 1000, 5000, 20_000, 70_000, 300_000, 1_500_000]


def live() -> int:
    return pyburn.memory_stats()["live_bytes"]


@pytest.mark.parametrize("numel", SIZES)
@pytest.mark.parametrize("make", [pyburn.zeros, pyburn.ones, pyburn.empty])
def test_bytes_in_use_are_those_of_tensors(make, numel):
    make(numel)
    before = live()
    x = make(numel)
    grown = live() - before
    assert 4 * numel <= grown <= 4 * numel + 16
    view, other = x[1:], x.detach()
    assert live() - before == grown
    del x, view, other
    assert live() == before


def test_the_peak_is_the_most_since_it_was_reset():
    x = pyburn.ones(1 << 20)
    pyburn.reset_peak_memory_stats()
    before = live()
    assert pyburn.memory_stats()["peak_bytes"] == before
    y = x + 1
    del y
    y = x + 1
    stats = pyburn.memory_stats()
    assert stats["live_bytes"] == before + 4 * y.numel()
    assert before + (4 << 20) <= stats["peak_bytes"] < before + (5 << 20)


def test_freed_memory_serves_the_next_tensor_of_its_size():
    x = pyburn.ones(3 << 20)
    place = x.data_ptr()
    del x
    before = pyburn.memory_stats()
    y = pyburn.empty(3 << 20)
    after = pyburn.memory_stats()
    assert y.data_ptr() == place
    assert after["reused"] == before["reused"] + 1
    assert after["cached_bytes"] < before["cached_bytes"]


@pytest.mark.parametrize("numel", SIZES)
def test_zeros_are_zeros_also_in_memory_that_was_used(numel):
    for _ in range(3):
        x = pyburn.full((numel,), float("nan"))
        del x
        assert not pyburn.zeros(numel).any()


@pytest.mark.parametrize("numel", [1024, 5000, 20_000, 70_001, 300_000, 1_500_000])
def test_memory_lies_on_cache_lines(numel):
    assert pyburn.empty(numel).data_ptr() % 64 == 0
    assert pyburn.zeros(numel).data_ptr() % 64 == 0


def test_an_emptied_cache_has_nothing():
    x = pyburn.ones(1 << 20)
    del x
    assert pyburn.memory_stats()["cached_bytes"] > 0
    pyburn.empty_cache()
    assert pyburn.memory_stats()["cached_bytes"] == 0


def test_sizes_that_nobody_has_are_refused_and_leave_nothing():
    before = live()
    with pytest.raises((MemoryError, RuntimeError)):
        pyburn.empty(1 << 46)
    assert live() == before


def run(program: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(Path(pyburn.__file__).parents[1]), "PYBURN_QUIET": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


RESIDENT = """
import pyburn
from pathlib import Path

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def megabytes(before):
    return round((resident() - before) / 2**20)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_what_is_kept_is_bounded_and_given_back():
    grown, left, emptied = map(
        int,
        run(
            RESIDENT
            + """
before = resident()
graph = [pyburn.ones(4 << 20) for _ in range(60)]  # 960 MB
grown = megabytes(before)
del graph
left = megabytes(before)
pyburn.empty_cache()
print(grown, left, megabytes(before))
"""
        ).split(),
    )
    assert grown >= 950
    assert left <= 300
    assert emptied <= 20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_keeping_costs_nothing_at_the_peak():
    # Sizes grow from step to step, so that nothing that is kept ever fits.
    grown = int(
        run(
            RESIDENT
            + """
before = resident()
highest = 0
for size in range(20, 100):
    x = pyburn.ones(size, 1 << 18)  # size MB
    highest = max(highest, megabytes(before))
    del x
print(highest)
"""
        )
    )
    assert grown <= 100 + 32 + 10


def test_blocks_that_had_to_go_and_are_wanted_again_are_kept():
    # As a step of training has them: never more than 31 MB at once, 75 MB of one size after another.
    program = """
import pyburn
def step():
    for size in (31, 24, 20):
        pyburn.ones(size, 1 << 18)
for _ in range(6):
    step()
before = pyburn.memory_stats()
for _ in range(5):
    step()
after = pyburn.memory_stats()
print(after["allocations"] - before["allocations"], after["reused"] - before["reused"])
"""
    allocations, reused = map(int, run(program).split())
    assert allocations == reused == 15


def test_zeros_that_nobody_writes_take_no_memory():
    assert int(run(RESIDENT + "before = resident(); x = pyburn.zeros(1 << 28); print(megabytes(before))")) < 20


def test_many_threads_share_the_memory():
    wrong = []

    def work(number: int) -> None:
        for round in range(40):
            size = 20_000 + 3000 * ((number + round) % 7)
            x = pyburn.full((size,), float(number))
            y = x + x
            if not bool((y == 2.0 * number).all()):
                wrong.append((number, round))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_memory_of_its_own():
    program = """
import os, pyburn, threading
stop = False
def churn():
    while not stop:
        pyburn.ones(50_000)
thread = threading.Thread(target=churn); thread.start()
x = pyburn.ones(300_000)
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        y = x + pyburn.zeros(300_000)
        del x
        fits = bool((y == 1).all()) and float(pyburn.full((300_000,), 2.0).sum()) == 600_000
        os._exit(0 if fits else 1)
    codes.append(os.waitpid(child, 0)[1])
stop = True
thread.join()
assert codes == [0] * 5, codes
assert float(x.sum()) == 300_000
"""
    run(program)
