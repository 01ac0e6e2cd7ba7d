"""A run that was killed or interrupted goes on with the losses that it would have had."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path
from random import Random

import numpy as np
import pyburn
import pytest
from pyburn import train
from pyburn.optim import lr_scheduler
from pyburn.train import building, checkpoints

from train import runs


def lines(folder):
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in found]


def run(folder, *arguments, device="cpu", workers=0):
    command = [sys.executable, runs.__file__, str(folder), device, str(workers), *arguments]
    return subprocess.run(command, check=False).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run that nobody kills writes, by its device and the processes that read its data."""
    known = {}

    def lines_of(device, workers):
        if (device, workers) not in known:
            folder = tmp_path_factory.mktemp("whole")
            assert run(folder, device=device, workers=workers) == 0
            known[device, workers] = lines(folder)
        return known[device, workers]

    return lines_of


@pytest.mark.parametrize(
    ("device", "workers", "moments"),
    [
        pytest.param("cpu", 0, ["batch 1"], marks=pytest.mark.slow),
        ("cpu", 0, ["batch 13", "fsync 5"]),  # twice: the second time while a checkpoint is written
        ("cpu", 0, ["batch 10"]),  # while it validates
        ("cpu", 0, ["batch 3"]),  # before there is a checkpoint
        ("cpu", 0, ["replace 7", "batch 4"]),  # between a checkpoint and its index, or the index and the files
        pytest.param("cpu", 2, ["batch 20"], marks=pytest.mark.slow),
        ("cpu", 2, ["fsync 4", "replace 2", "batch 11"]),
    ],
)
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, whole, device, workers, moments):
    for moment in moments:
        assert run(tmp_path, moment, device=device, workers=workers) == -signal.SIGKILL
    assert run(tmp_path, device=device, workers=workers) == 0
    assert lines(tmp_path) == whole(device, workers)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # each start compiles all shaders again: minutes on a software driver
def test_a_killed_run_goes_on_on_wgpu(tmp_path, whole):
    assert run(tmp_path, "batch 13", device="wgpu") == -signal.SIGKILL
    assert run(tmp_path, device="wgpu") == 0
    # Each process times kernels and keeps the fastest, so that last digits differ. The gradient of a bias before a
    # BatchNorm is nothing but last digits, and Adam makes whole steps of it, which only the validation sees.
    for found, expected in zip(lines(tmp_path), whole("wgpu", 0), strict=True):
        trained = {name: value for name, value in expected.items() if not name.startswith("valid_")}
        assert {name: found[name] for name in trained} == pytest.approx(trained, rel=1e-5)
        assert found.get("valid_loss", 0.0) == pytest.approx(expected.get("valid_loss", 0.0), rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_runs_killed_at_random(tmp_path, whole, seed):
    random = Random(seed)
    for _ in range(random.randint(1, 4)):
        what = random.choice(["batch", "fsync", "replace"])
        assert run(tmp_path, f"{what} {random.randint(1, 12)}", workers=seed % 2) in (0, -signal.SIGKILL)
    assert run(tmp_path, workers=seed % 2) == 0
    assert lines(tmp_path) == whole("cpu", seed % 2)


OPTIMIZERS = sorted(name for name in building._OPTIMIZERS if name not in ("lbfgs", "muon", "sparseadam"))
SCHEDULES = {
    "StepLR": lambda optimizer: lr_scheduler.StepLR(optimizer, 1, 0.5),
    "MultiStepLR": lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [1, 2]),
    "ExponentialLR": lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.9),
    "CosineAnnealingLR": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 4),
    "CosineAnnealingWarmRestarts": lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2),
    "ReduceLROnPlateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=1.0),
    "OneCycleLR": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=40),
    "CyclicLR": lambda optimizer: lr_scheduler.CyclicLR(optimizer, 1e-4, 1e-2, 3, cycle_momentum=False),
    "LinearLR": lambda optimizer: lr_scheduler.LinearLR(optimizer, total_iters=3),
    "PolynomialLR": lambda optimizer: lr_scheduler.PolynomialLR(optimizer, 4),
    "LambdaLR": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step),
    "SequentialLR": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer, [lr_scheduler.ConstantLR(optimizer, 0.1), lr_scheduler.ExponentialLR(optimizer, 0.9)], [2]
    ),
}
SETTINGS = {
    "accumulate": {"accumulate": 3},
    "clipped": {"clip_norm": 0.5, "clip_value": 0.1},
    "bfloat16": {"precision": "bfloat16"},
    "float16": {"precision": "float16"},
    "averaged": {"callbacks": [lambda: train.EMA(0.8)], "accumulate": 2},
    "recomputed": {"recompute": ["0"]},
    "groups": {"groups": {"4.*": {"lr": 0.1}}, "lr_scheduler": SCHEDULES["StepLR"]},
    "patient": {"callbacks": [lambda: train.EarlyStopping("valid_loss", patience=2, min_delta=0.02)]},
}
CASES = [{"optimizer": name} for name in OPTIMIZERS]
CASES += [{"lr_scheduler": make} for make in SCHEDULES.values()]
CASES += list(SETTINGS.values())
NAMES = [*OPTIMIZERS, *SCHEDULES, *SETTINGS]


CASES += [pytest.param({"device": "wgpu", "accumulate": 3}, marks=pytest.mark.slow)]


@pytest.mark.parametrize("options", CASES, ids=[*NAMES, "wgpu"])
def test_every_setting_goes_on_bit_for_bit(tmp_path, options):
    """The new learner knows nothing but the files, as after a kill within the second and within the third epoch."""

    def made(folder):
        callbacks = [make() for make in options.get("callbacks", [])]
        callbacks.append(train.Checkpoints(train.KeepLast(2), every=3))
        return runs.learner(folder, checkpoints=None, **{**options, "callbacks": callbacks})

    runs.fit(made(tmp_path / "whole"))
    for batches in (16, 17):  # since the checkpoint of batch 6 of the second epoch, then of batch 6 of the third
        part = made(tmp_path / "part")
        count_down(part, batches)
        with contextlib.suppress(MemoryError):
            runs.fit(part, resume=True)
    runs.fit(made(tmp_path / "part"), resume=True)
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")


def stop():
    raise MemoryError


def count_down(learner, batches, then=stop):
    left = iter([*[None] * (batches - 1), 1])
    learner.on("after_batch", lambda learner: learner.training and next(left, None) and then())


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


class Noisy(pyburn.utils.data.Dataset):
    """Samples with noise from a generator of the dataset's own."""

    def __init__(self, rng):
        self.rng, (self.inputs, self.classes, _) = rng, runs.problem()

    def __len__(self):
        return 64

    def __getitem__(self, index):
        noise = self.rng.random() if hasattr(self.rng, "random") else pyburn.rand((), generator=self.rng).item()
        return self.inputs[index] + noise, self.classes[index]


def seeded():
    return pyburn.Generator().manual_seed(9)


data = pyburn.utils.data
SOURCES = {
    "sampler": lambda plain: data.DataLoader(plain, 8, sampler=data.RandomSampler(plain, generator=seeded())),
    "weights": lambda plain: data.DataLoader(
        plain, 8, sampler=data.WeightedRandomSampler([1.0] * 64, 64, generator=seeded())
    ),
    "batches": lambda plain: data.DataLoader(
        plain, batch_sampler=data.BatchSampler(data.RandomSampler(plain, generator=seeded()), 8, False)
    ),
    "numpy": lambda plain: data.DataLoader(Noisy(np.random.default_rng(3)), 8, shuffle=True),
    "python": lambda plain: data.DataLoader(data.Subset(Noisy(Random(3)), range(64)), 8, shuffle=True),
    "pyburn": lambda plain: data.DataLoader(data.ConcatDataset([Noisy(seeded())]), 8, shuffle=True),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_random_numbers_goes_on(tmp_path, source):
    inputs, classes, valid = runs.problem()
    plain = data.TensorDataset(inputs[:64], classes[:64])

    def made(folder):
        return runs.learner(folder, checkpoints=None, callbacks=[train.Checkpoints(every=3)])

    made(tmp_path / "whole").fit(SOURCES[source](plain), valid, 3)
    part = made(tmp_path / "part")
    count_down(part, 13)
    with pytest.raises(MemoryError):
        part.fit(SOURCES[source](plain), valid, 3)
    made(tmp_path / "part").fit(SOURCES[source](plain), valid, 3, resume=True)
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")


class Counting(pyburn.nn.Module):
    """A module that logs metrics of its own, as Lightning's do."""

    def __init__(self):
        super().__init__()
        self.layers = runs.model()
        self.right, self.valid_right = train.metrics.Accuracy(), train.metrics.Accuracy()

    def training_step(self, batch, batch_idx):
        output = self.layers(batch[0])
        self.right.update(output, batch[1])
        self.log("train_right", self.right)
        return pyburn.nn.functional.cross_entropy(output, batch[1])

    def validation_step(self, batch, batch_idx):
        self.valid_right.update(self.layers(batch[0]), batch[1])
        self.log("valid_right", self.valid_right)


@pytest.mark.parametrize("batches", [5, 9, 13])
def test_metrics_of_a_module_go_on(tmp_path, batches):
    def made(folder):
        kept = train.Checkpoints(every=3)
        return train.Learner(Counting(), folder=folder, renderer=None, seed=5, checkpoints=None, callbacks=[kept])

    runs.fit(made(tmp_path / "whole"), 3)
    part = made(tmp_path / "part")
    count_down(part, batches)
    with pytest.raises(MemoryError):
        runs.fit(part, 3)
    runs.fit(made(tmp_path / "part"), 3, resume=True)
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")


def losses_of(learner):
    seen = []
    learner.on("after_batch", lambda learner: learner.training and seen.append((learner.epoch, learner.batch.value)))
    return seen


def test_a_state_that_is_loaded_by_hand_goes_on():
    whole, part, again = (runs.learner(False) for _ in range(3))
    losses, rest, kept = losses_of(whole), losses_of(again), []
    inputs, classes, valid = runs.problem()
    loaders = [
        data.DataLoader(data.TensorDataset(inputs, classes), 8, shuffle=True, generator=seeded()) for _ in range(3)
    ]
    whole.fit(loaders[0], valid, 2)
    count_down(part, 15, lambda: kept.append(part.state_dict()) or stop())
    with pytest.raises(MemoryError):
        part.fit(loaders[1], valid, 2)
    again.load_state_dict(kept[0])
    again.fit(loaders[2], valid, 1)
    assert rest == losses[15:]


def test_a_broken_epoch_begins_anew_without_resume():
    made = runs.learner(False, accumulate=3)
    count_down(made, 5)
    with pytest.raises(MemoryError):
        runs.fit(made, 1)
    numbers = []
    made.on("after_batch", lambda learner: learner.training and numbers.append(learner.batch.index))
    runs.fit(made, 1)
    assert numbers == list(range(8))
    assert made.history[-1]["step"] == made.step == 1 + 3


def test_the_same_learner_goes_on_after_an_interrupt_in_validation(tmp_path, capfd):
    made = runs.learner(tmp_path)
    runs.stop_at(made, 10, signal.SIGINT)
    runs.fit(made)
    assert made.interrupted
    assert made.split == "valid"
    assert len(runs.fit(made, 2)) == 2
    capfd.readouterr()


def test_a_spoiled_index_is_read_from_the_checkpoints(tmp_path):
    keep = train.KeepLast(2) | train.KeepBest("valid_loss")
    runs.fit(runs.learner(tmp_path, checkpoints=keep), 3)
    index = tmp_path / "checkpoints" / "index.json"
    whole = index.read_text()
    known = checkpoints.read_index(index.parent)
    index.write_text(whole[: len(whole) // 2])
    assert checkpoints.read_index(index.parent) == known
    index.write_bytes(b"")
    history = runs.fit(runs.learner(tmp_path, checkpoints=keep), 4, resume=True)
    assert [line["epoch"] for line in history] == [1, 2, 3, 4]


def test_resume_without_a_checkpoint_starts(tmp_path):
    assert len(runs.fit(runs.learner(tmp_path), 2, resume=True)) == 2


def test_resume_from_the_folder_of_another_run(tmp_path):
    runs.fit(runs.learner(tmp_path / "old"), 2)
    made = runs.learner(tmp_path / "new")
    assert len(runs.fit(made, 3, resume=tmp_path / "old")) == 3
    assert made.folder.path == tmp_path / "new"
    with pytest.raises(FileNotFoundError, match="there is no checkpoint in that folder"):
        runs.fit(runs.learner(False), 3, resume=tmp_path)


def test_resume_within_an_epoch_needs_its_metrics(tmp_path):
    part = runs.learner(tmp_path, checkpoints=None, callbacks=[train.Checkpoints(every=3)])
    count_down(part, 5)
    with pytest.raises(MemoryError):
        runs.fit(part)
    with pytest.raises(ValueError, match=r"a run with 1 metrics .* and this one has 2; resume with the same"):
        runs.fit(runs.learner(tmp_path, metrics=["accuracy"]), resume=True)


def test_weights_are_no_checkpoint(tmp_path):
    pyburn.save(runs.model().state_dict(), tmp_path / "weights.pt")
    with pytest.raises(ValueError, match="no checkpoint of a Learner"):
        runs.fit(runs.learner(tmp_path), resume=Path(tmp_path / "weights.pt"))


SLOW = """
import pyburn
from pyburn import nn, train

class Slow(nn.Linear):
    def forward(self, x):
        print("in the batch", flush=True)
        for _ in range(10**7):
            super().forward(x)
        print("out of the batch", flush=True)
        return super().forward(x)

learner = train.Learner(Slow(3, 1), nn.MSELoss(), "sgd", lr=0.1, folder=False, renderer=None)
learner.fit((pyburn.ones(4, 3), pyburn.ones(4, 1)), epochs=1)
"""


def test_ctrl_c_twice_in_a_terminal():
    """As a person does it: the keys go through a terminal to a process that is amid a batch of minutes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    seen = b""
    try:
        for awaited in (b"in the batch", b"Stopping after this batch; press Ctrl-C again to stop at once."):
            while awaited not in seen:
                seen += os.read(ours, 4096)
            os.write(ours, b"\x03")
        with contextlib.suppress(OSError):  # the end of a terminal whose process is gone
            while part := os.read(ours, 4096):
                seen += part
        assert process.wait() == -signal.SIGINT
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"KeyboardInterrupt" in seen
    assert b"out of the batch" not in seen
