"""Metrics of the run itself and of agents, against files as the kernel writes them and plain loops."""

from __future__ import annotations

import math
import os
import resource

import numpy as np
import pyburn
import pytest
from pyburn.train import metrics
from pyburn.train.metrics import Batch, system

from .metric_checks import agree, ours

STAT = "cpu  100 10 40 800 50 0 0 0 7 0\ncpu0 50 5 20 400 25 0 0 0 0 0\n"
LATER = "cpu  160 10 60 810 60 0 0 0 9 0\n"
MEMINFO = "MemTotal:       4194304 kB\nMemFree:   12 kB\nMemAvailable:   1048576 kB\n"


def batch(**values):
    return Batch(**({"input": None, "target": None, "output": None, "loss": None, "size": 8} | values))


def test_learning_rate_is_the_last():
    rate = metrics.LearningRate()
    assert math.isnan(rate.compute())
    for value in (0.1, 0.05):
        rate.observe(batch(learning_rate=value))
    assert rate.compute() == 0.05 and rate.higher_is_better is None
    with pytest.raises(TypeError, match=r"call observe\(batch\)"):
        rate.update(pyburn.zeros(1), pyburn.zeros(1))


def test_speed():
    speed, samples = metrics.IterationSpeed(), metrics.IterationSpeed("samples")
    for seconds, size in ((0.5, 10), (1.5, 30)):
        speed.observe(batch(seconds=seconds, size=size))
        samples.observe(batch(seconds=seconds, size=size))
    assert speed.compute() == 1.0 and samples.compute() == 20.0
    assert (speed.name, samples.name) == ("iteration_speed", "samples_per_second")
    speed.reset()
    speed.update(pyburn.zeros(3), pyburn.zeros(3))
    assert speed.compute() > 0


def test_processor_use(monkeypatch):
    texts = iter([STAT, STAT, LATER])
    monkeypatch.setattr(system, "_text", lambda path: next(texts))
    use = metrics.CPUUse()
    use.update(None, None)
    assert math.isnan(use.compute())  # no tick has passed
    use.update(None, None)
    assert use.compute() == 80.0  # 60 + 20 of 100 ticks
    monkeypatch.setattr(system, "_text", lambda path: "")
    elsewhere = metrics.CPUUse()
    elsewhere.update(None, None)
    assert math.isnan(elsewhere.compute())


def test_processor_use_of_this_process():
    use = metrics.CPUUse("process")
    sum(range(200_000))
    use.observe(batch())
    assert use.compute() > 0


def test_memory(monkeypatch):
    process = metrics.CPUMemory("process")
    process.observe(batch())
    assert 0.01 < process.compute() <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 + 0.01
    monkeypatch.setattr(system, "_text", lambda path: MEMINFO if path == "/proc/meminfo" else "")
    machine = metrics.CPUMemory()
    machine.observe(batch())
    assert machine.compute() == 3.0
    process = metrics.CPUMemory("process")
    process.observe(batch())
    assert process.compute() > 0.01  # the peak, by the resource module
    monkeypatch.setattr(system, "_text", lambda path: "")
    machine.reset()
    machine.observe(batch())
    assert math.isnan(machine.compute())


def test_real_files_of_this_machine():
    if os.path.exists("/proc/meminfo"):
        memory = metrics.CPUMemory()
        memory.observe(batch())
        assert 0.05 < memory.compute() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def test_temperature(tmp_path):
    for zone, text in (("thermal_zone0", "41000\n"), ("thermal_zone1", "55500\n"), ("thermal_zone2", "?\n")):
        (tmp_path / zone).mkdir()
        (tmp_path / zone / "temp").write_text(text)
    heat = metrics.CPUTemperature(str(tmp_path))
    heat.observe(batch())
    assert heat.compute() == 55.5
    none = metrics.CPUTemperature(str(tmp_path / "none"))
    none.observe(batch())
    assert math.isnan(none.compute())


def episodes(steps=200, environments=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(steps, environments)).astype(np.float32), rng.uniform(size=(steps, environments)) < 0.1


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_episodes_against_a_loop(discount):
    rewards, ends = episodes()
    returns, lengths = [], []
    for column in range(3):
        total, length = 0.0, 0
        for reward, end in zip(rewards[:, column], ends[:, column]):
            total, length = total + discount**length * float(reward), length + 1
            if end:
                returns.append(total)
                lengths.append(length)
                total, length = 0.0, 0
    metric, steps = metrics.EpisodeReturn(discount), metrics.EpisodeLength()
    for number, (reward, end) in enumerate(zip(rewards, ends)):
        if number == 77:  # a run that is resumed in the middle of episodes
            saved, metric = metric.state_dict(), metrics.EpisodeReturn(discount)
            metric.load_state_dict(saved)
        metric.update(ours(reward), ours(end))
        steps.update(ours(reward), ours(end))
    agree(metric.compute(), np.mean(returns), 1e-5)
    agree(steps.compute(), np.mean(lengths))


def test_episodes_across_epochs():
    for carry, expected in ((True, 2.0), (False, 1.0)):
        metric = metrics.EpisodeReturn(carry=carry)
        metric.update(1.0, False)
        assert math.isnan(metric.compute())
        metric.reset()
        assert metric(1.0, True) == expected == metric.compute()


def test_environments_keep_their_number():
    metric = metrics.EpisodeReturn()
    metric.update(pyburn.zeros(2), pyburn.tensor([False, True]))
    with pytest.raises(pyburn.ShapeError, match="3 rewards and 3 ends, and 2 episodes are under way"):
        metric.update(pyburn.zeros(3), pyburn.zeros(3))


def test_exploration():
    rate = metrics.ExplorationRate()
    rate.update(pyburn.tensor([True, False, False, True]))
    rate.update(0.25)
    assert rate.compute() == 0.45
