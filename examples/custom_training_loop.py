"""Trains without the Learner: every line of the loop is yours (burn's custom-training-loop).

A wide and a narrow learning rate for two parts of a network, gradients clipped by hand, and an accuracy that is counted
by hand. The digits come with scikit-learn.

    python examples/custom_training_loop.py
"""

import argparse

import pyburn as torch
from pyburn import nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.nn import functional as F
from sklearn.datasets import load_digits


class Network(nn.Module):
    """A convolution that looks at the image, and a linear layer that decides."""

    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 32, 3, padding=1)
        self.decide = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        """(B, 1, 8, 8) images to (B, 10) scores."""
        x = F.max_pool2d(F.relu(self.look(x)), 2)  # (B, 32, 4, 4)
        return self.decide(x.flatten(1))


def load_data():
    """Loaders of the digits: 1,437 to train, 360 to test."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16.0
    data = TensorDataset(images, torch.from_numpy(digits.target).long())
    train, test = torch.utils.data.random_split(data, [1437, 360], torch.Generator().manual_seed(0))
    return DataLoader(train, 64, shuffle=True), DataLoader(test, 256)


@torch.no_grad()
def accuracy(model, loader, device):
    """The share of images that the model names rightly."""
    model.eval()
    right = sum((model(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="one epoch, to see that it runs")
    args = parser.parse_args()
    epochs = 1 if args.quick else args.epochs

    torch.manual_seed(0)
    train, test = load_data()
    model = Network().to(args.device)
    optimizer = optim.SGD(
        [{"params": model.look.parameters(), "lr": 0.02}, {"params": model.decide.parameters(), "lr": 0.1}],
        momentum=0.9,
    )
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for images, labels in train:
            loss = F.cross_entropy(model(images.to(args.device)), labels.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            for weight in model.parameters():
                weight.grad.clamp_(-0.1, 0.1)
            optimizer.step()
            total += loss.item() * len(labels)
        mean = total / len(train.dataset)
        print(f"epoch {epoch + 1}/{epochs}: loss {mean:.4f}, accuracy {accuracy(model, test, args.device):.1%}")
    if not args.quick and accuracy(model, test, args.device) <= 0.95:
        raise SystemExit("the accuracy is not above 95 %: something is wrong")


if __name__ == "__main__":
    main()
