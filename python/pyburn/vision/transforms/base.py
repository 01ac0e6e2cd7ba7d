"""What all transforms share: they walk through any structure and know what in it is for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import Module
from pyburn.ops import empty, rand
from pyburn.utils._pytree import tree_flatten, tree_unflatten
from pyburn.vision._pil import is_pil
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.functional.kinds import is_pure_tensor
from pyburn.vision.tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, TVTensor, Video

__all__ = ["RandomApplyTransform", "Transform"]

Fill = float | Sequence[float] | None
Fills = Fill | dict[type | str, Fill]

# Functions of colours: masks, boxes and points pass them as they are.
_COLOURS = {
    getattr(F, name)
    for name in F.__all__
    if name.startswith(("adjust", "gaussian", "autocontrast", "equalize", "erase", "grayscale", "invert", "normalize"))
    or name in ("jpeg", "permute_channels", "posterize", "rgb_to_grayscale", "solarize")
}


def is_image(value: object) -> bool:
    """Whether this is an image, of whatever kind."""
    return is_pure_tensor(value) or isinstance(value, Image | Video) or is_pil(value)


def has_pil(values: Sequence[Any]) -> bool:
    """Whether an image of PIL is among them."""
    return any(is_pil(value) for value in values)


class Transform(Module):
    """The base of transforms: a subclass gives `transform`, and `make_params` if it draws numbers.

    Called with images, masks and boxes in tuples, lists and dicts of any depth, it gives the same structure. A tensor
    that does not say what it is counts as the image, if there is no other and it is the first; what is neither passes
    as it is.

    Example:
        >>> import pyburn
        >>> class Twice(Transform):
        ...     def transform(self, inpt, params):
        ...         return inpt * 2
        >>> Twice()({"image": pyburn.ones(1, 1, 1), "name": "one"})
        {'image': tensor([[[2.]]]), 'name': 'one'}
    """

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Nothing; raises if the inputs are none that this transform takes."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is drawn once for all inputs."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One input, transformed."""
        raise NotImplementedError(f"{type(self).__name__}: a Transform must define transform(inpt, params).")

    def _call_kernel(self, function: Callable[..., Any], inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, BoundingBoxes | KeyPoints | Mask) and function in _COLOURS:
            return inpt
        if isinstance(inpt, TVTensor) and not isinstance(inpt, Image | Video | Mask | BoundingBoxes | KeyPoints):
            return inpt
        return function(inpt, *args, **kwargs)

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed."""
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat)
        return tree_unflatten(self._transformed(flat), spec)

    def _transformed(self, flat: list[Any]) -> list[Any]:
        mine = self._needs_transform_list(flat)
        params = self.make_params([value for value, chosen in zip(flat, mine, strict=True) if chosen])
        return [self.transform(value, params) if chosen else value for value, chosen in zip(flat, mine, strict=True)]

    def _takes(self, value: Any) -> bool:
        """Whether this kind of value is for this transform."""
        return isinstance(value, Tensor) or is_pil(value)

    def _needs_transform_list(self, flat: list[Any]) -> list[bool]:
        free = not any(isinstance(value, Image | Video) or is_pil(value) for value in flat)
        chosen = []
        for value in flat:
            takes = self._takes(value)
            if takes and is_pure_tensor(value):
                takes, free = free, False
            chosen.append(takes)
        return chosen

    def extra_repr(self) -> str:
        """The arguments."""
        plain = (bool, int, float, str, tuple, list, Enum)
        known = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "training"}
        return ", ".join(f"{name}={value}" for name, value in known.items() if isinstance(value, plain))


class RandomApplyTransform(Transform):
    """A transform that is done with a probability.

    Args:
        p: The probability.

    Raises:
        ValueError: It is none.
    """

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed or not."""
        whole = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(whole)
        self.check_inputs(flat)
        if rand(1).item() >= self.p:
            return whole
        return tree_unflatten(self._transformed(flat), spec)


def query_size(flat_inputs: Sequence[Any]) -> tuple[int, int]:
    """The height and width that all images, masks, boxes and points have.

    Raises:
        TypeError: There is none.
        ValueError: They differ.
    """
    kinds = [value for value in flat_inputs if is_image(value) or isinstance(value, Mask | BoundingBoxes | KeyPoints)]
    sizes = {tuple(F.get_size(value)) for value in kinds}
    if not sizes:
        raise TypeError("No image, video, mask, bounding box of keypoint was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {', '.join(map(str, sorted(sizes)))}")
    height, width = sizes.pop()
    return height, width


def query_chw(flat_inputs: Sequence[Any]) -> tuple[int, int, int]:
    """The channels, height and width that all images have.

    Raises:
        TypeError: There is none.
        ValueError: They differ.
    """
    sizes = {tuple(F.get_dimensions(value)) for value in flat_inputs if is_image(value)}
    if not sizes:
        raise TypeError("No image or video was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple CxHxW dimensions in the sample: {', '.join(map(str, sorted(sizes)))}")
    channels, height, width = sizes.pop()
    return channels, height, width


def uniform(low: Any, high: Any) -> float:
    """One number between two, drawn as torchvision draws it."""
    return float(empty(1).uniform_(float(low), float(high)).item())


def check_sequence(value: Any, name: str, lengths: tuple[int, ...]) -> None:
    """Nothing; raises if `value` is no sequence of one of these lengths."""
    wanted = " or ".join(map(str, lengths))
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a sequence of length {wanted}.")
    if len(value) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {wanted}.")


def angles(value: Any, name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """A range of angles: of one number, from minus it to it."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        value = [-value, value]
    check_sequence(value, name, lengths)
    return [float(angle) for angle in value]


def two_numbers(value: Any, name: str) -> list[float]:
    """Two numbers, of one or two."""
    if not isinstance(value, int | float | Sequence):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(value)}")
    values = [value] if isinstance(value, int | float) else list(value)
    if len(values) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(values)}")
    if not all(isinstance(number, int | float) for number in values):
        raise ValueError(f"{name} should be a sequence of numbers. Got {[type(number) for number in values]}")
    return [float(values[0]), float(values[-1])]


def fills(fill: Fills) -> dict[type | str, Fill]:
    """What to fill with, by the input's class.

    Raises:
        TypeError: It is no number, sequence or dict of such.
    """
    by_kind = fill if isinstance(fill, dict) else {"others": fill}
    for value in by_kind.values():
        if value is not None and not isinstance(value, int | float | tuple | list):
            raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are allowed.")
    return {
        kind: value if value is None or isinstance(value, int | float) else [float(part) for part in value]
        for kind, value in by_kind.items()
    }


def fill_for(fill: Mapping[type | str, Fill], inpt: Any) -> Fill:
    """What to fill this input with."""
    return fill[type(inpt)] if type(inpt) in fill else fill.get("others")


def labels_of(getter: str | Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """The function that finds the labels of a sample.

    Raises:
        ValueError: `getter` is neither "default" nor a function nor None.
    """
    if getter == "default":
        return _find_labels
    if callable(getter):
        return getter
    if getter is None:
        return lambda inputs: None
    raise ValueError(f"labels_getter should either be 'default', a callable, or None, but got {getter}.")


def _find_labels(inputs: Any) -> Any:
    """The second of a pair if it is a tensor, else what stands under "labels", or a key with "label" in it."""
    if isinstance(inputs, tuple | list):
        inputs = inputs[1]
    if is_pure_tensor(inputs):
        return inputs
    if not isinstance(inputs, Mapping):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a two-tuple "
            f"whose second item is a dictionary or a tensor, but got {inputs} instead."
        )
    for fits in (lambda key: key == "labels", lambda key: "label" in key):
        for key in inputs:
            if fits(key.lower()):
                return inputs[key]
    raise ValueError(
        "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter parameter? "
        "If there are no labels in the sample by design, pass labels_getter=None."
    )
