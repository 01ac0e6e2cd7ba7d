"""Images as arrays and back, and image files: what `keras.utils` has for them. Pillow and numpy are read when used."""

from __future__ import annotations

import importlib
import os
from typing import Any

from pyburn._core import Tensor
from pyburn.keras import config as settings

__all__ = ["array_to_img", "img_to_array", "load_img", "save_img"]

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_KEPT = {"grayscale": ("L", "I;16", "I"), "rgb": ("RGB",), "rgba": ("RGBA",)}
_WAYS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}  # Pillow's numbers


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise ImportError("keras.utils: image files need Pillow; install it by `pip install pillow`") from None


def _numpy() -> Any:
    return importlib.import_module("numpy")


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Any:
    """An image of PIL as a numpy array (H, W, C), or (C, H, W) for "channels_first".

    Args:
        img: The image, or an array of two or three dimensions.
        data_format: Where the channels are; the global setting when left out.
        dtype: The dtype of the array; the default float when left out.
    """
    np = _numpy()
    made = np.asarray(img, dtype=dtype or settings.floatx())
    if made.ndim == 2:
        made = made[:, :, None]
    if made.ndim != 3:
        raise ValueError(f"img_to_array: an image has 2 or 3 dimensions, but the shape is {made.shape}")
    return made.transpose(2, 0, 1) if settings.data_format_of(data_format) == "channels_first" else made


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """An array (H, W, C) as an image of PIL.

    Args:
        x: The array or tensor, with 1, 3 or 4 channels.
        data_format: Where the channels are; the global setting when left out.
        scale: Whether its least number becomes black and its greatest white.
        dtype: The dtype in which that is computed.
    """
    np = _numpy()
    made = np.array(x.detach().cpu().numpy() if isinstance(x, Tensor) else x, dtype=dtype or settings.floatx())
    if made.ndim != 3:
        raise ValueError(f"array_to_img: an image has 3 dimensions, but the shape is {made.shape}")
    if settings.data_format_of(data_format) == "channels_first":
        made = made.transpose(1, 2, 0)
    if scale:
        made = made - made.min()
        made = made / (made.max() or 1) * 255
    if made.shape[2] not in (1, 3, 4):
        raise ValueError(f"array_to_img: an image has 1, 3 or 4 channels, but the shape is {made.shape}")
    if made.shape[2] == 1:
        return _pillow().fromarray(made[:, :, 0].astype("int32" if made.max() > 255 else "uint8"))
    return _pillow().fromarray(made.astype("uint8"))


def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True, **kwargs: Any
) -> None:
    """Nothing; the array is written to an image file; see `array_to_img` for the arguments."""
    img = array_to_img(x, data_format, scale)
    if img.mode == "RGBA" and (file_format in ("jpg", "jpeg") or str(path).lower().endswith((".jpg", ".jpeg"))):
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """The image of PIL that a file holds.

    Args:
        path: The file, or an open one.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: The height and width it gets.
        interpolation: "nearest", "bilinear", "bicubic", "lanczos", "box" or "hamming".
        keep_aspect_ratio: Whether what does not fit is cut off around the middle instead of squeezed.
    """
    if color_mode not in _MODES:
        raise ValueError(f"load_img: color_mode is {color_mode!r}, but must be one of {', '.join(_MODES)}")
    if interpolation not in _WAYS:
        raise ValueError(f"load_img: interpolation is {interpolation!r}, but must be one of {', '.join(_WAYS)}")
    with _pillow().open(path if hasattr(path, "read") else os.fspath(path)) as file:
        file.load()
        img = file if file.mode in _KEPT[color_mode] else file.convert(_MODES[color_mode])
    if target_size is None or img.size == (target_size[1], target_size[0]):
        return img
    box = middle(img.height, img.width, *target_size) if keep_aspect_ratio else None
    return img.resize((target_size[1], target_size[0]), _WAYS[interpolation], box)


def middle(height: int, width: int, target_height: int, target_width: int) -> tuple[int, int, int, int]:
    """The largest part (left, top, right, bottom) of the middle whose form is that of the target."""
    high = min(height, int(width * target_height / target_width))
    wide = min(width, int(height * target_width / target_height))
    top, left = int((height - high) / 2), int((width - wide) / 2)
    return left, top, left + wide, top + high
