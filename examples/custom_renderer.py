"""Shows a run in your own way: a plot of the losses, drawn with characters (burn's custom-renderer).

A renderer is a callback like any other: it has a method for each event that it cares about. The digits come with
scikit-learn.

    python examples/custom_renderer.py
"""

import argparse
import sys

import pyburn as torch
from pyburn import nn, train
from sklearn.datasets import load_digits


class Plot(train.Callback):
    """Draws the losses of all epochs after each epoch, over the plot before where the terminal can."""

    def __init__(self, width=60, height=12, file=None):
        self.width, self.height, self.file = width, height, file or sys.stdout
        self.drawn = False

    def after_epoch(self, learner):
        """Nothing; the plot has one more point on each line."""
        lines = [[line[name] for line in learner.history] for name in ("train_loss", "valid_loss")]
        if self.drawn and self.file.isatty():
            self.file.write(f"\x1b[{self.height + 2}F")
        self.file.write(self.draw(learner, *lines))
        self.file.flush()
        self.drawn = True

    def draw(self, learner, train_losses, valid_losses):
        """The picture: `*` for training, `o` for validation."""
        highest = max(train_losses + valid_losses)
        cells = [[" "] * self.width for _ in range(self.height)]
        for mark, losses in (("*", train_losses), ("o", valid_losses)):
            for epoch, loss in enumerate(losses):
                column = epoch * (self.width - 1) // max(learner.last_epoch - 1, 1)
                row = round((1 - loss / highest) * (self.height - 1))
                cells[row][column] = mark
        rows = [f"{highest * (1 - i / (self.height - 1)):6.3f} |{''.join(row)}" for i, row in enumerate(cells)]
        title = f"epoch {learner.epoch}/{learner.last_epoch}   * train   o valid"
        return "\n".join([title, *rows, " " * 7 + "+" + "-" * self.width]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two epochs, to see that it runs")
    args = parser.parse_args()

    torch.manual_seed(0)
    digits = load_digits()
    x, y = torch.from_numpy(digits.data).float() / 16.0, torch.from_numpy(digits.target).long()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    learner = train.Learner(
        model, nn.CrossEntropyLoss(), "adam", lr=1e-3, device=args.device, renderer=Plot(), folder=False
    )
    learner.fit((x[:1437], y[:1437]), (x[1437:], y[1437:]), epochs=2 if args.quick else args.epochs)


if __name__ == "__main__":
    main()
