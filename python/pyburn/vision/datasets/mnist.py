"""MNIST and the sets in its form: LeCun and others 1998, Xiao and others 2017, Clanuwat and others 2018."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from pyburn._core import Tensor, int64
from pyburn.data.download import check_integrity, download_url
from pyburn.vision._pil import to_pil
from pyburn.vision.datasets.idx import read_idx
from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset

__all__ = ["KMNIST", "MNIST", "FashionMNIST"]


class MNIST(VisionDataset):
    """Pictures of 28 by 28 grey pixels of ten classes: handwritten digits.

    The four files are looked for in ``root/MNIST/raw``, where torchvision puts them, and in `root` itself, plain or
    packed (.gz). All pictures are in `data` (N, 28, 28) and their classes in `targets` (N).

    Args:
        root: The folder.
        train: The 60000 pictures to learn from, or the 10000 for the test.
        transform: A function of an image of PIL, for each sample.
        target_transform: A function of a class.
        download: Whether absent files are fetched from the network.

    Raises:
        RuntimeError: Files are absent, damaged, or cannot be fetched.
    """

    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist/",)
    resources: tuple[tuple[str, str], ...] = (
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    )
    classes: ClassVar[list[str]] = [
        f"{digit} - {word}"
        for digit, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
    ]

    data: Tensor
    targets: Tensor

    def __init__(
        self,
        root: Folder,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        part = "train" if train else "t10k"
        images, labels = (self._found(f"{part}-{name}-ubyte") for name in ("images-idx3", "labels-idx1"))
        self.data, self.targets = read_idx(images), read_idx(labels).to(int64)
        if self.data.dim() != 3 or self.targets.dim() != 1 or len(self.data) != len(self.targets):
            raise RuntimeError(
                f"{type(self).__name__}: {images} has shape {list(self.data.shape)} and {labels} "
                f"{list(self.targets.shape)}, but pictures (N, H, W) and classes (N) belong together."
            )

    @property
    def raw_folder(self) -> str:
        """Where torchvision keeps the files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}

    def _places(self, name: str) -> list[str]:
        folders = (self.raw_folder, os.fspath(self.root))
        return [os.path.join(folder, name + end) for folder in folders for end in ("", ".gz")]

    def _found(self, name: str) -> str:
        for path in self._places(name):
            if os.path.isfile(path):
                return path
        raise RuntimeError(
            f"Dataset not found. You can use download=True to download it, or put {name} or {name}.gz in "
            f"{self.raw_folder} or {self.root}."
        )

    def _check_exists(self) -> bool:
        names = (os.path.splitext(name)[0] for name, _ in self.resources)
        return all(any(map(check_integrity, self._places(name))) for name in names)

    def download(self) -> None:
        """Nothing; the files that are absent are fetched from the first mirror that has them."""
        for name, md5 in self.resources:
            if any(map(os.path.isfile, self._places(os.path.splitext(name)[0]))):
                continue
            failures: list[str] = []
            for mirror in self.mirrors:
                try:
                    download_url(mirror + name, self.raw_folder, name, md5)
                    break
                except RuntimeError as error:
                    failures.append(str(error))
            else:
                raise RuntimeError(f"Error downloading {name}:\n" + "\n".join(failures))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture at `index` as an image of PIL, and its class."""
        return self._transformed(to_pil(self.data[index]), int(self.targets[index]))

    def __len__(self) -> int:
        """How many pictures there are."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Which part it is."""
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Pictures in MNIST's form of clothes and shoes; see `MNIST` for the arguments.

    Debian's package ``dataset-fashion-mnist`` has the files: `root` is then ``/usr/share/datasets/fashion-mnist``.
    """

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    resources = (
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    )
    classes: ClassVar[list[str]] = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]


class KMNIST(MNIST):
    """Pictures in MNIST's form of ten letters of old Japanese books; see `MNIST` for the arguments."""

    mirrors = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
    resources = (
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    )
    classes: ClassVar[list[str]] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
