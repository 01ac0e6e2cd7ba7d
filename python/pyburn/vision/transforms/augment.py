"""Transforms that mix samples or take parts of them away."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.distributions import Beta
from pyburn.nn.functional import one_hot
from pyburn.ops import randint, tensor
from pyburn.utils._pytree import tree_flatten, tree_unflatten
from pyburn.vision.transforms import draws
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.base import (
    RandomApplyTransform,
    Transform,
    check_sequence,
    has_pil,
    is_image,
    labels_of,
    query_chw,
    query_size,
)
from pyburn.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask, TVTensor, Video

__all__ = ["JPEG", "CutMix", "MixUp", "RandomErasing"]

Params = dict[str, Any]


class RandomErasing(RandomApplyTransform):
    """A rectangle of the image replaced, with a probability: Zhong and others, 2017.

    Args:
        p: The probability.
        scale: The least and the greatest share of the area.
        ratio: The least and the greatest ratio of height to width.
        value: What it is replaced by: a number, one for each channel, or "random" for normally distributed numbers.
        inplace: Whether the input itself is changed.

    Raises:
        ValueError: A share is beyond 0 and 1, or `value` is another text.
        TypeError: An argument is of another type.
    """

    get_params = staticmethod(draws.erasing_params)

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        if not isinstance(value, int | float | str | tuple | list):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        for name, span in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(span, Sequence):
                raise TypeError(f"{name} should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        self.scale, self.ratio, self.inplace = scale, ratio, inplace
        numbers = [value] if isinstance(value, int | float) else value
        self.value = None if isinstance(numbers, str) else [float(number) for number in numbers]

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The rectangle, and what replaces it."""
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of inpt channels)"
            )
        found = draws.rectangle_in(channels, height, width, self.scale, self.ratio, self.value)
        return {} if found is None else dict(zip("ijhwv", found, strict=True))

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image with the rectangle replaced."""
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace) if params else inpt


class _Mixing(Transform):
    """What `MixUp` and `CutMix` share: each sample of a batch meets the one before it, and so do the labels.

    Args:
        alpha: Both parameters of the Beta distribution of how much is mixed.
        num_classes: How many classes there are; may be left out if labels are probabilities already.
        labels_getter: A function from the inputs to the labels; the second input when left out.
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        num_classes: int | None = None,
        labels_getter: Callable[[Any], Any] | str | None = "default",
    ) -> None:
        super().__init__()
        self.alpha = float(alpha)
        self._beta = Beta(tensor([self.alpha]), tensor([self.alpha]))
        self.num_classes = num_classes
        self._labels_getter = labels_of(labels_getter)

    def _check_labels(self, labels: Any) -> None:
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.dim() not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape "
                f"(batch_size, num_classes), but got a tensor of shape {labels.shape} instead."
            )
        if labels.dim() == 2 and self.num_classes not in (None, labels.shape[-1]):
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.dim() == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def forward(self, *inputs: Any) -> Any:
        """The inputs, mixed."""
        whole = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(whole)
        chosen = self._needs_transform_list(flat)
        if has_pil(flat) or any(isinstance(value, BoundingBoxes | KeyPoints | Mask) for value in flat):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._labels_getter(whole)
        self._check_labels(labels)
        params = self.make_params([value for value, mine in zip(flat, chosen, strict=True) if mine])
        made = [
            self._mixed_labels(value, params["share"])
            if value is labels
            else self._mixed(value, labels, params)
            if mine and is_image(value)
            else value
            for value, mine in zip(flat, chosen, strict=True)
        ]
        return tree_unflatten(made, spec)

    def _mixed(self, inpt: Any, labels: Tensor, params: Params) -> Any:
        wanted = 5 if isinstance(inpt, Video) else 4
        if inpt.dim() != wanted:
            raise ValueError(f"Expected a batched input with {wanted} dims, but got {inpt.dim()} dimensions instead.")
        if inpt.shape[0] != labels.shape[0]:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{inpt.shape[0]} != {labels.shape[0]}."
            )
        made = self.transform(inpt.as_subclass(Tensor), params)
        return inpt._like(made) if isinstance(inpt, TVTensor) else made

    def _mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.dim() == 1:
            labels = one_hot(labels, self.num_classes or -1)
        floats = labels if labels.is_floating_point() else labels.float()
        return floats.roll(1, 0) * (1.0 - share) + floats * share


class MixUp(_Mixing):
    """Each sample of a batch mixed with the one before it, and so the labels: Zhang and others, 2017.

    Args:
        alpha: Both parameters of the Beta distribution of how much is mixed.
        num_classes: How many classes there are; may be left out if labels are probabilities already.
        labels_getter: A function from the inputs to the labels; the second input when left out.

    Example:
        >>> import pyburn
        >>> images, labels = MixUp(num_classes=3)(pyburn.rand(4, 1, 2, 2), pyburn.tensor([0, 1, 2, 0]))
        >>> labels.sum(1)
        tensor([1., 1., 1., 1.])
    """

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """How much of each sample stays."""
        return {"share": float(self._beta.sample(()))}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The mixed images."""
        share = params["share"]
        return inpt.roll(1, 0) * (1.0 - share) + inpt * share


class CutMix(_Mixing):
    """A rectangle of each sample of a batch from the one before it, and labels to match: Yun and others, 2019.

    Args:
        alpha: Both parameters of the Beta distribution of how large the rectangle is.
        num_classes: How many classes there are; may be left out if labels are probabilities already.
        labels_getter: A function from the inputs to the labels; the second input when left out.
    """

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The rectangle, and how much of each sample stays."""
        share = float(self._beta.sample(()))
        height, width = query_size(flat_inputs)
        x, y = int(randint(width, (1,))), int(randint(height, (1,)))
        half = 0.5 * math.sqrt(1.0 - share)
        wide, high = int(half * width), int(half * height)
        x1, x2 = max(x - wide, 0), min(x + wide, width)
        y1, y2 = max(y - high, 0), min(y + high, height)
        return {"box": (x1, y1, x2, y2), "share": 1.0 - (x2 - x1) * (y2 - y1) / (width * height)}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The images with their rectangles."""
        x1, y1, x2, y2 = params["box"]
        made = inpt.clone()
        made[..., y1:y2, x1:x2] = inpt.roll(1, 0)[..., y1:y2, x1:x2]
        return made


class JPEG(Transform):
    """The image packed as JPEG and unpacked again, with what is lost by that.

    Args:
        quality: From 1 to 100, or the least and the greatest.

    Raises:
        TypeError: It is a bool, or no sequence of two.
        ValueError: It is beyond 1 and 100.
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        if not isinstance(quality, int):
            check_sequence(quality, "quality", (2,))
        span = [quality, quality] if isinstance(quality, int) else list(quality)
        if not all(isinstance(number, int) for number in span) or not 1 <= span[0] <= span[1] <= 100:
            raise ValueError(f"quality must be an integer from 1 to 100, got {quality}")
        self.quality = span

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The quality."""
        return {"quality": int(randint(self.quality[0], self.quality[1] + 1, ()))}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image with its losses."""
        return self._call_kernel(F.jpeg, inpt, quality=params["quality"])
