"""Pictures for event files: any layout of values becomes a PNG."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor

__all__ = ["as_picture", "grid_of", "png"]


def as_picture(image: Any, dataformats: str) -> Tensor:
    """A uint8 tensor of (H, W, C), with C being 1, 3 or 4.

    Floats count from 0 to 1, integers from 0 to 255.
    """
    values = ops.as_tensor(image).detach().cpu()
    letters = dataformats.upper()
    if len(letters) != values.dim() or set(letters) - set("HWC") or len(set(letters)) != len(letters):
        raise ValueError(
            f"add_image: a picture of shape {list(values.shape)} does not fit dataformats={dataformats!r}."
        )
    if "C" not in letters:
        values, letters = values.unsqueeze(0), "C" + letters
    values = values.permute([letters.index(letter) for letter in "HWC"])  # (H, W, C)
    if values.shape[2] not in (1, 3, 4):
        raise ValueError(f"add_image: a picture has 1, 3 or 4 channels, but this one has {values.shape[2]}.")
    if values.is_floating_point():
        values = (values.to(_core.float32) * 255.0).clamp(0, 255)
    return values.clamp(0, 255).to(_core.uint8)


def grid_of(images: Any, dataformats: str) -> Tensor:
    """A uint8 tensor of (H, W, C) with the pictures in rows of at most eight."""
    values = ops.as_tensor(images).detach().cpu()
    letters = dataformats.upper()
    if "N" not in letters or len(letters) != values.dim():
        raise ValueError(f"add_images: pictures of shape {list(values.shape)} do not fit dataformats={dataformats!r}.")
    single = letters.replace("N", "")
    pictures = [as_picture(picture, single) for picture in values.unbind(letters.index("N"))]
    columns = min(8, len(pictures))
    blank = ops.zeros_like(pictures[0])
    pictures += [blank] * (-len(pictures) % columns)
    rows = [ops.cat(pictures[start : start + columns], 1) for start in range(0, len(pictures), columns)]
    return ops.cat(rows, 0)


def png(picture: Tensor) -> bytes:
    """The bytes of a PNG file of a uint8 tensor of (H, W, C)."""
    height, width, channels = picture.shape
    color = {1: 0, 3: 2, 4: 6}[channels]
    raw = picture.contiguous()._bytes()
    line = width * channels
    rows = b"".join(b"\x00" + raw[row * line : (row + 1) * line] for row in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def default_limits() -> list[float]:
    """The edges of TensorBoard's histograms: each a tenth above the one before, on both sides of 0."""
    positive = []
    value = 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    return [-edge for edge in reversed(positive)] + [0.0, *positive, math.inf]
