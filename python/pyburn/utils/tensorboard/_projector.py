"""The files of TensorBoard's embedding projector, and its curves of precision over recall."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn._files import replacing
from pyburn.utils.tensorboard import _images

__all__ = ["Projector", "curve", "raw_curve"]

_THRESHOLDS = 127  # more than TensorBoard's own messages hold


class Projector:
    """The embeddings of one folder, and the file that names them all."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._entries: list[str] = []

    def add(self, points: Any, metadata: Any, pictures: Any, step: Any, tag: str, header: Any) -> None:
        """Nothing; the points, their labels and their pictures are in files, and the projector's file names these."""
        values = ops.as_tensor(points).detach().cpu()
        if values.dim() != 2:
            raise AssertionError(f"add_embedding: mat has shape {list(values.shape)}, but should be 2D, a row a point")
        number = str(0 if step is None else step).zfill(5)  # as torch names it
        place = f"{number}/{_encoded(tag)}"
        os.makedirs(os.path.join(self.folder, place), exist_ok=True)
        entry = [f'tensor_name: "{_escaped(tag)}:{number}"', f'tensor_path: "{place}/tensors.tsv"']
        rows = ["\t".join(str(number) for number in row) for row in values.tolist()]
        self._write(f"{place}/tensors.tsv", ("\n".join(rows) + "\n").encode())
        if metadata is not None:
            self._write(f"{place}/metadata.tsv", _table(metadata, header, len(values)))
            entry.append(f'metadata_path: "{place}/metadata.tsv"')
        if pictures is not None:
            images = ops.as_tensor(pictures).detach().cpu()
            if len(images) != len(values):
                raise AssertionError(f"add_embedding: {len(images)} images, but {len(values)} data points")
            self._write(f"{place}/sprite.png", _images.png(_sprite(images)))
            sizes = f"single_image_dim: {images.shape[3]} single_image_dim: {images.shape[2]}"
            entry.append(f'sprite {{ image_path: "{place}/sprite.png" {sizes} }}')
        self._entries.append("embeddings {\n  " + "\n  ".join(entry) + "\n}\n")
        self._write("projector_config.pbtxt", "".join(self._entries).encode())

    def _write(self, name: str, data: bytes) -> None:
        with replacing(os.path.join(self.folder, name), durable=False) as file:
            file.write(data)


def _table(metadata: Any, header: Any, count: int) -> bytes:
    if len(metadata) != count:
        raise AssertionError(f"add_embedding: {len(metadata)} labels, but {count} data points")
    if not header:
        lines = [str(each) for each in metadata]
    elif len(header) != len(metadata[0]):
        raise AssertionError(f"add_embedding: {len(header)} names of columns, but {len(metadata[0])} columns")
    else:
        lines = ["\t".join(str(each) for each in row) for row in [header, *metadata]]
    return ("\n".join(lines) + "\n").encode()


def _sprite(images: Tensor) -> Tensor:
    """A square of all pictures, row by row, as a uint8 tensor of (H, W, C)."""
    columns = math.ceil(math.sqrt(len(images)))
    pictures = [_images.as_picture(image, "CHW") for image in images.unbind(0)]
    pictures = [picture.expand([-1, -1, 3]) if picture.shape[2] == 1 else picture for picture in pictures]
    pictures += [ops.zeros_like(pictures[0])] * (columns * columns - len(pictures))
    rows = [ops.cat(pictures[start : start + columns], 1) for start in range(0, len(pictures), columns)]
    return ops.cat(rows, 0)


def _encoded(tag: str) -> str:
    """The tag as one name of a folder."""
    for letter in "%/\\":
        tag = tag.replace(letter, f"%{ord(letter):02x}")
    return tag


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def curve(labels: Any, predictions: Any, num_thresholds: int, weights: Any) -> tuple[int, list[list[float]]]:
    """The number of thresholds, and at each: true and false positives and negatives, precision and recall."""
    count = min(num_thresholds, _THRESHOLDS)
    true, chance = (
        ops.as_tensor(each).detach().cpu().reshape([-1]).to(_core.float64) for each in (labels, predictions)
    )
    weight = ops.ones_like(true) if weights is None else ops.as_tensor(weights).to(_core.float64) + ops.zeros_like(true)
    place = (chance * (count - 1)).floor().to(_core.int64)
    inside = (place >= 0) & (place < count)

    def above(shares: Tensor) -> list[float]:
        """How much lies at each threshold or above it."""
        found = ops.bincount(place[inside], (shares * weight)[inside], minlength=count)
        values: list[float] = found.flip(0).cumsum(0).flip(0).tolist()
        return values

    tp, fp = above(true), above(1.0 - true)
    tn, fn = [fp[0] - each for each in fp], [tp[0] - each for each in tp]
    precision = [yes / max(1e-7, yes + no) for yes, no in zip(tp, fp, strict=True)]
    recall = [yes / max(1e-7, yes + missed) for yes, missed in zip(tp, fn, strict=True)]
    return count, [tp, fp, tn, fn, precision, recall]


def raw_curve(rows: Sequence[Any], num_thresholds: int) -> tuple[int, list[list[float]]]:
    """The same from numbers that are known."""
    found = [ops.as_tensor(row).detach().cpu().reshape([-1]).tolist() for row in rows]
    return min(num_thresholds, _THRESHOLDS), found
