"""Trains a convolutional network on Fashion-MNIST to more than 91 %, with checkpoints and pictures (burn's mnist).

The 70,000 images of clothes are read from Debian's package `dataset-fashion-mnist`, or from any folder with the four
files. The full run takes a few minutes on two cores.

    python examples/mnist.py
    python examples/mnist.py --data folder/with/fashion-mnist --device wgpu
"""

import argparse
import time
from pathlib import Path

import pyburn as torch
from pyburn import nn, train
from pyburn.optim.lr_scheduler import OneCycleLR
from pyburn.vision.datasets import FashionMNIST

CLASSES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]


class Settings(train.Config):
    """What a run can change; written into its folder."""

    width: int = 24
    epochs: int = 5
    batch_size: int = 128
    lr: float = 6e-3
    dropout: float = 0.25
    seed: int = 0


class Net(nn.Module):
    """Two pairs of convolutions, each pair at half the size of the one before, then two linear layers."""

    def __init__(self, width, dropout):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, width, 14, 14)
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, 2 * width, 7, 7)
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),  # (B, 98 * width)
            nn.Dropout(dropout),
            nn.Linear(98 * width, 128),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(128, 10),
        )

    def forward(self, x):
        """Ten scores for each image of (B, 1, 28, 28)."""
        return self.classifier(self.features(x))


def load(folder, training, count=None):
    """The images as (N, 1, 28, 28) floats around zero, and their classes."""
    data = FashionMNIST(folder, train=training)
    images = data.data[:count].unsqueeze(1).float() / 255.0
    return (images - 0.2860) / 0.3530, data.targets[:count]


class Flip(train.Callback):
    """Half of the images of each training batch are mirrored: a shoe is a shoe from both sides."""

    def before_batch(self, learner):
        """Nothing; the batch has its mirrored images."""
        if learner.training:
            images, classes = learner.data
            mirrored = torch.rand(len(images), 1, 1, 1).to(images.device) < 0.5
            learner.data = torch.where(mirrored, images.flip(-1), images), classes


def draw(learner, images, classes, path):
    """Nothing; a picture at `path` shows the accuracy of each epoch, and the mistakes that the model is surest of."""
    import matplotlib

    matplotlib.use("Agg")  # before pyplot: there may be no screen
    import matplotlib.pyplot as plt

    certainty, found = learner.predict(images).softmax(1).cpu().max(1)
    wrong = [i for i in certainty.argsort(descending=True).tolist() if found[i] != classes[i]][:10]
    figure = plt.figure(figsize=(10, 3.6))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.6])
    axes = left.subplots()
    for split in ("train", "valid"):
        axes.plot(
            [line["epoch"] for line in learner.history],
            [line[f"{split}_accuracy"] for line in learner.history],
            marker="o",
            label=split,
        )
    axes.set(xlabel="epoch", ylabel="accuracy")
    axes.legend()
    for i, cell in zip(wrong, right.subplots(2, 5).flat):
        cell.imshow(images[i, 0].tolist(), cmap="gray_r")
        cell.set_title(f"{CLASSES[found[i]]}?\n{CLASSES[classes[i]]}", fontsize=8)
        cell.axis("off")
    left.subplots_adjust(left=0.2, bottom=0.2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="the folder of the four files")
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--quick", action="store_true", help="a little data and a small model, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("runs/mnist"), help="the folder of the run")
    args = parser.parse_args()

    settings = Settings(width=8, epochs=1) if args.quick else Settings()
    torch.manual_seed(settings.seed)
    train_data = load(args.data, True, 2000 if args.quick else None)
    test_data = load(args.data, False, 500 if args.quick else None)
    steps = settings.epochs * -(-len(train_data[0]) // settings.batch_size)
    learner = train.Learner(
        Net(settings.width, settings.dropout),
        nn.CrossEntropyLoss(),
        lambda weights: torch.optim.AdamW(weights, lr=settings.lr, weight_decay=1e-2),
        lr_scheduler=lambda optimizer: OneCycleLR(optimizer, settings.lr, total_steps=steps),
        metrics=["accuracy"],
        device=args.device,
        callbacks=[Flip()],
        folder=args.out,
        config=settings,
        seed=settings.seed,
    )
    start = time.perf_counter()
    learner.fit(train_data, test_data, settings.epochs, batch_size=settings.batch_size)
    seconds = time.perf_counter() - start

    accuracy = learner.evaluate(test_data)["accuracy"]
    draw(learner, *test_data, args.out / "mistakes.png")
    learner.save(args.out / "model.safetensors")
    print(f"test accuracy {accuracy:.1%} after {seconds:.0f} s; the run is in {args.out}")
    if not args.quick and accuracy < 0.91:
        raise SystemExit("the accuracy is below 91 %: something is wrong")


if __name__ == "__main__":
    main()
