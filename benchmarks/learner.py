"""What the Learner costs over a loop that is written by hand: both train the same model on the same data, in turns.

`python benchmarks/learner.py [--rounds 6] [--repeats 12] [--twice]`: part of `make bench`. The bar is 3 % of processor
time on one thread. Two loops by hand differ by as much on a clock of the wall (`--twice` compares one with itself),
so that one stands beside it, for what waits for the disk. Both share a model, since it matters where weights lie in
memory, take turns in going first, and each row is the middle of many short runs with new models.
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


Seconds = tuple[float, float]


def clocks() -> Seconds:
    """The processor's time of all threads, and the wall's."""
    return time.process_time(), time.perf_counter()


def compared(side: int, folder: Any, rounds: int, twice: bool) -> list[tuple[Seconds, Seconds]]:
    """Seconds of each epoch by hand and by a Learner (or by hand `twice`), by both clocks.

    Both take turns within one run of the Learner, so that what else the machine does hurts both alike.
    """
    data, model = loaders(side), network(side)
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=1e-3)
    epoch = by_hand(model, optimizer, data, folder)
    times: list[tuple[Seconds, Seconds]] = []

    def in_turns(learner: train.Learner) -> None:
        left = learner.epochs_left()

        def learned() -> None:
            next(left)  # ends the epoch before, with all that its end brings, and begins this one
            learner.train_epoch()
            learner.validate()

        pair = (epoch, epoch if twice else learned)
        for number in range(rounds + 2):
            seconds = [(0.0, 0.0), (0.0, 0.0)]
            for which in (0, 1) if number % 2 else (1, 0):
                began = clocks()
                pair[which]()
                ended = clocks()
                seconds[which] = ended[0] - began[0], ended[1] - began[1]
            times.append((seconds[0], seconds[1]))

    settings: dict[str, Any] = {"metrics": ["accuracy"], "folder": folder, "renderer": None, "strategy": in_turns}
    train.Learner(model, nn.CrossEntropyLoss(), optimizer, **settings).fit(*data, epochs=rounds + 3)
    return times[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--twice", action="store_true", help="the loop by hand against itself")
    options = parser.parse_args()
    pyburn.set_num_threads(1)
    pyburn.manual_seed(1)
    print(f"{'an epoch of 48 batches of 32':44} {'by hand ms':>11} {'Learner ms':>11} {'ratio':>7} {'wall':>7}")
    for side in (28, 8):
        for files in (False, True):
            times: list[tuple[Seconds, Seconds]] = []
            for _ in range(options.repeats):
                with tempfile.TemporaryDirectory() as folder:
                    times += compared(side, folder if files else False, options.rounds, options.twice)
            hand, learned = (statistics.median(each[which][0] for each in times) * 1e3 for which in (0, 1))
            ratio, wall = (statistics.median(b[clock] / a[clock] for a, b in times) for clock in (0, 1))
            name = f"images of {side}x{side}, {'files, report, checkpoints' if files else 'no files'}"
            verdict = f"bar {BAR}: {'held' if ratio <= BAR else 'MISSED'}"
            print(f"{name:44} {hand:11.1f} {learned:11.1f} {ratio:7.3f} {wall:7.3f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
