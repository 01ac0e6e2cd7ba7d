"""A small run that the tests of training share; as a script it trains until it is killed or done."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pyburn
from pyburn import nn, train


def problem() -> tuple[Any, Any, Any]:
    """Inputs and classes that a small network learns, drawn from a generator of their own."""
    generator = pyburn.Generator().manual_seed(3)
    inputs = pyburn.randn(96, 8, generator=generator)
    classes = (inputs[:, :4].sum(1) > 0).long() + (inputs[:, 4] > 0.5).long()
    return inputs, classes, (inputs[64:], classes[64:])


def model() -> nn.Module:
    pyburn.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))


def learner(folder: Any, **options: Any) -> train.Learner:
    usual: dict[str, Any] = {"optimizer": "adam", "lr": 0.01, "renderer": None, "seed": 5, "folder": folder}
    return train.Learner(model(), nn.CrossEntropyLoss(), **{**usual, **options})


def fit(made: train.Learner, epochs: int = 4, **options: Any) -> list[dict[str, Any]]:
    inputs, classes, valid = problem()
    return made.fit((inputs[:64], classes[:64]), valid, epochs, batch_size=8, **options)


def fit_here(made: train.Learner, epochs: int = 4) -> None:
    """Nothing; the run went on in this thread, whatever shows it."""
    board, made.board = made.board, None
    try:
        fit(made, epochs)
    finally:
        made.board = board


def stop_at(made: train.Learner, batches: int, number: int) -> None:
    """Nothing; the process gets the signal `number` when it has trained so many batches."""
    seen = [0]

    def count(learner: train.Learner) -> None:
        seen[0] += 1
        if seen[0] == batches:
            os.kill(os.getpid(), number)

    made.on("after_batch", count)


def kill_at(made: train.Learner, moment: str) -> None:
    """Nothing; the process is killed at the named moment, such as "batch 13", "fsync 2" or "replace 3"."""
    what, _, count = moment.partition(" ")
    if what == "batch":
        stop_at(made, int(count), signal.SIGKILL)
        return
    usual, seen = getattr(os, what), [0]

    def counted(*arguments: Any) -> Any:
        seen[0] += 1
        if seen[0] == int(count):
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(*arguments)

    setattr(os, what, counted)


def loader(workers: int) -> Any:
    """Batches in a random order, read by processes of their own."""
    inputs, classes, _ = problem()
    data = pyburn.utils.data.TensorDataset(inputs[:64], classes[:64])
    return pyburn.utils.data.DataLoader(data, 8, shuffle=True, num_workers=workers)


if __name__ == "__main__":
    place, device, workers, *moments = sys.argv[1:]
    pyburn.use_deterministic_algorithms(True)  # on a GPU, operations are merged by what the process did before
    run = learner(
        place,
        device=device,
        accumulate=3,
        callbacks=[train.EMA(0.9), train.Checkpoints(train.KeepLast(2), every=3)],
        lr_scheduler=lambda optimizer: pyburn.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=40),
        metrics=["accuracy", "auroc"],
        checkpoints=None,
    )
    for each in moments:
        kill_at(run, each)
    run.fit(loader(int(workers)), problem()[2], 3, batch_size=8, resume=True)
