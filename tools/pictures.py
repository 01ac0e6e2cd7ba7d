"""Makes the pictures of docs/images/ anew from a real run on scikit-learn's digits: `python tools/pictures.py`.

Needs chromium for the picture of the report, and textual for that of the dashboard.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyburn
from pyburn import nn, train
from pyburn.train.renderers.board import Board
from pyburn.train.renderers.dashboard import Dashboard
from sklearn.datasets import load_digits

IMAGES = Path(__file__).parents[1] / "docs" / "images"


class Settings(train.Config):
    """What the run may change."""

    width: int = 16
    lr: float = 3e-3


class Residual(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        """The same shape."""
        y = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(y)) + x).relu()


class DigitsNet(nn.Module):
    """A small network with a skip connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.block, self.pool = Residual(width), nn.MaxPool2d(2)
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(width * 16, 10)

    def forward(self, x: Any) -> Any:
        """Scores of ten classes."""
        x = self.pool(self.block(self.stem(x)))  # (B, C, 4, 4)
        return self.head(self.drop(x.flatten(1)))


def learner(folder: str) -> tuple[train.Learner, Any, Any]:
    """A Learner, its training and its validation data."""
    digits, config = load_digits(), Settings()
    pyburn.manual_seed(0)
    order = pyburn.randperm(len(digits.target))
    images = pyburn.tensor(digits.images / 16.0).float().unsqueeze(1)[order]
    classes = pyburn.tensor(digits.target).long()[order]
    schedule = lambda optimizer: pyburn.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)  # noqa: E731
    made = train.Learner(
        DigitsNet(config.width),
        nn.CrossEntropyLoss(),
        "adamw",
        schedule,
        lr=config.lr,
        metrics=["accuracy", "f1"],
        config=config,
        seed=0,
        folder=folder,
        renderer=None,
    )
    return made, (images[:1400], classes[:1400]), (images[1400:], classes[1400:])


def report(folder: str) -> None:
    """Nothing; the pictures of a run's report and of its model are written."""
    made, training, validation = learner(f"{folder}/digits")
    made.fit(training, validation, epochs=20)
    page = Path(folder, "digits", "report.html").resolve().as_uri()
    size = "--window-size=1200,2420"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size]
    subprocess.run([*command, f"--screenshot={IMAGES / 'report.png'}", page], check=True, capture_output=True)
    pyburn.plot(made.model, (1, 1, 8, 8), IMAGES / "graph.svg")


async def dashboard(folder: str) -> None:
    """Nothing; the picture of a run that stands still in its thirteenth epoch is written."""
    made, training, validation = learner(f"{folder}/digits-live")
    board = Board()
    made.events.add(board)

    def work() -> None:
        made.fit(training, validation, epochs=20)
        board.finished.set()

    def stand_still(learner: train.Learner) -> None:
        if learner.training and learner.epoch == 13 and learner.batches_done == 20:
            board.pause()

    made.on("after_batch", stand_still)
    app = Dashboard(board, work)
    async with app.run_test(size=(124, 38)) as pilot:
        while not board.waiting.is_set():
            await pilot.pause(0.2)
        app.measure()
        app.refresh_all()
        await pilot.pause()
        drawn = re.sub(
            r"@font-face \{.*?\}", "", app.export_screenshot(title="pyburn"), flags=re.DOTALL
        )  # from the web
        (IMAGES / "dashboard.svg").write_text(drawn)
        board.stop()
        while not board.finished.is_set():
            await pilot.pause(0.1)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        report(place)
        asyncio.run(dashboard(place))
