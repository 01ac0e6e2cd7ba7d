"""A run that was killed or interrupted goes on with the losses that it would have had."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyburn
import pytest
from pyburn import train

from train import runs


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    # A shell starts its background jobs with this signal ignored, and tests may run in one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def lines(folder):
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in found]


def run(folder, *arguments):
    return subprocess.run([sys.executable, runs.__file__, str(folder), *map(str, arguments)], check=False).returncode


@pytest.mark.parametrize("batches", [1, 13, 22])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, batches):
    assert run(tmp_path / "whole") == 0
    assert run(tmp_path / "killed", batches) == -signal.SIGKILL
    assert run(tmp_path / "killed") == 0
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


@pytest.mark.parametrize("batches", [5, 9, 14, 27])
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, batches, capfd):
    # Batches 9 to 12 of each 12 validate: a run may also stop there.
    runs.fit(runs.learner(tmp_path / "whole", accumulate=3))
    stopped = runs.learner(tmp_path / "stopped", accumulate=3)
    runs.stop_at(stopped, batches, signal.SIGINT)
    runs.fit(stopped)
    assert stopped.interrupted
    assert "interrupted" in (stopped.stopped or "")
    assert "Stopping after this batch" in capfd.readouterr().err
    runs.fit(runs.learner(tmp_path / "stopped", accumulate=3), resume=True)
    assert lines(tmp_path / "stopped") == lines(tmp_path / "whole")


def test_checkpoints_within_an_epoch(tmp_path):
    runs.fit(runs.learner(tmp_path / "whole"))
    part = runs.learner(tmp_path / "part", checkpoints=None, callbacks=[train.Checkpoints(train.KeepAll(), every=3)])
    part.on("after_batch", lambda learner: learner.step == 13 and stop())
    with pytest.raises(MemoryError):
        runs.fit(part)
    again = runs.learner(tmp_path / "part", checkpoints=None, callbacks=[train.Checkpoints(train.KeepAll(), every=3)])
    runs.fit(again, resume=True)
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")


def stop():
    raise MemoryError


def test_the_second_interrupt_stops_at_once(tmp_path):
    made = runs.learner(tmp_path)
    made.on("after_forward", lambda learner: [signal.raise_signal(signal.SIGINT) for _ in range(2)])
    with pytest.raises(KeyboardInterrupt):
        runs.fit(made)
    assert made.step == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_generator_of_the_loader_goes_on_too(tmp_path):
    def fit(made, **options):
        inputs, classes, valid = runs.problem()
        data = pyburn.utils.data.TensorDataset(inputs, classes)
        generator = pyburn.Generator().manual_seed(9)
        loader = pyburn.utils.data.DataLoader(data, 8, shuffle=True, generator=generator, num_workers=2)
        made.fit(loader, valid, 3, **options)

    fit(runs.learner(tmp_path / "whole"))
    stopped = runs.learner(tmp_path / "stopped")
    runs.stop_at(stopped, 20, signal.SIGINT)
    fit(stopped)
    fit(runs.learner(tmp_path / "stopped"), resume=True)
    assert lines(tmp_path / "stopped") == lines(tmp_path / "whole")


def test_resume_without_a_checkpoint_starts(tmp_path):
    assert len(runs.fit(runs.learner(tmp_path), 2, resume=True)) == 2


def test_weights_are_no_checkpoint(tmp_path):
    pyburn.save(runs.model().state_dict(), tmp_path / "weights.pt")
    with pytest.raises(ValueError, match="no checkpoint of a Learner"):
        runs.fit(runs.learner(tmp_path), resume=Path(tmp_path / "weights.pt"))
