"""Times a folder of photographs through ImageFolder and the loader, with and without workers.

`python benchmarks/loading.py [--images 96] [--rounds 3]`: Pillow decodes and resizes without the GIL, so that threads
gain where there are cores for them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pyburn
from pyburn.data import DataLoader
from pyburn.vision import transforms
from pyburn.vision.datasets import ImageFolder
from pyburn.vision.io import write_jpeg


def photographs(root: Path, count: int) -> None:
    """Nothing; JPEG files of 640 by 480 pixels in two classes are written."""
    pyburn.manual_seed(0)
    for name in ("one", "two"):
        (root / name).mkdir()
    for number in range(count):
        small = pyburn.rand(3, 30, 40)
        image = transforms.functional.resize(small, [480, 640])
        write_jpeg(
            transforms.functional.to_dtype(image, pyburn.uint8, scale=True),
            root / ("one", "two")[number % 2] / f"{number}.jpg",
        )


def seconds(data: ImageFolder, workers: int) -> float:
    """How long one epoch takes."""
    start = time.perf_counter()
    for _images, _labels in DataLoader(data, batch_size=16, num_workers=workers):
        pass
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToImage()]
    with tempfile.TemporaryDirectory() as folder:
        photographs(Path(folder), options.images)
        data = ImageFolder(folder, transforms.Compose([*steps, transforms.ToDtype(pyburn.float32, scale=True)]))
        seconds(data, 0)
        times: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for _ in range(options.rounds):
            for workers, seen in times.items():
                seen.append(seconds(data, workers))
    alone = statistics.median(times[0])
    for workers, seen in times.items():
        middle = statistics.median(seen)
        print(f"{workers} workers: {options.images / middle:7.0f} images a second, {alone / middle:.2f} times as fast")


if __name__ == "__main__":
    main()
