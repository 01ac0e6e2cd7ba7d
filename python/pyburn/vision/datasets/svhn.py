"""Numbers of houses: Netzer and others, 2011."""

from __future__ import annotations

import importlib
import os
from typing import Any

from pyburn.data.download import download_url
from pyburn.ops import from_numpy
from pyburn.vision._pil import to_pil
from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset

__all__ = ["SVHN"]

_HOST = "http://ufldl.stanford.edu/housenumbers/"
_MD5 = {
    "train": "e26dedcc434d2e4c54c9b2d4a06d8373",
    "test": "eb5a983be6a315427106f1b164d9cef3",
    "extra": "a93ce644f1a588dc4d68dda5feec44a7",
}


class SVHN(VisionDataset):
    """Pictures of 32 by 32 coloured pixels of the ten digits; reading the files needs scipy.

    All pictures are in `data` (N, 3, 32, 32) and their digits in `labels`.

    Args:
        root: The folder of ``train_32x32.mat``, ``test_32x32.mat`` or ``extra_32x32.mat``.
        split: "train", "test" or "extra".
        transform: A function of an image of PIL.
        target_transform: A function of a digit.
        download: Whether an absent file is fetched from the network.

    Raises:
        ValueError: There is no such split.
        RuntimeError: The file is absent, damaged, or cannot be fetched.
        ImportError: scipy is not installed.
    """

    data: Any
    labels: Any

    def __init__(
        self,
        root: Folder,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        if split not in _MD5:
            raise ValueError(f"Unknown value '{split}' for argument split. Valid values are {', '.join(_MD5)}.")
        self.split, name = split, f"{split}_32x32.mat"
        path = os.path.join(self.root, name)
        if download:
            download_url(_HOST + name, self.root, name, _MD5[split])
        if not os.path.isfile(path):
            raise RuntimeError(
                "Dataset not found or corrupted. You can use download=True to download it, "
                f"or put {name} in {self.root}."
            )
        self.data, self.labels = _read(path)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture at `index` as an image of PIL, and its digit."""
        return self._transformed(to_pil(from_numpy(self.data[index])), int(self.labels[index]))

    def __len__(self) -> int:
        """How many pictures there are."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Which part it is."""
        return f"Split: {self.split}"


def _read(path: str) -> tuple[Any, Any]:
    """The pictures and the digits as arrays of numpy, which scipy brings."""
    try:
        loadmat = importlib.import_module("scipy.io").loadmat
    except ImportError as error:
        raise ImportError("SVHN's files are MATLAB's; reading them needs scipy: pip install scipy") from error
    try:
        content = loadmat(path, variable_names=("X", "y"))
        pictures, digits = content["X"], content["y"]
        data, labels = pictures.transpose(3, 2, 0, 1).copy(), digits.astype("int64").reshape(-1)
    except Exception as error:  # scipy raises whatever the damage leads to
        raise RuntimeError(f"{path} is no file of SVHN: {type(error).__name__}: {error}") from error
    if len(data) != len(labels):
        raise RuntimeError(f"{path} has {len(data)} pictures but {len(labels)} digits.")
    labels[labels == 10] = 0
    return data, labels
