"""Samples in folders, one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset, default_loader, pil_loader

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "find_classes",
    "has_file_allowed_extension",
    "is_image_file",
    "make_dataset",
    "pil_loader",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends so, in small or capital letters.

    Example:
        >>> has_file_allowed_extension("a.PNG", IMG_EXTENSIONS)
        True
    """
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether a name ends as those of images do.

    Example:
        >>> is_image_file("notes.txt")
        False
    """
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: Folder) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in `directory`, in order, and the number of each.

    Raises:
        FileNotFoundError: There is none.
    """
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {os.fspath(directory)}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: Folder,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """The files of each class and its number, class by class, folder by folder, sorted.

    Args:
        directory: The folder that holds the classes' folders.
        class_to_idx: Which classes there are; all folders when left out.
        extensions: How the names of files end that count, in small letters.
        is_valid_file: Which files count, instead of `extensions`.
        allow_empty: Whether a class may have no file.

    Raises:
        ValueError: There are no classes, or not exactly one of `extensions` and `is_valid_file`.
        FileNotFoundError: A class has no file.
    """
    folder = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(folder)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    ends = extensions if extensions is None or isinstance(extensions, str) else tuple(extensions)
    counts = is_valid_file or (lambda path: path.lower().endswith(ends or ""))
    samples: list[tuple[str, int]] = []
    empty: list[str] = []
    for name in sorted(class_to_idx):
        walked = sorted(os.walk(os.path.join(folder, name), followlinks=True))
        paths = [os.path.join(inside, file) for inside, _, files in walked for file in sorted(files)]
        found = [(path, class_to_idx[name]) for path in paths if counts(path)]
        samples += found
        empty += [] if found else [name]
    if empty and not allow_empty:
        known = (
            "" if ends is None else f"Supported extensions are: {ends if isinstance(ends, str) else ', '.join(ends)}"
        )
        raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}. {known}")
    return samples


class DatasetFolder(VisionDataset):
    """The files under ``root/<class>/``, read by a function of yours.

    Args:
        root: The folder that holds the classes' folders.
        loader: From the path of a file to a sample.
        extensions: How the names of files end that count.
        transform: A function of a sample.
        target_transform: A function of a class.
        is_valid_file: Which files count, instead of `extensions`.
        allow_empty: Whether a class may have no file.

    Raises:
        FileNotFoundError: There are no classes, or one of them has no file.
    """

    def __init__(
        self,
        root: Folder,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader = loader
        self.extensions = extensions
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: Folder,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The files and their classes; a subclass may look elsewhere."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: Folder) -> tuple[list[str], dict[str, int]]:
        """The classes and the number of each; a subclass may choose among them."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The sample at `index` and its class."""
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """The images under ``root/<class>/``, as RGB images of PIL.

    Args:
        root: The folder that holds the classes' folders.
        transform: A function of an image.
        target_transform: A function of a class.
        loader: From the path of a file to an image.
        is_valid_file: Which files count; those with an image's ending when left out.
        allow_empty: Whether a class may have no file.
    """

    def __init__(
        self,
        root: Folder,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
