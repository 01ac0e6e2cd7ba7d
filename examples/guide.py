"""The first steps: a model, data, training, a saved file, and an answer for one image (burn's guide).

Each part is one function; read them from top to bottom. The images are the clothes of Fashion-MNIST, from Debian's
package `dataset-fashion-mnist` or any folder with its four files.

    python examples/guide.py
"""

import argparse
from pathlib import Path

import pyburn as torch
from pyburn import nn, train
from pyburn.data import Dataset
from pyburn.safetensors import load_file, save_file
from pyburn.vision.datasets import FashionMNIST


class Model(nn.Module):
    """1. A model is a class: layers in `__init__`, what they do in `forward`."""

    def __init__(self, hidden=128):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.AdaptiveAvgPool2d((8, 8))
        self.dropout = nn.Dropout(0.3)
        self.linear1 = nn.Linear(16 * 8 * 8, hidden)
        self.linear2 = nn.Linear(hidden, 10)

    def forward(self, images):
        """Ten scores for each image."""
        x = images.unsqueeze(1)  # (B, 1, 28, 28)
        x = self.dropout(self.conv1(x))  # (B, 8, 26, 26)
        x = self.dropout(self.conv2(x)).relu()  # (B, 16, 24, 24)
        x = self.pool(x).flatten(1)  # (B, 1024)
        x = self.dropout(self.linear1(x)).relu()  # (B, hidden)
        return self.linear2(x)  # (B, 10)


class Clothes(Dataset):
    """2. Data is a class too: how many samples there are, and what the i-th one is."""

    def __init__(self, folder, training, count):
        self.source = FashionMNIST(folder, train=training)
        self.count = min(count, len(self.source))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = self.source.data[index].float() / 255.0  # (28, 28)
        return (image - 0.2860) / 0.3530, self.source.targets[index]


def fit(model, train_data, test_data, epochs, device):
    """3. A Learner brings both together; its history has a line for each epoch."""
    learner = train.Learner(
        model, nn.CrossEntropyLoss(), "adam", lr=1e-3, metrics=["accuracy"], device=device, folder=False
    )
    return learner.fit(train_data, test_data, epochs, batch_size=64)


def answer(path, image):
    """4. A model from a file answers; nothing of the training is needed."""
    model = Model()
    model.load_state_dict(load_file(path))
    model.eval()
    with torch.no_grad():
        return model(image.unsqueeze(0)).softmax(1)[0]  # (10,)


def draw(image, chances, names, path):
    """Nothing; a picture at `path` shows the image beside what the model thinks of it."""
    import matplotlib

    matplotlib.use("Agg")  # before pyplot: there may be no screen
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(6.5, 2.6))
    left.imshow(image.tolist(), cmap="gray_r")
    left.axis("off")
    right.barh(names, chances.tolist())
    right.set(xlim=(0, 1), xlabel="chance")
    right.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="the folder of the four files")
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--quick", action="store_true", help="a little data, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("runs/guide"), help="where the model and the picture go")
    args = parser.parse_args()

    torch.manual_seed(0)
    train_data = Clothes(args.data, True, 1000 if args.quick else 20000)
    test_data = Clothes(args.data, False, 200 if args.quick else 2000)
    model = Model()
    print(model)
    history = fit(model, train_data, test_data, 1 if args.quick else 3, args.device)
    print(f"test accuracy {history[-1]['valid_accuracy']:.1%}")

    args.out.mkdir(parents=True, exist_ok=True)
    save_file(model.to("cpu").state_dict(), args.out / "model.safetensors")
    image, target = test_data[0]
    chances = answer(args.out / "model.safetensors", image)
    names = test_data.source.classes
    print(f"the first test image: {names[target]}; the model says {names[chances.argmax()]} ({chances.max():.0%})")
    draw(image, chances, names, args.out / "answer.png")
    if not args.quick and history[-1]["valid_accuracy"] < 0.75:
        raise SystemExit("the accuracy is below 75 %: something is wrong")


if __name__ == "__main__":
    main()
