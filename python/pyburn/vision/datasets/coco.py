"""Images with annotations in COCO's form: Lin and others, 2014."""

from __future__ import annotations

import json
import os
from typing import Any

from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset, pil_loader

__all__ = ["CocoCaptions", "CocoDetection"]


class Coco:
    """An annotation file: its images, annotations and categories by number.

    Args:
        path: The JSON file.

    Raises:
        RuntimeError: It is no such file.
    """

    def __init__(self, path: Folder) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                self.dataset: dict[str, Any] = json.load(file)
            self.imgs = {image["id"]: image for image in self.dataset["images"]}
            self.anns = {note["id"]: note for note in self.dataset.get("annotations", ())}
            self.cats = {kind["id"]: kind for kind in self.dataset.get("categories", ())}
            self.imgToAnns: dict[int, list[dict[str, Any]]] = {number: [] for number in self.imgs}
            for note in self.anns.values():
                self.imgToAnns.setdefault(note["image_id"], []).append(note)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}"
            raise RuntimeError(f"{os.fspath(path)} is no annotation file of COCO's form: {what}") from error


class CocoDetection(VisionDataset):
    """Images and the list of what is annotated in each.

    Args:
        root: The folder of the images.
        annFile: The JSON file of the annotations.
        transform: A function of an image of PIL.
        target_transform: A function of the list of annotations, dicts.
        transforms: A function of both, instead.

    Raises:
        RuntimeError: The annotation file is damaged.

    Differs from torch:
        pycocotools is not needed; `coco` has the dicts `imgs`, `anns`, `cats` and `imgToAnns` of it.
    """

    def __init__(
        self,
        root: Folder,
        annFile: Folder,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = Coco(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_target(self, number: int) -> list[Any]:
        return self.coco.imgToAnns[number]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image at `index` and its annotations."""
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        number = self.ids[index]
        path = os.path.join(self.root, self.coco.imgs[number]["file_name"])
        return self._transformed(pil_loader(path), self._load_target(number))

    def __len__(self) -> int:
        """How many images there are."""
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Images and the sentences about each; see `CocoDetection` for the arguments."""

    def _load_target(self, number: int) -> list[Any]:
        return [note["caption"] for note in super()._load_target(number)]
