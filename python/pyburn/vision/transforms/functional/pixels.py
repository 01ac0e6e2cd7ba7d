"""What numbers pixels are: dtypes, means, blur, noise, holes, and the way from and to PIL and numpy."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import (
    Tensor,
    dtype,
    float32,
    float64,
    get_default_dtype,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)
from pyburn._core import (
    bool as bool_,
)
from pyburn.nn.functional import conv2d, pad
from pyburn.ops import as_tensor, from_numpy, linspace, randn_like, softmax, stack
from pyburn.vision._pil import is_pil, pillow, to_pil
from pyburn.vision._pil import to_tensor as pixels_of
from pyburn.vision.transforms.functional.kinds import applied, flat_images, max_value, value_bits
from pyburn.vision.tv_tensors import Image, TVTensor, Video

__all__ = [
    "convert_image_dtype",
    "erase",
    "gaussian_blur",
    "gaussian_noise",
    "jpeg",
    "normalize",
    "pil_to_tensor",
    "to_dtype",
    "to_image",
    "to_pil_image",
    "to_tensor",
]


def scaled(image: Tensor, kind: dtype) -> Tensor:
    """An image in another dtype, with white as that dtype's white.

    Raises:
        RuntimeError: Floats have not enough digits for the integers.
    """
    old = image.dtype
    if old == kind:
        return image
    if old.is_floating_point:
        if kind.is_floating_point:
            return image.to(kind)
        if (old == float32 and kind in (int32, int64)) or (old == float64 and kind == int64):
            raise RuntimeError(f"The conversion from {old} to {kind} cannot be performed safely.")
        # A little less than one more than white, so that all integers get the same share of the floats.
        return (image * (max_value(kind) + 1.0 - 1e-3)).to(kind)
    if kind.is_floating_point:
        return image.to(kind) * (1.0 / max_value(old))
    shift = value_bits(old) - value_bits(kind)
    if shift > 0:
        return (image.to(int64) if old == uint16 else image).bitwise_right_shift(shift).to(kind)
    return image.to(int64).bitwise_left_shift(-shift).to(kind)


def to_dtype(inpt: Any, dtype: dtype = float32, scale: bool = False) -> Any:
    """The input in another dtype.

    Args:
        inpt: An image, masks or boxes.
        dtype: The dtype.
        scale: Whether white stays white: 255 of bytes becomes 1 of floats. Masks and boxes keep their numbers.

    Raises:
        RuntimeError: Floats have not enough digits for the integers.

    Example:
        >>> import pyburn
        >>> to_dtype(pyburn.tensor([[[0, 255]]], dtype=pyburn.uint8), pyburn.float32, scale=True)
        tensor([[[0., 1.]]])
    """
    if isinstance(inpt, TVTensor) and not isinstance(inpt, Image | Video):
        return inpt._like(inpt.as_subclass(Tensor).to(dtype))
    return applied("to_dtype", inpt, lambda image: scaled(image, dtype) if scale else image.to(dtype), _no_pil)


def _no_pil(image: Any) -> Any:
    raise TypeError("An image of PIL is not supported here; make a tensor of it first, with ToImage or PILToTensor.")


def convert_image_dtype(image: Any, dtype: dtype = float32) -> Any:
    """An image in another dtype, with white as that dtype's white; the older name of `to_dtype(scale=True)`.

    Example:
        >>> import pyburn
        >>> convert_image_dtype(pyburn.tensor([[[1.0]]]), pyburn.uint8).item()
        255
    """
    return to_dtype(image, dtype, scale=True)


def pil_to_tensor(pic: Any) -> Tensor:
    """An image of PIL as (C, H, W), with the numbers it has.

    Raises:
        TypeError: It is no image of PIL.
    """
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return pixels_of(pic)


def _is_array(value: object) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "ndim")


def to_tensor(pic: Any) -> Tensor:
    """An image of PIL or an array (H, W, C) as (C, H, W); bytes become floats between 0 and 1.

    Raises:
        TypeError: It is neither.
        ValueError: The array has other than 2 or 3 dimensions.

    Example:
        >>> import numpy
        >>> to_tensor(numpy.full((1, 1, 3), 255, numpy.uint8)).flatten()
        tensor([1., 1., 1.])
    """
    if is_pil(pic):
        made = pixels_of(pic)
    elif _is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        made = _from_array(pic)
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    if made.dtype == uint8:
        return made.to(get_default_dtype()) / 255
    if made.dtype == bool_:
        return made.to(get_default_dtype())
    return made.view(int16) if made.dtype == uint16 else made


def _from_array(array: Any) -> Tensor:
    # A copy: an array may be read only, or have strides that no tensor has.
    return from_numpy(array.reshape(*array.shape[:2], -1).transpose(2, 0, 1).copy())


def to_image(inpt: Any) -> Any:
    """A tensor, an image of PIL or an array (H, W, C) as an `Image`.

    Raises:
        TypeError: It is none of these.

    Example:
        >>> import pyburn
        >>> type(to_image(pyburn.zeros(3, 2, 2))).__name__
        'Image'
    """
    if _is_array(inpt):
        return Image(_from_array(inpt))
    if not (is_pil(inpt) or isinstance(inpt, Tensor)):
        raise TypeError(
            f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead."
        )
    return Image(inpt)


_MODES = {1: (), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W) or an array (H, W, C) as an image of PIL; floats are taken as between 0 and 1.

    Args:
        pic: The tensor or array.
        mode: PIL's name for what the channels are; guessed from their number and dtype when left out.

    Raises:
        TypeError: It is neither, or of a dtype that PIL has not.
        ValueError: The shape or the mode does not fit.
    """
    if _is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        pic = _from_array(pic)
    if not isinstance(pic, Tensor):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    image = pic.as_subclass(Tensor).detach()
    if image.dim() not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {image.dim()} dimensions.")
    image = image.unsqueeze(0) if image.dim() == 2 else image
    channels = image.shape[0]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    if image.is_floating_point() and mode != "F":
        # Through integers, as numpy does it: what is beyond white starts again at black.
        image = (image * 255).to(int32).bitwise_and(255).to(uint8)
    allowed = _MODES[channels]
    if channels == 1:
        allowed = tuple(name for kind, name in _ONE.items() if kind == image.dtype)
    if mode is not None and mode not in allowed:
        raise ValueError(f"Incorrect mode ({mode}) supplied for {channels} channels of {image.dtype}: {list(allowed)}")
    if not allowed or (channels > 1 and image.dtype != uint8):
        raise TypeError(f"Input type {image.dtype} is not supported")
    return to_pil(image, mode or allowed[0])


_ONE = {uint8: "L", int16: "I;16", int32: "I", float32: "F"}


def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """The image minus the mean of each channel, divided by its deviation.

    Args:
        inpt: An image of floats.
        mean: One number for each channel.
        std: One number for each channel.
        inplace: Whether the input itself is changed.

    Raises:
        TypeError: The image has no floats.
        ValueError: A deviation is 0, or the image has less than three dimensions.

    Example:
        >>> import pyburn
        >>> normalize(pyburn.ones(2, 1, 1), [0.0, 1.0], [0.5, 1.0]).flatten()
        tensor([2., 0.])
    """

    def kernel(image: Tensor) -> Tensor:
        if not image.is_floating_point():
            raise TypeError(f"Input tensor should be a float tensor. Got {image.dtype}.")
        if image.dim() < 3:
            raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got {image.shape}.")
        if isinstance(std, tuple | list) and not all(std):
            raise ValueError("std evaluated to zero, leading to division by zero.")
        numbers = [as_tensor(value, dtype=image.dtype, device=image.device) for value in (mean, std)]
        middle, spread = (value.reshape(-1, 1, 1) if value.dim() == 1 else value for value in numbers)
        return image.sub_(middle).div_(spread) if inplace else (image - middle) / spread

    return applied("normalize", inpt, kernel, _no_pil)


def _pair(name: str, value: Any) -> list[Any]:
    values = [value, value] if isinstance(value, int | float) else list(value)
    if name == "sigma" and len(values) == 1:
        values = values * 2
    if len(values) != 2:
        raise ValueError(f"If {name} is a sequence, its length should be 2. Got {len(values)}")
    return values


def _bell(size: int, sigma: float, kind: dtype, device: Any) -> Tensor:
    reach = (size - 1) / (2.0 * math.sqrt(2.0))
    return softmax(-(linspace(-reach, reach, size, dtype=kind, device=device) / sigma).pow(2), 0)


def gaussian_blur(inpt: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """The image blurred with a bell, mirrored at its edges.

    Args:
        inpt: An image.
        kernel_size: How many pixels the bell covers, along x and y; odd.
        sigma: Its widths along x and y; from `kernel_size` when left out.

    Raises:
        ValueError: A size is even, or a width not positive.
        TypeError: `sigma` is no number.

    Example:
        >>> import pyburn
        >>> gaussian_blur(pyburn.ones(1, 5, 5), 3).sum().round().item()
        25.0
    """
    sizes = _pair("kernel_size", kernel_size)
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is not None and not isinstance(sigma, int | float | list | tuple):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    widths = [size * 0.15 + 0.35 for size in sizes] if sigma is None else _pair("sigma", sigma)
    if any(width <= 0.0 for width in widths):
        raise ValueError(f"sigma should have positive values. Got {sigma}")

    def kernel(image: Tensor) -> Tensor:
        if image.numel() == 0:
            return image
        kind = image.dtype if image.is_floating_point() else float32
        along_x, along_y = (_bell(size, width, kind, image.device) for size, width in zip(sizes, widths, strict=True))
        channels = image.shape[-3]
        bell = (along_y.unsqueeze(-1) * along_x).expand(channels, 1, sizes[1], sizes[0])
        reach = [sizes[0] // 2, sizes[0] // 2, sizes[1] // 2, sizes[1] // 2]
        made = conv2d(pad(flat_images(image).to(kind), reach, mode="reflect"), bell, groups=channels)
        return (made if kind == image.dtype else made.round().to(image.dtype)).reshape(image.shape)

    return applied("gaussian_blur", inpt, kernel)


def gaussian_noise(inpt: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """The image plus normally distributed numbers.

    Args:
        inpt: An image of floats or bytes.
        mean: The mean of the noise, where white is 1.
        sigma: Its deviation.
        clip: Whether what is beyond black and white is cut off.

    Raises:
        ValueError: `sigma` is negative, or the image has other numbers or is one of PIL.

    Example:
        >>> import pyburn
        >>> gaussian_noise(pyburn.ones(1, 2, 2), sigma=0.0).sum().item()
        4.0
    """
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")

    def kernel(image: Tensor) -> Tensor:
        if image.is_floating_point():
            noisy = image + (mean + randn_like(image) * sigma)
            return noisy.clamp(0, 1) if clip else noisy
        if image.dtype != uint8:
            raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={image.dtype}")
        noise = (mean * 255 + randn_like(image, dtype=float32) * (sigma * 255)).to(int16)
        noisy = image + noise
        return (noisy.clamp(0, 255) if clip else noisy).to(uint8)

    def pil_kernel(image: Any) -> Any:
        raise ValueError("Gaussian Noise is not implemented for PIL images.")

    return applied("gaussian_noise", inpt, kernel, pil_kernel)


def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Any:
    """The image with a part replaced.

    Args:
        inpt: An image.
        i: The part's first row.
        j: Its first column.
        h: How many rows.
        w: How many columns.
        v: What it is replaced by.
        inplace: Whether the input itself is changed.

    Example:
        >>> import pyburn
        >>> erase(pyburn.ones(1, 3, 3), 0, 0, 2, 2, pyburn.zeros(1)).sum().item()
        5.0
    """

    def kernel(image: Tensor) -> Tensor:
        made = image if inplace else image.clone()
        made[..., i : i + h, j : j + w] = v.to(device=made.device).to(made.dtype)
        return made

    return applied("erase", inpt, kernel)


def jpeg(image: Any, quality: int) -> Any:
    """The image packed as JPEG and unpacked again.

    Args:
        image: An image (..., 1 or 3, H, W) of bytes.
        quality: From 1 to 100.

    Raises:
        RuntimeError: The image is no such one.
    """

    def one(picture: Any) -> Any:
        target = io.BytesIO()
        picture.save(target, format="JPEG", quality=quality)
        return pillow().open(target).copy()

    def kernel(pixels: Tensor) -> Tensor:
        if pixels.dtype != uint8 or pixels.dim() < 3 or pixels.shape[-3] not in (1, 3):
            raise RuntimeError(
                f"jpeg: an image (..., 1 or 3, H, W) of uint8 is needed, got {list(pixels.shape)} of {pixels.dtype}."
            )
        if pixels.numel() == 0:
            return pixels.clone()
        packed = [pixels_of(one(to_pil(part))) for part in flat_images(pixels)]
        return stack(packed).reshape(pixels.shape).to(pixels.device)

    return applied("jpeg", image, kernel, one)
