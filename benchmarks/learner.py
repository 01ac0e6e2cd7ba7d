"""What the Learner costs over a loop that is written by hand: both train the same model on the same data, in turns.

`python benchmarks/learner.py [--rounds 15] [--repeats 5] [--cpu]`: part of `make bench`. The bar is 3 %. Two loops by
hand that have a model each differ by as much, since it matters where the weights happen to lie in memory: so both share
one, and each row is the middle of several runs with new models.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import nn, train
from pyburn.data import DataLoader, TensorDataset

BAR = 1.03
BATCHES, SIZE = 40, 32


def network(side: int) -> nn.Module:
    """The network of the example `digits_cnn.py`, for images of that size: 8 is digits, 28 is Fashion-MNIST."""
    pyburn.manual_seed(0)
    features = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    features += [nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)]
    wide = 32 * (side // 4) ** 2
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(wide, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))


def loaders(side: int) -> tuple[DataLoader, DataLoader]:
    """Random images and classes: forty batches to train on, eight to validate."""
    made = []
    for batches in (BATCHES, BATCHES // 5):
        images, classes = pyburn.randn(batches * SIZE, 1, side, side), pyburn.randint(0, 10, (batches * SIZE,))
        made.append(DataLoader(TensorDataset(images, classes), SIZE, shuffle=batches == BATCHES))
    return made[0], made[1]


def by_hand(model: nn.Module, optimizer: Any, data: tuple[Any, Any], folder: str | bool) -> Callable[[], None]:
    """One epoch as people write it: the mean loss and the accuracy of both halves, a stop where the loss is no number.

    With a folder it also writes a line for each batch, and a checkpoint that a crash cannot spoil.
    """
    lines = open(f"{folder}/by_hand.jsonl", "a") if folder else None  # noqa: SIM115
    loss_of = nn.CrossEntropyLoss()

    def epoch() -> None:
        for training, loader in ((True, data[0]), (False, data[1])):
            model.train(training)
            total, right, count = 0.0, 0, 0
            with pyburn.set_grad_enabled(training):
                for images, classes in loader:
                    output = model(images)
                    loss = loss_of(output, classes)
                    if training:
                        loss.backward()
                        optimizer.step()
                        optimizer.zero_grad()
                    value = loss.item()
                    if value != value:
                        raise ArithmeticError("the loss is NaN")
                    if training and lines is not None:
                        lines.write(json.dumps({"loss": value}) + "\n")
                    total += value * len(classes)
                    right += (output.argmax(1) == classes).sum().item()
                    count += len(classes)

        if folder:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            pyburn.save(state, f"{folder}/new.pt")
            os.replace(f"{folder}/new.pt", f"{folder}/last.pt")

    return epoch


def compared(side: int, folder: Any, rounds: int, clock: Callable[[], float]) -> list[tuple[float, float]]:
    """Seconds of each epoch by hand and by a Learner.

    Both take turns within one run of the Learner, so that what else the machine does hurts both alike.
    """
    data, model = loaders(side), network(side)
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=1e-3)
    epoch = by_hand(model, optimizer, data, folder)
    times: list[tuple[float, float]] = []

    def in_turns(learner: train.Learner) -> None:
        left = learner.epochs_left()
        for _ in range(rounds + 2):
            began = clock()
            epoch()
            middle = clock()
            next(left)  # ends the epoch before, with all that its end brings, and begins this one
            learner.train_epoch()
            learner.validate()
            times.append((middle - began, clock() - middle))

    settings: dict[str, Any] = {"metrics": ["accuracy"], "folder": folder, "renderer": None, "strategy": in_turns}
    train.Learner(model, nn.CrossEntropyLoss(), optimizer, **settings).fit(*data, epochs=rounds + 3)
    return times[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="count processor time: for one thread on a busy machine")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    pyburn.manual_seed(1)
    print(f"{'an epoch of 48 batches of 32':40} {'by hand ms':>11} {'Learner ms':>11} {'ratio':>7}")
    for side in (28, 8):
        for files in (False, True):
            times: list[tuple[float, float]] = []
            for _ in range(options.repeats):
                with tempfile.TemporaryDirectory() as folder:
                    times += compared(side, folder if files else False, options.rounds, clock)
            hand, learned = (statistics.median(column) for column in zip(*times, strict=True))
            ratio = statistics.median(after / before for before, after in times)
            name = f"images of {side}x{side}, {'files, report, checkpoints' if files else 'no files'}"
            verdict = f"bar {BAR}: {'held' if ratio <= BAR else 'MISSED'}"
            print(f"{name:40} {hand * 1e3:11.1f} {learned * 1e3:11.1f} {ratio:7.3f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
