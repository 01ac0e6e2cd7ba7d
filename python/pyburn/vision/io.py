"""torchvision.io for images: files and bytes to tensors and back, decoded by Pillow, which releases the GIL for it."""

from __future__ import annotations

import io
import os
from enum import Enum
from typing import Any

from pyburn._copying import _from_bytes
from pyburn._core import Tensor, uint8
from pyburn._files import replacing
from pyburn.ops import stack
from pyburn.vision._pil import ImageFileError, pillow, to_pil, to_tensor

__all__ = [
    "ImageReadMode",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]

Path = str | os.PathLike[str]


class ImageReadMode(Enum):
    """What an image becomes when it is read: as it is, grey, or coloured, with or without transparency."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}


def read_file(path: Path) -> Tensor:
    """The bytes of a file.

    Example:
        >>> read_file(__file__).dtype
        pyburn.uint8
    """
    with open(path, "rb") as file:
        data = file.read()
    return _from_bytes(data, (len(data),), uint8)


def write_file(filename: Path, data: Tensor) -> None:
    """Nothing; bytes are written to a file, all of them or none."""
    with replacing(filename) as file:
        file.write(data.detach().cpu().contiguous()._bytes())


def _decoded(source: Any, what: str, mode: ImageReadMode | str, turn: bool) -> Tensor:
    wanted = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    try:
        picture = pillow().open(source)
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageFileError(f"{what} is no image that Pillow can read: {error}") from error
    if turn:
        picture = pillow("ImageOps").exif_transpose(picture)
    if wanted in _MODES:
        picture = picture.convert(_MODES[wanted])
    elif picture.mode in ("P", "1"):
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB" if picture.mode == "P" else "L")
    return to_tensor(picture)


def decode_image(
    input: Tensor | Path,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """The image (C, H, W) of a file's bytes, or of a file.

    Args:
        input: The bytes, or the name of the file.
        mode: What it becomes.
        apply_exif_orientation: Whether it is turned as its camera was.

    Raises:
        RuntimeError: It is no image, or is cut off.
    """
    if isinstance(input, Tensor):
        source = io.BytesIO(input.cpu().contiguous()._bytes())
        return _decoded(source, "decode_image: the input", mode, apply_exif_orientation)
    return read_image(input, mode, apply_exif_orientation)


def read_image(
    path: Path, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """The image (C, H, W) of a file.

    Args:
        path: The file.
        mode: What it becomes.
        apply_exif_orientation: Whether it is turned as its camera was.

    Raises:
        RuntimeError: It is no image, or is cut off; the text names the file.
    """
    with open(path, "rb") as file:
        return _decoded(file, os.fspath(path), mode, apply_exif_orientation)


def decode_png(
    input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """The image (C, H, W) of the bytes of a PNG file; see `decode_image`."""
    return decode_image(input, mode, apply_exif_orientation)


def decode_jpeg(
    input: Tensor | list[Tensor],
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """The image (C, H, W) of the bytes of a JPEG file, or the images of several.

    Args:
        input: The bytes of one file, or a list of those of several.
        mode: What it becomes.
        device: Where the image is.
        apply_exif_orientation: Whether it is turned as its camera was.

    Raises:
        RuntimeError: It is no image, or is cut off.
        ValueError: The list is empty.
    """
    if isinstance(input, list):
        if not input:
            raise ValueError("Input list must contain at least one element")
        return [decode_jpeg(each, mode, device, apply_exif_orientation) for each in input]
    return decode_image(input, mode, apply_exif_orientation).to(device)


def decode_webp(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """The image (C, H, W) of the bytes of a WEBP file; see `decode_image`."""
    return decode_image(input, mode)


def decode_gif(input: Tensor) -> Tensor:
    """The image (3, H, W) of the bytes of a GIF file, or its images (N, 3, H, W) if it has several.

    Raises:
        RuntimeError: It is no image, or is cut off.
    """
    source = io.BytesIO(input.cpu().contiguous()._bytes())
    try:
        picture = pillow().open(source)
        frames = []
        for number in range(getattr(picture, "n_frames", 1)):
            picture.seek(number)
            frames.append(to_tensor(picture.convert("RGB")))
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise ImageFileError(f"decode_gif: the input is no image that Pillow can read: {error}") from error
    return frames[0] if len(frames) == 1 else stack(frames)


def _encoded(image: Tensor, name: str, **options: Any) -> Tensor:
    if image.dtype != uint8 or image.dim() != 3 or image.shape[0] not in (1, 3):
        raise RuntimeError(
            f"encode: an image (1 or 3, H, W) of uint8 is needed, not {list(image.shape)} of {image.dtype}."
        )
    target = io.BytesIO()
    to_pil(image).save(target, format=name, **options)
    data = target.getvalue()
    return _from_bytes(data, (len(data),), uint8)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file with this image (1 or 3, H, W).

    Args:
        input: The image of bytes.
        compression_level: From 0, large and fast, to 9.

    Raises:
        RuntimeError: It is no such image, or the level none.
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(input, "PNG", compress_level=compression_level)


def write_png(input: Tensor, filename: Path, compression_level: int = 6) -> None:
    """Nothing; the image is written as a PNG file. See `encode_png`."""
    write_file(filename, encode_png(input, compression_level))


def encode_jpeg(input: Tensor | list[Tensor], quality: int = 75) -> Any:
    """The bytes of a JPEG file with this image (1 or 3, H, W), or those of several files.

    Args:
        input: The image of bytes, or a list of images.
        quality: From 1 to 100.

    Raises:
        RuntimeError: It is no such image.
        ValueError: The quality is none.
    """
    if not 1 <= quality <= 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, list):
        return [_encoded(image, "JPEG", quality=quality) for image in input]
    return _encoded(input, "JPEG", quality=quality)


def write_jpeg(input: Tensor, filename: Path, quality: int = 75) -> None:
    """Nothing; the image is written as a JPEG file. See `encode_jpeg`."""
    write_file(filename, encode_jpeg(input, quality))
