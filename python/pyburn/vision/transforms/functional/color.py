"""What colour pixels have: brightness, contrast, saturation, hue, and fewer colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, float32, int32, int64, uint8
from pyburn.nn.functional import conv2d
from pyburn.ops import cat, stack, tensor, where
from pyburn.vision._pil import pillow, to_pil, to_tensor
from pyburn.vision.transforms.functional.kinds import applied, flat_images, max_value, value_bits
from pyburn.vision.transforms.functional.pixels import scaled

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "equalize",
    "grayscale_to_rgb",
    "invert",
    "permute_channels",
    "posterize",
    "rgb_to_grayscale",
    "solarize",
    "to_grayscale",
]


def _check_channels(image: Tensor) -> int:
    channels = int(image.shape[-3])
    if channels not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found {channels}")
    return channels


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def _grey(image: Tensor) -> Tensor:
    """The lightness of each pixel of an RGB image, as floats."""
    red, green, blue = image.unbind(-3)
    return (red * 0.2989 + green * 0.587 + blue * 0.114).unsqueeze(-3)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """The lightness of an image.

    Args:
        inpt: An image of 1 or 3 channels.
        num_output_channels: 1, or 3 equal ones.

    Raises:
        ValueError: `num_output_channels` is neither.

    Example:
        >>> import pyburn
        >>> rgb_to_grayscale(pyburn.full((3, 1, 1), 100, dtype=pyburn.uint8)).tolist()
        [[[99]]]
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")

    def kernel(image: Tensor) -> Tensor:
        grey = image.clone() if image.shape[-3] == 1 else _grey(image).to(image.dtype)
        return grey if num_output_channels == 1 else cat([grey] * 3, -3)

    def pil_kernel(image: Any) -> Any:
        grey = image.convert("L")
        return grey if num_output_channels == 1 else pillow().merge("RGB", (grey, grey, grey))

    return applied("rgb_to_grayscale", inpt, kernel, pil_kernel)


to_grayscale = rgb_to_grayscale


def grayscale_to_rgb(inpt: Any) -> Any:
    """An image of three channels; those of one get it three times.

    Example:
        >>> import pyburn
        >>> grayscale_to_rgb(pyburn.zeros(1, 2, 2)).shape
        pyburn.Size([3, 2, 2])
    """
    return applied(
        "grayscale_to_rgb",
        inpt,
        lambda image: image if image.shape[-3] >= 3 else cat([image] * 3, -3),
        lambda image: image.convert("RGB"),
    )


def _blended(image: Tensor, other: Tensor, ratio: float) -> Tensor:
    made = (image * ratio + other * (1.0 - ratio)).clamp(0, max_value(image.dtype))
    return made.to(image.dtype)


def _enhanced(kind: str, factor: float) -> Any:
    return lambda image: getattr(pillow("ImageEnhance"), kind)(image).enhance(factor)


def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """The image with all values multiplied.

    Args:
        inpt: An image of 1 or 3 channels.
        brightness_factor: 0 for black, 1 for the image as it is.

    Raises:
        ValueError: The factor is negative.
        TypeError: There are other channels.

    Example:
        >>> import pyburn
        >>> adjust_brightness(pyburn.tensor([[[0.25, 0.75]]]), 2.0)
        tensor([[[0.5000, 1.0000]]])
    """

    def kernel(image: Tensor) -> Tensor:
        _check_factor("brightness_factor", brightness_factor)
        _check_channels(image)
        return (image * brightness_factor).clamp(0, max_value(image.dtype)).to(image.dtype)

    return applied("adjust_brightness", inpt, kernel, _enhanced("Brightness", brightness_factor))


def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """The image with values nearer to their mean, or farther from it.

    Args:
        inpt: An image of 1 or 3 channels.
        contrast_factor: 0 for grey, 1 for the image as it is.

    Raises:
        ValueError: The factor is negative.
        TypeError: There are other channels.

    Example:
        >>> import pyburn
        >>> adjust_contrast(pyburn.tensor([[[0.25, 0.75]]]), 0.0)
        tensor([[[0.5000, 0.5000]]])
    """

    def kernel(image: Tensor) -> Tensor:
        _check_factor("contrast_factor", contrast_factor)
        floats = image if image.is_floating_point() else image.to(float32)
        if _check_channels(image) == 3:
            floats = _grey(image) if image.is_floating_point() else _grey(image).floor()
        return _blended(image, floats.mean((-3, -2, -1), keepdim=True), contrast_factor)

    return applied("adjust_contrast", inpt, kernel, _enhanced("Contrast", contrast_factor))


def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """The image with stronger or weaker colours.

    Args:
        inpt: An image of 1 or 3 channels.
        saturation_factor: 0 for grey, 1 for the image as it is.

    Raises:
        ValueError: The factor is negative.
        TypeError: There are other channels.

    Example:
        >>> import pyburn
        >>> adjust_saturation(pyburn.tensor([[[1.0]], [[0.0]], [[0.0]]]), 0.0).flatten()
        tensor([0.2989, 0.2989, 0.2989])
    """

    def kernel(image: Tensor) -> Tensor:
        _check_factor("saturation_factor", saturation_factor)
        if _check_channels(image) == 1:
            return image
        grey = _grey(image) if image.is_floating_point() else _grey(image).floor()
        return _blended(image, grey, saturation_factor)

    return applied("adjust_saturation", inpt, kernel, _enhanced("Color", saturation_factor))


def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """The image blurred or sharpened.

    Args:
        inpt: An image of 1 or 3 channels.
        sharpness_factor: 0 for blurred, 1 for the image as it is, 2 for sharp.

    Raises:
        ValueError: The factor is negative.
        TypeError: There are other channels.

    Example:
        >>> import pyburn
        >>> adjust_sharpness(pyburn.ones(1, 5, 5), 2.0).sum().item()
        25.0
    """

    def kernel(image: Tensor) -> Tensor:
        _check_factor("sharpness_factor", sharpness_factor)
        channels = _check_channels(image)
        if image.numel() == 0 or image.shape[-2] <= 2 or image.shape[-1] <= 2:
            return image
        kind = image.dtype if image.is_floating_point() else float32
        made = flat_images(image).to(kind).clone()
        taps = tensor([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]], dtype=kind, device=image.device) / 13.0
        blurred = conv2d(made, taps.expand(channels, 1, 3, 3), groups=channels)
        if not image.is_floating_point():
            blurred = blurred.round()
        inside = made[..., 1:-1, 1:-1]
        made[..., 1:-1, 1:-1] = inside + (blurred - inside) * (1.0 - sharpness_factor)
        return made.clamp(0, max_value(image.dtype)).to(image.dtype).reshape(image.shape)

    return applied("adjust_sharpness", inpt, kernel, _enhanced("Sharpness", sharpness_factor))


def rgb_to_hsv(image: Tensor) -> Tensor:
    """RGB between 0 and 1 as hue, saturation and value between 0 and 1."""
    red, green, _ = image.unbind(-3)
    low, high = image.amin(-3), image.amax(-3)
    spread = high - low
    flat = spread == 0
    far = (high.unsqueeze(-3) - image) / where(flat, 1.0, spread).unsqueeze(-3)
    far_red, far_green, far_blue = far.unbind(-3)
    is_red, is_green = high == red, high == green
    hue = where(is_red, far_blue - far_green, where(is_green, 2.0 + far_red - far_blue, 4.0 + far_green - far_red))
    hue = (hue * (1.0 / 6.0) + 1.0).fmod(1.0)
    return stack([where(flat, 0.0, hue), spread / where(flat, 1.0, high), high], -3)


# Which of value, p, q and t is red, green and blue in each sixth of the circle of hues.
_SIXTHS = ((0, 2, 1, 1, 3, 0), (3, 0, 0, 2, 1, 1), (1, 1, 3, 0, 0, 2))


def hsv_to_rgb(image: Tensor) -> Tensor:
    """Hue, saturation and value between 0 and 1 as RGB between 0 and 1."""
    hue, saturation, value = image.unbind(-3)
    sixth = (hue * 6).floor()
    rest = hue * 6 - sixth
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    t = (value * (saturation * rest + (1.0 - saturation))).clamp(0.0, 1.0)
    which = sixth.to(int64).remainder(6)
    choice = stack([tensor(row, dtype=int64, device=image.device)[which] for row in _SIXTHS], -3)
    return stack([value, p, q, t], -3).gather(-3, choice)


def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """The image with all hues turned.

    Args:
        inpt: An image of 1 or 3 channels.
        hue_factor: How far, from -0.5 to 0.5 of the circle.

    Raises:
        ValueError: The factor is beyond.
        TypeError: There are other channels.

    Example:
        >>> import pyburn
        >>> adjust_hue(pyburn.tensor([[[1.0]], [[0.0]], [[0.0]]]), 1 / 3).flatten().round()
        tensor([0., 1., 0.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")

    def kernel(image: Tensor) -> Tensor:
        if _check_channels(image) == 1 or image.numel() == 0:
            return image
        hue, saturation, value = rgb_to_hsv(scaled(image, float32)).unbind(-3)
        turned = stack([(hue + hue_factor).remainder(1.0), saturation, value], -3)
        return scaled(hsv_to_rgb(turned), image.dtype)

    def pil_kernel(image: Any) -> Any:
        if image.mode in ("L", "1", "I", "F"):
            return image
        hue, saturation, value = image.convert("HSV").split()
        shift = int(hue_factor * 255)
        turned = hue.point([(place + shift) % 256 for place in range(256)])
        return pillow().merge("HSV", (turned, saturation, value)).convert(image.mode)

    return applied("adjust_hue", inpt, kernel, pil_kernel)


def adjust_gamma(inpt: Any, gamma: float, gain: float = 1) -> Any:
    """The image with values between 0 and 1 raised to a power.

    Args:
        inpt: An image.
        gamma: The power.
        gain: A factor for the result.

    Raises:
        ValueError: `gamma` is negative.

    Example:
        >>> import pyburn
        >>> adjust_gamma(pyburn.tensor([[[0.5]]]), 2.0).item()
        0.25
    """
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")

    def kernel(image: Tensor) -> Tensor:
        made = scaled(image, image.dtype if image.is_floating_point() else float32).pow(gamma)
        return scaled((made * gain).clamp(0.0, 1.0) if gain != 1 else made, image.dtype)

    def pil_kernel(image: Any) -> Any:
        table = [int((255 + 1 - 1e-3) * gain * pow(value / 255.0, gamma)) for value in range(256)]
        made = image.convert("RGB").point(table * 3)
        return made.convert(image.mode)

    return applied("adjust_gamma", inpt, kernel, pil_kernel)


def _inverted(image: Tensor) -> Tensor:
    return 1.0 - image if image.is_floating_point() else image.bitwise_xor(max_value(image.dtype))


def invert(inpt: Any) -> Any:
    """The image's negative.

    Example:
        >>> import pyburn
        >>> invert(pyburn.tensor([[[0, 255]]], dtype=pyburn.uint8)).tolist()
        [[[255, 0]]]
    """
    return applied("invert", inpt, _inverted, lambda image: pillow("ImageOps").invert(image))


def posterize(inpt: Any, bits: int) -> Any:
    """The image with fewer values in each channel.

    Args:
        inpt: An image.
        bits: How many bits each value keeps, 0 to 8.

    Raises:
        TypeError: `bits` is no such number.

    Example:
        >>> import pyburn
        >>> posterize(pyburn.tensor([[[200, 100]]], dtype=pyburn.uint8), 1).tolist()
        [[[128, 0]]]
    """

    def kernel(image: Tensor) -> Tensor:
        if not isinstance(bits, int) or not 0 <= bits <= 8:
            raise TypeError(f"bits must be a positive integer in the range [0, 8], got {bits} instead.")
        if image.is_floating_point():
            levels = 1 << bits
            return (image * levels).floor().clamp(0, levels - 1) * (1.0 / levels)
        all_bits = value_bits(image.dtype)
        return image if bits >= all_bits else image.bitwise_and(((1 << bits) - 1) << (all_bits - bits))

    return applied("posterize", inpt, kernel, lambda image: pillow("ImageOps").posterize(image, bits))


def solarize(inpt: Any, threshold: float) -> Any:
    """The image with the negative of all values from a threshold on.

    Args:
        inpt: An image.
        threshold: The least value that is inverted.

    Raises:
        TypeError: The threshold is beyond white.

    Example:
        >>> import pyburn
        >>> solarize(pyburn.tensor([[[200, 100]]], dtype=pyburn.uint8), 128).tolist()
        [[[55, 100]]]
    """

    def kernel(image: Tensor) -> Tensor:
        if threshold > max_value(image.dtype):
            raise TypeError(f"Threshold should be less or equal the maximum value of the dtype, but got {threshold}")
        return where(image >= threshold, _inverted(image), image)

    return applied("solarize", inpt, kernel, lambda image: pillow("ImageOps").solarize(image, threshold))


def autocontrast(inpt: Any) -> Any:
    """The image with each channel stretched from black to white.

    Raises:
        TypeError: There are other than 1 or 3 channels.

    Example:
        >>> import pyburn
        >>> autocontrast(pyburn.tensor([[[0.25, 0.5, 0.75]]]))
        tensor([[[0.0000, 0.5000, 1.0000]]])
    """

    def kernel(image: Tensor) -> Tensor:
        _check_channels(image)
        if image.numel() == 0:
            return image
        bound = max_value(image.dtype)
        floats = image if image.is_floating_point() else image.to(float32)
        low, high = floats.amin((-2, -1), keepdim=True), floats.amax((-2, -1), keepdim=True)
        flat = low == high
        step = where(flat, 1.0, (high - low) * (1.0 / bound))
        return ((floats - where(flat, 0.0, low)) / step).clamp(0, bound).to(image.dtype)

    return applied("autocontrast", inpt, kernel, lambda image: pillow("ImageOps").autocontrast(image))


def _equalized(image: Tensor) -> Tensor:
    if image.numel() == 0:
        return image
    bytes_ = scaled(image, uint8)
    places = bytes_.flatten(-2).to(int64)
    counts = places.new_zeros(*places.shape[:-1], 256, dtype=int32)
    counts = counts.scatter_add(-1, places, counts.new_ones(1).expand(*places.shape))
    summed = counts.cumsum(-1)
    last = counts.gather(-1, summed.argmax(-1, keepdim=True))
    step = (places.shape[-1] - last).div(255, rounding_mode="floor")
    table = (summed[..., :-1] + step.div(2, rounding_mode="floor")).div(step.clamp(min=1), rounding_mode="floor")
    table = cat([table.new_zeros(*table.shape[:-1], 1), table.clamp(0, 255)], -1).to(uint8)
    made = table.gather(-1, places).reshape(bytes_.shape)
    return scaled(where((step != 0).unsqueeze(-1), made, bytes_), image.dtype)


def equalize(inpt: Any) -> Any:
    """The image with values spread so that all occur about as often.

    Example:
        >>> import pyburn
        >>> equalize(pyburn.zeros(1, 4, 4, dtype=pyburn.uint8)).sum().item()
        0
    """
    return applied("equalize", inpt, _equalized, lambda image: pillow("ImageOps").equalize(image))


def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """The image with its channels in another order.

    Args:
        inpt: An image.
        permutation: Which channel comes at each place.

    Raises:
        ValueError: There are more or fewer channels.

    Example:
        >>> import pyburn
        >>> permute_channels(pyburn.arange(3).reshape(3, 1, 1), [2, 0, 1]).flatten().tolist()
        [2, 0, 1]
    """

    def kernel(image: Tensor) -> Tensor:
        channels = image.shape[-3]
        if len(permutation) != channels:
            raise ValueError(
                f"Length of permutation does not match number of channels: {len(permutation)} != {channels}"
            )
        order = tensor([int(place) for place in permutation], dtype=int64, device=image.device)
        return image.index_select(-3, order)

    return applied("permute_channels", inpt, kernel, lambda image: to_pil(kernel(to_tensor(image))))
