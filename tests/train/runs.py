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


if __name__ == "__main__":
    run = learner(
        sys.argv[1],
        accumulate=3,
        callbacks=[train.EMA(0.9)],
        lr_scheduler=lambda optimizer: pyburn.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=40),
        checkpoints=train.KeepLast(2),
    )
    if len(sys.argv) > 2:
        stop_at(run, int(sys.argv[2]), signal.SIGKILL)
    fit(run, resume=True)
