"""Pillow, which pyburn neither needs nor installs, and the way between its images and tensors."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pyburn._copying import _from_bytes
from pyburn._core import Tensor, float32, int16, int32, uint8, uint16

__all__ = ["ImageFileError", "is_pil", "pillow", "to_pil", "to_tensor"]


class ImageFileError(OSError, RuntimeError):
    """A file is no image or is cut off; programs that catch what Pillow or torchvision raise catch it too."""


def pillow(module: str = "Image") -> Any:
    """A module of Pillow.

    Raises:
        ImportError: It is not installed; the text says how to install it.
    """
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as error:
        raise ImportError("Images of files and of PIL need Pillow: pip install pillow") from error


def is_pil(value: object) -> bool:
    """Whether this is an image of PIL; never imports it."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(value, loaded.Image)


# What one element of an image of this mode is; all others are bytes.
_DTYPES = {"I": int32, "F": float32, "I;16": uint16}


def to_tensor(image: Any) -> Tensor:
    """An image of PIL as (C, H, W), in the dtype its mode has; one with a palette gives the numbers of its colours."""
    if image.mode == "1":
        return to_tensor(image.convert("L")) != 0
    channels = len(image.getbands())
    flat = _from_bytes(image.tobytes(), (image.height, image.width, channels), _DTYPES.get(image.mode, uint8))
    return flat.permute(2, 0, 1).contiguous()


def to_pil(image: Tensor, mode: str | None = None) -> Any:
    """A (C, H, W) or (H, W) tensor of bytes, or of an integer or float mode of PIL, as its image."""
    planes = image.unsqueeze(0) if image.dim() == 2 else image
    channels, height, width = planes.shape
    modes = {uint8: {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}, int16: {1: "I;16"}, int32: {1: "I"}, float32: {1: "F"}}
    default = modes.get(planes.dtype, {}).get(channels)
    if mode is None and default is None:
        raise ValueError(f"pic should not have {channels} channels of {planes.dtype}: PIL has no mode for them.")
    data = planes.detach().cpu().permute(1, 2, 0).contiguous()._bytes()
    return pillow().frombytes(mode or default, (width, height), data)
