"""CIFAR-10 and CIFAR-100: Krizhevsky, 2009."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from pyburn._copying import _from_bytes
from pyburn._core import Tensor, uint8
from pyburn.data.download import download_and_extract
from pyburn.data.pickled import Array, read_pickle
from pyburn.ops import as_tensor, cat
from pyburn.vision._pil import to_pil
from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset

__all__ = ["CIFAR10", "CIFAR100"]

_PIXELS = 3 * 32 * 32


class CIFAR10(VisionDataset):
    """Pictures of 32 by 32 coloured pixels of ten classes.

    The files are looked for in the layout of the Python archive (``cifar-10-batches-py``), which is read without
    unpickling, and in that of the binary one (``cifar-10-batches-bin``), in `root` or as `root` itself. All pictures
    are in `data` (N, 32, 32, 3) and their classes in `targets`.

    Args:
        root: The folder.
        train: The 50000 pictures to learn from, or the 10000 for the test.
        transform: A function of an image of PIL, for each sample.
        target_transform: A function of a class.
        download: Whether absent files are fetched from the network.

    Raises:
        RuntimeError: Files are absent, damaged, or cannot be fetched.

    Differs from torch:
        `data` is a tensor, not a numpy array. Files are checked by their contents, not by their checksums.
    """

    base_folder = "cifar-10-batches-py"
    binary_folder = "cifar-10-batches-bin"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list: tuple[str, ...] = tuple(f"data_batch_{i}" for i in range(1, 6))
    test_list: tuple[str, ...] = ("test_batch",)
    _meta = ("batches.meta", "label_names", "batches.meta.txt")
    _labels = "labels"
    # How many bytes stand before each picture of the binary layout; the last is the class.
    _before = 1

    data: Tensor
    targets: list[int]

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
        if download and self._folder() is None:
            self.download()
        found = self._folder()
        if found is None:
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download it, or put the folder "
                f"{self.base_folder} or {self.binary_folder} into {self.root}."
            )
        folder, binary = found
        names = self.train_list if train else self.test_list
        parts = [self._binary(folder, name) if binary else self._pickled(folder, name) for name in names]
        pictures = cat([part for part, _ in parts]).reshape(-1, 3, 32, 32).permute(0, 2, 3, 1).contiguous()
        # As torchvision's: programs hand rows of it to Pillow. Without numpy they are tensors.
        self.data: Any = pictures.numpy() if importlib.util.find_spec("numpy") else pictures
        self.targets = [label for _, labels in parts for label in labels]
        self.classes = self._class_names(folder, binary)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        beyond = [label for label in self.targets if not 0 <= label < len(self.classes)]
        if beyond:
            raise RuntimeError(f"{folder} names the class {beyond[0]}, but there are {len(self.classes)} classes.")

    def _folder(self) -> tuple[str, bool] | None:
        """Where the files are, and whether in the binary layout."""
        for inside, binary in ((self.base_folder, False), (self.binary_folder, True), ("", False), ("", True)):
            folder = os.path.join(self.root, inside)
            end = ".bin" if binary else ""
            if all(os.path.isfile(os.path.join(folder, name + end)) for name in (*self.train_list, *self.test_list)):
                return folder, binary
        return None

    def download(self) -> None:
        """Nothing; the archive is fetched and unpacked."""
        download_and_extract(self.url, self.root, self.filename, self.tgz_md5)

    def _pickled(self, folder: str, name: str) -> tuple[Tensor, list[int]]:
        path = os.path.join(folder, name)
        entry = read_pickle(path)
        data, labels = (_value(entry, key) for key in ("data", self._labels))
        if (
            not isinstance(data, Array)
            or not isinstance(data.data, bytes)
            or not isinstance(labels, list)
            or data.shape != (len(labels), _PIXELS)
            or not all(isinstance(label, int) for label in labels)
        ):
            raise RuntimeError(f"{path} has not the pictures and classes of a batch of {type(self).__name__}.")
        return _from_bytes(data.data, data.shape, uint8), labels

    def _binary(self, folder: str, name: str) -> tuple[Tensor, list[int]]:
        path = os.path.join(folder, name + ".bin")
        with open(path, "rb") as file:
            data = file.read()
        size = self._before + _PIXELS
        if not data or len(data) % size:
            raise RuntimeError(f"{path} has {len(data)} bytes, which is no multiple of the {size} of a picture.")
        rows = _from_bytes(data, (len(data) // size, size), uint8)
        return rows[:, self._before :], rows[:, self._before - 1].tolist()

    def _class_names(self, folder: str, binary: bool) -> list[str]:
        name, key, text = self._meta
        path = os.path.join(folder, text if binary else name)
        if not os.path.isfile(path):
            raise RuntimeError(f"Dataset metadata file not found or corrupted: {path}")
        if not binary:
            names = _value(read_pickle(path), key)
            if not isinstance(names, list):
                raise RuntimeError(f"{path} has no list of classes.")
            return [str(name) for name in names]
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file if line.strip()]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture at `index` as an image of PIL, and its class."""
        return self._transformed(to_pil(as_tensor(self.data[index]).permute(2, 0, 1)), self.targets[index])

    def __len__(self) -> int:
        """How many pictures there are."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Which part it is."""
        return f"Split: {'Train' if self.train else 'Test'}"


def _value(entry: Any, key: str) -> Any:
    """What stands under a key, which Python 2 wrote as bytes."""
    if not isinstance(entry, dict):
        return None
    return entry.get(key, entry.get(key.encode()))


class CIFAR100(CIFAR10):
    """Pictures of 32 by 32 coloured pixels of a hundred classes; see `CIFAR10` for the arguments."""

    base_folder = "cifar-100-python"
    binary_folder = "cifar-100-binary"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = ("train",)
    test_list = ("test",)
    _meta = ("meta", "fine_label_names", "fine_label_names.txt")
    _labels = "fine_labels"
    _before = 2
