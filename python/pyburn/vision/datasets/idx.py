"""The idx format of MNIST: a kind, the sizes, and then the numbers, largest byte first."""

from __future__ import annotations

import array
import gzip
import math
import os
import struct
import sys
import zlib
from typing import IO

from pyburn._copying import _from_bytes
from pyburn._core import Tensor, dtype, float32, float64, int8, int16, int32, int64, uint8

__all__ = ["read_idx"]

_KINDS: dict[int, tuple[dtype, str]] = {
    8: (uint8, "B"),
    9: (int8, "b"),
    11: (int16, "h"),
    12: (int32, "i"),
    13: (float32, "f"),
    14: (float64, "d"),
}
_MOST = 1 << 40  # bytes; a header that asks for more is no header


def read_idx(path: str | os.PathLike[str]) -> Tensor:
    """The numbers of an idx file, which may be packed with gzip.

    Raises:
        RuntimeError: The file is cut off, damaged or of another format; the text says where and how.
    """
    with open(path, "rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        try:
            if not packed:
                return _read(plain)
            with gzip.open(plain, "rb") as file:
                return _read(file)  # type: ignore[arg-type]
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RuntimeError(f"{os.fspath(path)} is no whole idx file: {error}") from error


def _read(file: IO[bytes]) -> Tensor:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _KINDS or not 1 <= head[3] <= 4:
        raise ValueError(f"it starts with {head!r} instead of two zeros, a kind of number and 1 to 4 dimensions")
    kind, letter = _KINDS[head[2]]
    sizes = file.read(4 * head[3])
    if len(sizes) < 4 * head[3]:
        raise ValueError("it ends within its sizes")
    shape = struct.unpack(f">{head[3]}I", sizes)
    wanted = kind.itemsize * math.prod(shape)
    if wanted > _MOST:
        raise ValueError(f"its sizes {list(shape)} ask for {wanted} bytes")
    data = file.read(wanted)
    if len(data) != wanted:
        raise ValueError(f"its sizes {list(shape)} need {wanted} bytes of numbers, but {len(data)} follow")
    if file.read(1):
        raise ValueError(f"bytes follow after the {wanted} that its sizes {list(shape)} need")
    if kind.itemsize > 1 and sys.byteorder == "little":
        numbers = array.array(letter, data)
        numbers.byteswap()
        data = numbers.tobytes()
    return _from_bytes(data, shape, kind)


def read_image_file(path: str | os.PathLike[str]) -> Tensor:
    """The pictures (N, H, W) of an idx file; torchvision's name."""
    return read_idx(path)


def read_label_file(path: str | os.PathLike[str]) -> Tensor:
    """The classes (N) of an idx file as int64; torchvision's name."""
    return read_idx(path).to(int64)
