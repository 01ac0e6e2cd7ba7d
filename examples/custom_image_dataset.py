"""Trains on pictures in folders, one folder for each class (burn's custom-image-dataset).

Handwritten digits of scikit-learn are written as PNG files into `train/0`, `train/1`, ..., and read back with
`ImageFolder`: put pictures of your own into such folders and the rest stays the same. Transforms make tensors of them,
turned and moved a little while training.

    python examples/custom_image_dataset.py
"""

import argparse
from pathlib import Path

import pyburn as torch
from PIL import Image
from pyburn import nn, train
from pyburn.data import DataLoader
from pyburn.vision.datasets import ImageFolder
from pyburn.vision.transforms import v2
from pyburn.vision.utils import save_image
from sklearn.datasets import load_digits


def write_pictures(folder, count):
    """Nothing; `folder` holds PNG files of the digits, four fifths of them to learn from."""
    digits = load_digits()
    for i in range(count):
        split = "test" if i % 5 == 0 else "train"
        place = folder / split / str(digits.target[i])
        place.mkdir(parents=True, exist_ok=True)
        pixels = (digits.images[i] * 15.9375).astype("uint8")  # from 0-16 to 0-255
        Image.fromarray(pixels).save(place / f"{i:04}.png")


def loaders(folder, batch_size):
    """Batches of (B, 1, 16, 16) floats around zero and of classes, to train and to test."""
    plain = [v2.Grayscale(), v2.Resize((16, 16)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    normal = v2.Normalize([0.3], [0.35])
    moved = v2.RandomAffine(degrees=10, translate=(0.06, 0.06), scale=(0.9, 1.1))
    train_data = ImageFolder(folder / "train", v2.Compose([*plain, moved, normal]))
    test_data = ImageFolder(folder / "test", v2.Compose([*plain, normal]))
    print(f"{len(train_data)} pictures to train and {len(test_data)} to test, of {len(train_data.classes)} classes")
    return DataLoader(train_data, batch_size, shuffle=True), DataLoader(test_data, batch_size)


def network(classes):
    """A small convolutional network."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),  # (B, 16, 8, 8)
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),  # (B, 32, 2, 2)
        nn.Flatten(),  # (B, 128)
        nn.Linear(128, classes),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="few pictures and one epoch, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("runs/pictures"), help="where the pictures go")
    args = parser.parse_args()

    torch.manual_seed(0)
    write_pictures(args.out, 200 if args.quick else 1797)
    train_data, test_data = loaders(args.out, 64)
    images, _ = next(iter(train_data))
    large = nn.functional.interpolate(images[:32], scale_factor=3)
    save_image(large, args.out / "batch.png", nrow=8, normalize=True)

    learner = train.Learner(
        network(len(train_data.dataset.classes)),
        nn.CrossEntropyLoss(),
        "adamw",
        lr=5e-3,
        metrics=["accuracy"],
        device=args.device,
        folder=False,
    )
    learner.fit(train_data, test_data, 1 if args.quick else args.epochs)
    accuracy = learner.evaluate(test_data)["accuracy"]
    print(f"test accuracy {accuracy:.1%}; {args.out}/batch.png shows some pictures as the model saw them")
    if not args.quick and accuracy < 0.95:
        raise SystemExit("the accuracy is below 95 %: something is wrong")


if __name__ == "__main__":
    main()
