"""Augmentations chosen by themselves: AutoAugment, RandAugment, TrivialAugmentWide and AugMix."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from pyburn._core import Tensor
from pyburn.distributions._gamma_sampling import _sample_dirichlet
from pyburn.ops import arange, linspace, rand, randint, tensor
from pyburn.utils._pytree import tree_flatten, tree_unflatten
from pyburn.vision._pil import is_pil
from pyburn.vision.transforms import draws
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.base import Fill, Fills, Transform, fill_for, fills, is_image
from pyburn.vision.transforms.functional.kinds import InterpolationMode, max_value
from pyburn.vision.transforms.policies import POLICIES
from pyburn.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask, TVTensor, Video

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

Mode = str | int | InterpolationMode
# For so many steps and a height and width: the strengths, and whether they go both ways.
Strengths = Callable[[int, int, int], Tensor | None]
Space = dict[str, tuple[Strengths, bool]]


class AutoAugmentPolicy(Enum):
    """For which dataset the policies were found."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def _up_to(most: float) -> tuple[Strengths, bool]:
    return lambda steps, height, width: linspace(0.0, most, steps), True


def _share_of_width(share: float) -> tuple[Strengths, bool]:
    return lambda steps, height, width: linspace(0.0, share * width, steps), True


def _share_of_height(share: float) -> tuple[Strengths, bool]:
    return lambda steps, height, width: linspace(0.0, share * height, steps), True


def _bits(first: int, span: int) -> tuple[Strengths, bool]:
    return lambda steps, height, width: (first - arange(steps) / ((steps - 1) / span)).round().int(), False


_NONE: tuple[Strengths, bool] = (lambda steps, height, width: None, False)
_FALLING: tuple[Strengths, bool] = (lambda steps, height, width: linspace(1.0, 0.0, steps), False)


def _space(shear: float, turn: float, strength: float, moves: tuple[Any, Any], bits: tuple[Strengths, bool]) -> Space:
    return {
        "ShearX": _up_to(shear),
        "ShearY": _up_to(shear),
        "TranslateX": moves[0],
        "TranslateY": moves[1],
        "Rotate": _up_to(turn),
        "Brightness": _up_to(strength),
        "Color": _up_to(strength),
        "Contrast": _up_to(strength),
        "Sharpness": _up_to(strength),
        "Posterize": bits,
        "Solarize": _FALLING,
        "AutoContrast": _NONE,
        "Equalize": _NONE,
    }


_MOVES = _share_of_width(150.0 / 331.0), _share_of_height(150.0 / 331.0)
_USUAL = _space(0.3, 30.0, 0.9, _MOVES, _bits(8, 4))
_WIDE = _space(0.99, 135.0, 0.99, (_up_to(32.0), _up_to(32.0)), _bits(8, 6))
_MIXED = _space(0.3, 30.0, 0.9, (_share_of_width(1 / 3.0), _share_of_height(1 / 3.0)), _bits(4, 4))
_COLOURS = ("Brightness", "Color", "Contrast", "Sharpness")


def augmented(image: Any, name: str, strength: float, interpolation: Mode, fill: Fill) -> Any:
    """The image after the augmentation of this name and strength."""

    def sheared(shear: list[float], move: list[int], center: list[float] | None) -> Any:
        return F.affine(image, 0.0, move, 1.0, shear, interpolation, fill, center)

    white = max_value(image.dtype) if isinstance(image, Tensor) else 255.0
    steps: dict[str, Callable[[], Any]] = {
        "Identity": lambda: image,
        "ShearX": lambda: sheared([math.degrees(math.atan(strength)), 0.0], [0, 0], [0, 0]),
        "ShearY": lambda: sheared([0.0, math.degrees(math.atan(strength))], [0, 0], [0, 0]),
        "TranslateX": lambda: sheared([0.0, 0.0], [int(strength), 0], None),
        "TranslateY": lambda: sheared([0.0, 0.0], [0, int(strength)], None),
        "Rotate": lambda: F.rotate(image, strength, interpolation, fill=fill),
        "Brightness": lambda: F.adjust_brightness(image, 1.0 + strength),
        "Color": lambda: F.adjust_saturation(image, 1.0 + strength),
        "Contrast": lambda: F.adjust_contrast(image, 1.0 + strength),
        "Sharpness": lambda: F.adjust_sharpness(image, 1.0 + strength),
        "Posterize": lambda: F.posterize(image, int(strength)),
        "Solarize": lambda: F.solarize(image, white * strength),
        "AutoContrast": lambda: F.autocontrast(image),
        "Equalize": lambda: F.equalize(image),
        "Invert": lambda: F.invert(image),
    }
    return steps[name]()


class _Auto(Transform):
    def __init__(self, *, interpolation: Mode = "nearest", fill: Fills = None) -> None:
        super().__init__()
        self.interpolation, self.fill = interpolation, fill
        self._fill = fills(fill)

    def forward(self, *inputs: Any) -> Any:
        """The inputs, with the image augmented."""
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        chosen = self._needs_transform_list(flat)
        places = [i for i, value in enumerate(flat) if chosen[i] and is_image(value)]
        for value in flat:
            if isinstance(value, BoundingBoxes | KeyPoints | Mask):
                raise TypeError(f"Inputs of type {type(value).__name__} are not supported by {type(self).__name__}()")
        if not places:
            raise TypeError("Found no image in the sample.")
        if len(places) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(places)}."
            )
        flat[places[0]] = self._augment(flat[places[0]])
        return tree_unflatten(flat, spec)

    def _augment(self, image: Any) -> Any:
        raise NotImplementedError

    def _apply_one(self, image: Any, name: str, strength: float) -> Any:
        return augmented(image, name, strength, self.interpolation, fill_for(self._fill, image))

    def _drawn(self, space: Space) -> str:
        return list(space)[int(randint(len(space), ()))]

    def _strength(self, rule: tuple[Strengths, bool], steps: int, image: Any, place: Callable[[], int]) -> float:
        strengths, both_ways = rule
        values = strengths(steps, *F.get_size(image))
        if values is None:
            return 0.0
        strength = float(values[place()])
        return -strength if both_ways and rand(()).item() <= 0.5 else strength


class AutoAugment(_Auto):
    """Two augmentations of a policy that was found for a dataset: Cubuk and others, 2018.

    Args:
        policy: Which policy.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the image.

    Raises:
        ValueError: There is no such policy.

    Example:
        >>> import pyburn
        >>> AutoAugment()(pyburn.zeros(3, 8, 8, dtype=pyburn.uint8)).shape
        pyburn.Size([3, 8, 8])
    """

    get_params = staticmethod(draws.policy_params)

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Mode = "nearest",
        fill: Fills = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not isinstance(policy, AutoAugmentPolicy):
            raise ValueError(f"The provided policy {policy} is not recognized.")
        self.policy = policy
        self._policies = POLICIES[policy.value]

    def _augment(self, image: Any) -> Any:
        space = {**_USUAL, "Invert": _NONE}
        for name, chance, place in self._policies[int(randint(len(self._policies), ()))]:
            if rand(()).item() <= chance:
                strength = self._strength(space[name], 10, image, partial(int, place or 0))
                image = self._apply_one(image, name, strength)
        return image


class RandAugment(_Auto):
    """Some augmentations of one strength: Cubuk and others, 2019.

    Args:
        num_ops: How many.
        magnitude: Which of the strengths.
        num_magnitude_bins: How many strengths there are.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the image.

    Raises:
        ValueError: `num_ops` is negative.

    Example:
        >>> import pyburn
        >>> RandAugment()(pyburn.zeros(3, 8, 8, dtype=pyburn.uint8)).shape
        pyburn.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Mode = "nearest",
        fill: Fills = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ValueError(f"num_ops should be a non-negative integer, but got {num_ops} instead.")
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins

    def _augment(self, image: Any) -> Any:
        space = {"Identity": _NONE, **_USUAL}
        for _ in range(self.num_ops):
            name = self._drawn(space)
            strength = self._strength(space[name], self.num_magnitude_bins, image, lambda: self.magnitude)
            image = self._apply_one(image, name, strength)
        return image


class TrivialAugmentWide(_Auto):
    """One augmentation of any strength: Müller and Hutter, 2021.

    Args:
        num_magnitude_bins: How many strengths there are.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the image.

    Example:
        >>> import pyburn
        >>> TrivialAugmentWide()(pyburn.zeros(3, 8, 8, dtype=pyburn.uint8)).shape
        pyburn.Size([3, 8, 8])
    """

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Mode = "nearest", fill: Fills = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augment(self, image: Any) -> Any:
        space, steps = {"Identity": _NONE, **_WIDE}, self.num_magnitude_bins
        name = self._drawn(space)
        return self._apply_one(image, name, self._strength(space[name], steps, image, lambda: int(randint(steps, ()))))


class AugMix(_Auto):
    """A mixture of the image and several chains of augmentations: Hendrycks and others, 2019.

    Args:
        severity: How strong they are, 1 to 10.
        mixture_width: How many chains.
        chain_depth: How long each is; 1 to 3 at random when not positive.
        alpha: The parameter of the distributions of the shares.
        all_ops: Whether brightness, colour, contrast and sharpness are among them.
        interpolation: "nearest" or "bilinear"; for images of PIL also "bicubic".
        fill: What is beyond the image.

    Raises:
        ValueError: `severity` is beyond 1 and 10.
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Mode = "bilinear",
        fill: Fills = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    def _space(self) -> Space:
        first = {name: rule for name, rule in _MIXED.items() if name not in _COLOURS}
        return {**first, **{name: _MIXED[name] for name in _COLOURS}} if self.all_ops else first

    def _chain(self, image: Tensor, space: Space) -> Tensor:
        depth = self.chain_depth if self.chain_depth > 0 else int(randint(1, 4, (1,)))
        for _ in range(depth):
            name = self._drawn(space)
            strength = self._strength(space[name], 10, image, lambda: int(randint(self.severity, ())))
            image = self._apply_one(image, name, strength)
        return image

    def _augment(self, image: Any) -> Any:
        plain = F.pil_to_tensor(image) if is_pil(image) else image.as_subclass(Tensor)
        missing = (5 if isinstance(image, Video) else 4) - plain.dim()
        batch = plain.reshape(*[1] * missing, *plain.shape)
        count = batch.shape[0]
        shape = [count] + [1] * (batch.dim() - 1)
        space = self._space()
        whole = _sample_dirichlet(tensor([self.alpha] * 2, device=batch.device).expand(count, -1))
        parts = _sample_dirichlet(tensor([self.alpha] * self.mixture_width, device=batch.device).expand(count, -1))
        parts = parts * whole[:, 1:]
        mix = whole[:, 0].reshape(shape) * batch
        for i in range(self.mixture_width):
            mix = mix + parts[:, i].reshape(shape) * self._chain(batch, space)
        made = mix.reshape(plain.shape).to(plain.dtype)
        if is_pil(image):
            return F.to_pil_image(made)
        return image._like(made) if isinstance(image, TVTensor) else made
