"""Pascal VOC: Everingham and others, 2010; and any folders of images and masks."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from typing import Any

from pyburn.data.download import download_and_extract
from pyburn.vision._pil import ImageFileError, pillow
from pyburn.vision.datasets.folder import IMG_EXTENSIONS
from pyburn.vision.datasets.vision import Folder, Transform, VisionDataset, pil_loader

__all__ = ["SegmentationFolder", "VOCDetection", "VOCSegmentation"]

_HOST = "https://thor.robots.ox.ac.uk/pascal/VOC/"
# The archive of each year, its checksum, and where its files are.
_YEARS = {
    "2012": ("voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", "VOCdevkit/VOC2012"),
    "2011": ("voc2011/VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e", "TrainVal/VOCdevkit/VOC2011"),
    "2010": ("voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb", "VOCdevkit/VOC2010"),
    "2009": ("voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1", "VOCdevkit/VOC2009"),
    "2008": ("voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a", "VOCdevkit/VOC2008"),
    "2007": ("voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", "VOCdevkit/VOC2007"),
    "2007-test": ("voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", "VOCdevkit/VOC2007"),
}


def mask_loader(path: Folder) -> Any:
    """The image of a mask's file as it is: one with a palette keeps its numbers.

    Raises:
        ImageFileError: The file is none, or is cut off; the text names it. It is an OSError and a RuntimeError.
    """
    with open(path, "rb") as file:
        try:
            picture = pillow().open(file)
            picture.load()
        except (OSError, SyntaxError, ValueError) as error:
            raise ImageFileError(f"{os.fspath(path)} is no image that Pillow can read: {error}") from error
        return picture


class _VOC(VisionDataset):
    _splits: str
    _folder: str
    _end: str

    def __init__(
        self,
        root: Folder,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        sets = ("train", "trainval", "val", "test") if year == "2007" else ("train", "trainval", "val")
        for name, value, known in (("year", year, [y for y in _YEARS if "-" not in y]), ("image_set", image_set, sets)):
            if value not in known:
                raise ValueError(f"Unknown value '{value}' for argument {name}. Valid values are {', '.join(known)}.")
        self.year, self.image_set = year, image_set
        archive, md5, inside = _YEARS["2007-test" if image_set == "test" else year]
        base = os.path.join(self.root, inside)
        if download and not os.path.isdir(base):
            download_and_extract(_HOST + archive, self.root, os.path.basename(archive), md5)
        listed = os.path.join(base, "ImageSets", self._splits, f"{image_set}.txt")
        if not os.path.isfile(listed):
            raise RuntimeError(
                f"Dataset not found or corrupted. You can use download=True to download it; there is no {listed}."
            )
        with open(listed, encoding="utf-8") as file:
            names = [line.strip() for line in file if line.strip()]
        self.images = [os.path.join(base, "JPEGImages", f"{name}.jpg") for name in names]
        self.targets = [os.path.join(base, self._folder, name + self._end) for name in names]

    def __len__(self) -> int:
        """How many images there are."""
        return len(self.images)


class VOCSegmentation(_VOC):
    """Images of Pascal VOC and the class of each pixel, as images of PIL.

    Args:
        root: The folder that holds ``VOCdevkit``.
        year: "2007" to "2012".
        image_set: "train", "trainval" or "val", and "test" of 2007.
        download: Whether absent files are fetched from the network.
        transform: A function of an image.
        target_transform: A function of a mask.
        transforms: A function of both, instead.

    Raises:
        ValueError: There is no such year or set.
        RuntimeError: Files are absent, damaged, or cannot be fetched.
    """

    _splits, _folder, _end = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        """The files of the masks."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image at `index` and its mask."""
        return self._transformed(pil_loader(self.images[index]), mask_loader(self.targets[index]))


class VOCDetection(_VOC):
    """Images of Pascal VOC and what is said about their objects, as dicts; see `VOCSegmentation` for the arguments."""

    _splits, _folder, _end = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        """The files about the objects."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image at `index` and its annotation."""
        try:
            root = ElementTree.parse(self.targets[index]).getroot()
        except ElementTree.ParseError as error:
            raise RuntimeError(f"{self.targets[index]} is no XML file: {error}") from error
        return self._transformed(pil_loader(self.images[index]), self.parse_voc_xml(root))

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """An element as a dict: children of one name become a list, objects always do."""
        if not len(node):
            return {node.tag: node.text.strip()} if node.text else {}
        found: dict[str, list[Any]] = {}
        for child in node:
            for name, value in VOCDetection.parse_voc_xml(child).items():
                found.setdefault(name, []).append(value)
        if node.tag == "annotation":
            found["object"] = [found.get("object", [])]
        return {node.tag: {name: values[0] if len(values) == 1 else values for name, values in found.items()}}


class SegmentationFolder(VisionDataset):
    """The images of one folder with the masks of the same names, but for the ending, of another.

    Args:
        root: The folder that holds both.
        images: The folder of images within it.
        masks: The folder of masks within it.
        transform: A function of an image.
        target_transform: A function of a mask.
        transforms: A function of both, instead.

    Raises:
        FileNotFoundError: A folder is absent or empty, or an image has no mask; the text says which.
    """

    def __init__(
        self,
        root: Folder,
        images: str = "images",
        masks: str = "masks",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        pictures, covers = (_by_stem(os.path.join(self.root, folder)) for folder in (images, masks))
        absent = sorted(set(pictures) - set(covers))
        if not pictures or absent:
            what = f"{', '.join(absent[:5])} have no mask in {masks}" if absent else f"there is no image in {images}"
            raise FileNotFoundError(f"SegmentationFolder: {what}, in {self.root}.")
        self.images = [pictures[stem] for stem in sorted(pictures)]
        self.masks = [covers[stem] for stem in sorted(pictures)]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image at `index` and its mask."""
        return self._transformed(pil_loader(self.images[index]), mask_loader(self.masks[index]))

    def __len__(self) -> int:
        """How many images there are."""
        return len(self.images)


def _by_stem(folder: str) -> dict[str, str]:
    names = [name for name in os.listdir(folder) if name.lower().endswith(IMG_EXTENSIONS)]
    return {os.path.splitext(name)[0]: os.path.join(folder, name) for name in names}
