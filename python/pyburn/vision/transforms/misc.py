"""Transforms of what numbers pixels are, and of boxes alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor, dtype, float32
from pyburn.utils._pytree import tree_flatten, tree_unflatten
from pyburn.vision._pil import is_pil
from pyburn.vision.transforms import draws
from pyburn.vision.transforms import functional as F
from pyburn.vision.transforms.base import Transform, has_pil, labels_of, two_numbers, uniform
from pyburn.vision.transforms.functional.boxes import worth_keeping
from pyburn.vision.transforms.functional.geometry import pair
from pyburn.vision.transforms.functional.kinds import is_pure_tensor
from pyburn.vision.transforms.functional.points import points_inside
from pyburn.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, KeyPoints, Mask, TVTensor, Video

__all__ = [
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "ConvertImageDtype",
    "GaussianBlur",
    "GaussianNoise",
    "Identity",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SetClampingMode",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "UniformTemporalSubsample",
]

Params = dict[str, Any]


def _is_array(value: object) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "ndim")


class Identity(Transform):
    """The input as it is."""

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input."""
        return inpt


class Lambda(Transform):
    """A function of yours.

    Args:
        lambd: The function.
        *types: The classes of inputs that it is for; all when left out.

    Example:
        >>> Lambda(lambda x: x + 1, int)((1, "a"))
        (2, 'a')
    """

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def _takes(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def transform(self, inpt: Any, params: Params) -> Any:
        """What the function gives."""
        return self.lambd(inpt)

    def extra_repr(self) -> str:
        """The function's name and the classes."""
        name = getattr(self.lambd, "__name__", "")
        return f"{name + ', ' if name else ''}types={[kind.__name__ for kind in self.types]}"


class LinearTransformation(Transform):
    """The image as a vector, minus a mean, times a matrix: whitening.

    Args:
        transformation_matrix: (D, D) for C * H * W = D numbers.
        mean_vector: (D).

    Raises:
        ValueError: The shapes, devices or dtypes do not fit together.
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {(rows, columns)} rectangular matrix.")
        if mean_vector.shape[0] != rows:
            raise ValueError(f"mean_vector should have {rows} numbers as the matrix has, not {mean_vector.shape[0]}")
        if transformation_matrix.device != mean_vector.device or transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError("Input tensors should have the same dtype and be on the same device.")
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Nothing; raises for images of PIL."""
        if has_pil(flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def _takes(self, value: Any) -> bool:
        return is_pure_tensor(value) or isinstance(value, Image | Video)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The product."""
        plain = inpt.as_subclass(Tensor)
        shape, count = plain.shape, self.mean_vector.shape[0]
        if shape[-3] * shape[-2] * shape[-1] != count:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{shape[-3]} x {shape[-2]} x {shape[-1]}] != {count}"
            )
        flat = plain.reshape(-1, count) - self.mean_vector
        made = (flat @ self.transformation_matrix.to(flat.dtype)).reshape(shape)
        return inpt._like(made) if isinstance(inpt, TVTensor) else made


class Normalize(Transform):
    """Each channel minus its mean, divided by its deviation; see `functional.normalize`.

    Args:
        mean: One number for each channel.
        std: One number for each channel.
        inplace: Whether the input itself is changed.

    Example:
        >>> import pyburn
        >>> Normalize([0.5], [0.5])(pyburn.ones(1, 1, 1)).item()
        1.0
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = list(mean), list(std), inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Nothing; raises for images of PIL."""
        if has_pil(flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def transform(self, inpt: Any, params: Params) -> Any:
        """The normalized image."""
        return self._call_kernel(F.normalize, inpt, mean=self.mean, std=self.std, inplace=self.inplace)


class GaussianBlur(Transform):
    """The image blurred with a bell of random width; see `functional.gaussian_blur`.

    Args:
        kernel_size: How many pixels the bell covers, along x and y; odd.
        sigma: The least and the greatest width, or the width.

    Raises:
        ValueError: A size is even, or a width not positive.
    """

    get_params = staticmethod(draws.blur_params)

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = two_numbers(sigma, "sigma")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """The width."""
        return {"sigma": uniform(*self.sigma)}

    def transform(self, inpt: Any, params: Params) -> Any:
        """The blurred image."""
        return self._call_kernel(F.gaussian_blur, inpt, self.kernel_size, params["sigma"])


class GaussianNoise(Transform):
    """The image plus normally distributed numbers; see `functional.gaussian_noise`.

    Args:
        mean: The mean of the noise, where white is 1.
        sigma: Its deviation.
        clip: Whether what is beyond black and white is cut off.
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def transform(self, inpt: Any, params: Params) -> Any:
        """The noisy image."""
        return self._call_kernel(F.gaussian_noise, inpt, self.mean, self.sigma, self.clip)


class ToDtype(Transform):
    """The input in another dtype.

    Args:
        dtype: The dtype of images, or a dict from the input's class to its dtype, with "others" for all others; None
            there leaves an input as it is.
        scale: Whether white stays white: 255 of bytes becomes 1 of floats.

    Raises:
        ValueError: `dtype` is neither, or says nothing about an input's class.

    Example:
        >>> import pyburn
        >>> ToDtype(pyburn.float32, scale=True)(pyburn.full((1, 1, 1), 255, dtype=pyburn.uint8)).item()
        1.0
    """

    def __init__(self, dtype: dtype | dict[type | str, dtype | None], scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, dict | type(float32)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype, self.scale = dtype, scale

    def _takes(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input in its dtype."""
        pixels = is_pure_tensor(inpt) or isinstance(inpt, Image | Video)
        if not isinstance(self.dtype, dict):
            return self._call_kernel(F.to_dtype, inpt, self.dtype, self.scale) if pixels else inpt
        kind = type(inpt) if type(inpt) in self.dtype else "others"
        if kind not in self.dtype:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. If you only need to convert the dtype of images or "
                "videos, you can just pass e.g. dtype=pyburn.float32; in a dict, 'others' is for all others."
            )
        wanted = self.dtype[kind]
        if wanted is None:
            if self.scale and pixels:
                warnings.warn(
                    "scale was set to True but no dtype was specified for images or videos: no scaling will be done.",
                    stacklevel=2,
                )
            return inpt
        return self._call_kernel(F.to_dtype, inpt, wanted, self.scale)


class ConvertImageDtype(Transform):
    """The image in another dtype, with white as that dtype's white.

    Args:
        dtype: The dtype.
    """

    def __init__(self, dtype: dtype = float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image in its dtype; images of PIL and masks pass as they are."""
        return inpt if is_pil(inpt) else self._call_kernel(F.to_dtype, inpt, self.dtype, True)


class PILToTensor(Transform):
    """An image of PIL as (C, H, W), with the numbers it has."""

    def _takes(self, value: Any) -> bool:
        return is_pil(value)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The tensor."""
        return F.pil_to_tensor(inpt)


class ToTensor(Transform):
    """An image of PIL or an array (H, W, C) as (C, H, W); bytes become floats between 0 and 1."""

    def _takes(self, value: Any) -> bool:
        return is_pil(value) or _is_array(value)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The tensor."""
        return F.to_tensor(inpt)


class ToImage(Transform):
    """A tensor, an image of PIL or an array (H, W, C) as an `Image`, with the numbers it has."""

    def _takes(self, value: Any) -> bool:
        return is_pure_tensor(value) or is_pil(value) or _is_array(value)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image."""
        return F.to_image(inpt)


class ToPILImage(Transform):
    """A tensor (C, H, W) or an array (H, W, C) as an image of PIL; see `functional.to_pil_image`.

    Args:
        mode: PIL's name for what the channels are; guessed when left out.
    """

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def _takes(self, value: Any) -> bool:
        return is_pure_tensor(value) or isinstance(value, Image) or _is_array(value)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The image of PIL."""
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """Images, masks and boxes as tensors that no longer say what they are."""

    def _takes(self, value: Any) -> bool:
        return isinstance(value, TVTensor)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The tensor."""
        return inpt.as_subclass(Tensor)


class UniformTemporalSubsample(Transform):
    """Some images of a video, at equal distances; see `functional.uniform_temporal_subsample`.

    Args:
        num_samples: How many.
    """

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def _takes(self, value: Any) -> bool:
        return is_pure_tensor(value) or isinstance(value, Video)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The images."""
        return F.uniform_temporal_subsample(inpt, self.num_samples)


class _OfBoxes(Transform):
    def _takes(self, value: Any) -> bool:
        return isinstance(value, BoundingBoxes)


class ConvertBoundingBoxFormat(_OfBoxes):
    """The same boxes in another format.

    Args:
        format: A `BoundingBoxFormat`, or its name.
    """

    def __init__(self, format: str | BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: Params) -> Any:
        """The boxes."""
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(_OfBoxes):
    """Boxes whose parts beyond the image are cut off.

    Args:
        clamping_mode: See `functional.clamp_bounding_boxes`.
    """

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: Params) -> Any:
        """The boxes."""
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class SetClampingMode(_OfBoxes):
    """Boxes that say how later transforms cut them off at the image's edges.

    Args:
        clamping_mode: "soft", "hard" or None; see `tv_tensors.BoundingBoxes`.

    Raises:
        ValueError: It is none of these.
    """

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: Params) -> Any:
        """The boxes."""
        return inpt._like(inpt.as_subclass(Tensor), clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points of which those beyond the image are moved to its edge."""

    def _takes(self, value: Any) -> bool:
        return isinstance(value, KeyPoints)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The points."""
        return F.clamp_keypoints(inpt)


def _labels_for(found: Any, objects: Tensor, called: str) -> list[Tensor]:
    """The labels that a sample has, each as many as there are objects."""
    labels = [] if found is None else list(found) if isinstance(found, tuple | list) else [found]
    for label in labels:
        if not isinstance(label, Tensor):
            raise ValueError(f"The labels in the input to forward() must be a tensor or None, got {type(label)}.")
        if label.shape[0] != objects.shape[0]:
            raise ValueError(
                f"Number of {called} (shape={tuple(objects.shape)}) must match the number of labels. "
                f"Found labels with shape={tuple(label.shape)}."
            )
    return labels


class SanitizeKeyPoints(Transform):
    """Without the points, or groups of points, that are not within the image, and without their labels.

    Args:
        labels_getter: A function from the sample to its labels, a tensor or several; "default" for what stands under
            "labels"; None if there are none.

    Raises:
        ValueError: There are no points, or not as many labels.
    """

    def __init__(self, labels_getter: Callable[[Any], Any] | str | None = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter
        self._labels_getter = labels_of(labels_getter)

    def forward(self, *inputs: Any) -> Any:
        """The inputs without what is beyond the image."""
        whole = inputs if len(inputs) > 1 else inputs[0]
        found = self._labels_getter(whole)
        flat, spec = tree_flatten(whole)
        points = next((value for value in flat if isinstance(value, KeyPoints)), None)
        if points is None:
            raise ValueError("No keypoints were found in the sample")
        labels = _labels_for(found, points, "keypoints")
        params = {"valid": points_inside(points.as_subclass(Tensor), points.canvas_size), "labels": labels}
        return tree_unflatten([self.transform(value, params) for value in flat], spec)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input without what is beyond the image."""
        if not isinstance(inpt, KeyPoints) and not any(inpt is label for label in params["labels"]):
            return inpt
        kept = inpt.as_subclass(Tensor)[params["valid"]]
        return inpt._like(kept) if isinstance(inpt, TVTensor) else kept


class SanitizeBoundingBoxes(Transform):
    """Without the boxes that are too small or beyond the image, and without their labels and masks.

    Args:
        min_size: The least width and height.
        min_area: The least area.
        labels_getter: A function from the sample to its labels, a tensor or several; "default" for what stands under
            "labels"; None if there are none.

    Raises:
        ValueError: A size is less than 1, or there are no boxes, or not as many labels.
    """

    def __init__(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        labels_getter: Callable[[Any], Any] | str | None = "default",
    ) -> None:
        super().__init__()
        for name, value in (("min_size", min_size), ("min_area", min_area)):
            if value < 1:
                raise ValueError(f"{name} must be >= 1, got {value}.")
        self.min_size, self.min_area, self.labels_getter = min_size, min_area, labels_getter
        self._labels_getter = labels_of(labels_getter)

    def forward(self, *inputs: Any) -> Any:
        """The inputs without what is not worth keeping."""
        whole = inputs if len(inputs) > 1 else inputs[0]
        found = self._labels_getter(whole)
        flat, spec = tree_flatten(whole)
        boxes = next((value for value in flat if isinstance(value, BoundingBoxes)), None)
        if boxes is None:
            raise ValueError("No bounding boxes were found in the sample")
        labels = _labels_for(found, boxes, "boxes")
        plain = boxes.as_subclass(Tensor)
        valid = worth_keeping(plain, boxes.format, boxes.canvas_size, self.min_size, self.min_area)
        params = {"valid": valid, "labels": labels}
        return tree_unflatten([self.transform(value, params) for value in flat], spec)

    def transform(self, inpt: Any, params: Params) -> Any:
        """The input without what is not worth keeping."""
        is_label = any(inpt is label for label in params["labels"])
        if not is_label and not isinstance(inpt, BoundingBoxes | Mask):
            return inpt
        valid = params["valid"]
        if isinstance(inpt, Mask) and inpt.shape[0] != valid.shape[0]:
            return inpt  # one mask for the whole image
        kept = inpt.as_subclass(Tensor)[valid]
        return inpt._like(kept) if isinstance(inpt, TVTensor) else kept
