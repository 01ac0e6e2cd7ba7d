"""Trains a small convolutional network on handwritten digits, saves it, loads it again and predicts.

The 1,797 images of 8x8 pixels come with scikit-learn. Run it with `make demo`, or:

    python examples/digits_cnn.py --device cpu --epochs 12
"""

import argparse
import sys
import time
from pathlib import Path

import matplotlib
import pyburn as torch
from pyburn import nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.nn import functional as F
from pyburn.safetensors import load_file, save_file
from sklearn.datasets import load_digits

matplotlib.use("Agg")  # before pyplot: there may be no screen
import matplotlib.pyplot as plt


class DigitsCNN(nn.Module):
    """Two convolutions and a pooling twice, then two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, 16, 4, 4)
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, 32, 2, 2)
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),  # (B, 128)
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        """Ten scores for each image of (B, 1, 8, 8)."""
        return self.classifier(self.features(x))


def load_data():
    """Images as (N, 1, 8, 8) floats from 0 to 1, labels as integers: 1,437 to train and 360 to test."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16.0
    labels = torch.from_numpy(digits.target).long()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    images, labels = images[order], labels[order]
    return TensorDataset(images[:1437], labels[:1437]), TensorDataset(images[1437:], labels[1437:])


def progress(done, total, text):
    """Draws a bar over the line before; where that cannot be seen, in a file, only the last one."""
    if not sys.stdout.isatty() and done < total:
        return
    filled = 30 * done // total
    sys.stdout.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {text}")
    sys.stdout.flush()


def train(model, data, epochs, device):
    """The loss of each step."""
    loader = DataLoader(data, batch_size=64, shuffle=True)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(loader))
    losses = []
    model.train()
    for epoch in range(epochs):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            progress(len(losses), epochs * len(loader), f"epoch {epoch + 1}/{epochs}  loss {losses[-1]:.4f}")
    print()
    return losses


@torch.no_grad()
def predict(model, images, device):
    """The digit and its probability for each image."""
    model.eval()
    probabilities = F.softmax(model(images.to(device)), dim=1).cpu()
    best = probabilities.max(dim=1)
    return best.indices, best.values


def draw_losses(losses, path):
    """Writes the loss curve as a picture."""
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(losses, color="tab:orange", linewidth=1)
    axes.set(xlabel="step", ylabel="cross entropy", yscale="log", title="Training loss")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_predictions(images, labels, digits, certainty, path):
    """Writes a grid of test images with their predictions, mistakes in red, as a picture."""
    figure, grid = plt.subplots(4, 8, figsize=(9, 5.4))
    for i, axes in enumerate(grid.flat):
        axes.imshow(images[i, 0].tolist(), cmap="gray_r")
        right = digits[i].item() == labels[i].item()
        axes.set_title(f"{digits[i].item()} ({certainty[i].item():.0%})", color="black" if right else "red", fontsize=9)
        axes.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="one epoch, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("demo_out"), help="where the model and pictures go")
    args = parser.parse_args()
    epochs = 1 if args.quick else args.epochs

    torch.manual_seed(0)
    train_data, test_data = load_data()
    model = DigitsCNN().to(args.device)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(train_data)} images to train, {len(test_data)} to test, {parameters} parameters, on {args.device}")

    start = time.perf_counter()
    losses = train(model, train_data, epochs, args.device)
    print(f"trained in {time.perf_counter() - start:.1f} s")

    args.out.mkdir(exist_ok=True)
    save_file(model.state_dict(), args.out / "digits_cnn.safetensors")
    loaded = DigitsCNN().to(args.device)
    loaded.load_state_dict(load_file(args.out / "digits_cnn.safetensors"))

    images, labels = test_data.tensors
    digits, certainty = predict(loaded, images, args.device)
    accuracy = (digits == labels).float().mean().item()
    print(f"test accuracy of the saved and reloaded model: {accuracy:.1%}")
    draw_losses(losses, args.out / "loss.png")
    draw_predictions(images, labels, digits, certainty, args.out / "predictions.png")
    print(f"wrote {args.out}/digits_cnn.safetensors, loss.png and predictions.png")
    if not args.quick and accuracy <= 0.97:
        raise SystemExit("the accuracy is not above 97 %: something is wrong")


if __name__ == "__main__":
    main()
