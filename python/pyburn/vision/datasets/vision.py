"""What the datasets of images share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyburn.data.dataset import Dataset
from pyburn.vision._pil import ImageFileError, pillow

__all__ = ["StandardTransform", "VisionDataset", "default_loader", "pil_loader"]

Transform = Callable[..., Any]
Folder = str | os.PathLike[str]


class StandardTransform:
    """One function for images and one for targets, as one function for both."""

    def __init__(self, transform: Transform | None = None, target_transform: Transform | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """The transformed pair."""
        return (
            input if self.transform is None else self.transform(input),
            target if self.target_transform is None else self.target_transform(target),
        )

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, function in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if function is not None:
                lines.append(head + repr(function).replace("\n", "\n" + " " * len(head)))
        return "\n".join(lines)


class VisionDataset(Dataset[Any]):
    """The base of datasets of images: where they are, and what is done to each sample.

    Args:
        root: The folder.
        transforms: A function of an image and its target that gives both anew; instead of the next two.
        transform: A function of an image.
        target_transform: A function of a target.
    """

    def __init__(
        self,
        root: Folder | None = None,
        transforms: Transform | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self) -> int:
        """How many samples there are."""
        raise NotImplementedError(f"{type(self).__name__}: a VisionDataset must define __len__().")

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}", *("    " + line for line in body)])

    def extra_repr(self) -> str:
        """More lines for the dataset's text."""
        return ""


def pil_loader(path: Folder) -> Any:
    """The image of a file, as RGB.

    Raises:
        ImageFileError: The file is none, or is cut off; the text names it. It is an OSError and a RuntimeError.
    """
    with open(path, "rb") as file:
        try:
            return pillow().open(file).convert("RGB")
        except (OSError, SyntaxError, ValueError) as error:
            raise ImageFileError(f"{os.fspath(path)} is no image that Pillow can read: {error}") from error


default_loader = pil_loader
