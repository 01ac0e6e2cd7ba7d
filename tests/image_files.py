"""Files of datasets that the tests write."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

FASHION = Path("/usr/share/datasets/fashion-mnist")


def fashion_folder() -> Path:
    if not FASHION.is_dir():
        pytest.fail("the Debian package dataset-fashion-mnist is missing: apt-get install dataset-fashion-mnist")
    return FASHION


def write_idx(path: Path, array: np.ndarray, packed: bool = False) -> None:
    kinds = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    head = bytes([0, 0, kinds[array.dtype.name], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    data = head + array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if packed else data)
