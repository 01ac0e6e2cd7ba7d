"""Tensors that say what they are, so that transforms know what to do with them: images, masks, boxes, key points."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from pyburn._core import Tensor, _disabled_torch_function_impl, dtype
from pyburn.ops import as_tensor
from pyburn.vision._pil import is_pil, to_tensor

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "Image", "KeyPoints", "Mask", "TVTensor", "Video", "wrap"]

Self = TypeVar("Self", bound="TVTensor")


class TVTensor(Tensor):
    """The base of all: a tensor whose class says what it is; what is computed with it is a plain tensor."""

    # Switched off: so calls of others cost what they cost without these classes, and give plain tensors.
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """A copy of the same class."""
        return self._like(self.as_subclass(Tensor).clone(*args, **kwargs))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The same in another dtype or on another device."""
        return self._like(self.as_subclass(Tensor).to(*args, **kwargs))

    def detach(self) -> Any:
        """The same without its history."""
        return self._like(self.as_subclass(Tensor).detach())

    @staticmethod
    def _plain(data: Any, dtype: dtype | None, device: Any, requires_grad: bool | None) -> Tensor:
        wanted = requires_grad if requires_grad is not None else isinstance(data, Tensor) and data.requires_grad
        if isinstance(data, TVTensor):
            data = data.as_subclass(Tensor)
        made = as_tensor(data, dtype=dtype, device=device)
        return made.requires_grad_(wanted) if wanted != made.requires_grad else made

    def _like(self: Self, tensor: Tensor, **about: Any) -> Self:
        """`tensor` as one of this class, with what is known about this one, but for what is given."""
        made: Self = tensor.as_subclass(type(self))
        vars(made).update(vars(self), **about)
        return made

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        plain = self.as_subclass(Tensor)
        return self._like(plain.detach().clone().requires_grad_(plain.requires_grad))


class _Pixels(TVTensor):
    _least = 2

    def __new__(
        cls, data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        plain = cls._plain(to_tensor(data) if is_pil(data) else data, dtype, device, requires_grad)
        if plain.dim() < cls._least:
            raise ValueError(f"Tensor must be {cls._least}D or higher, got {plain.dim()}D tensor.")
        return plain.as_subclass(cls)

    # `Tensor.__init__` takes no keywords.
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class Image(_Pixels):
    """An image, or a batch: (..., C, H, W); (H, W) becomes (1, H, W).

    Args:
        data: A tensor, an image of PIL, or what `as_tensor` takes.
        dtype: The dtype; the data's own when left out.
        device: The device.
        requires_grad: Whether gradients are recorded.

    Example:
        >>> import pyburn
        >>> Image(pyburn.zeros(4, 5)).shape
        pyburn.Size([1, 4, 5])
    """

    def __new__(
        cls, data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        """The image."""
        made = super().__new__(cls, data, dtype=dtype, device=device, requires_grad=requires_grad)
        return made.as_subclass(Tensor).unsqueeze(0).as_subclass(cls) if made.dim() == 2 else made


class Video(_Pixels):
    """Images one after another: (..., T, C, H, W); see `Image` for the arguments."""

    _least = 4


class Mask(_Pixels):
    """A mask, or several: (..., H, W), for segmentation and detection; see `Image` for the arguments."""


class BoundingBoxFormat(Enum):
    """What the four numbers of a box are.

    XYXY: two corners. XYWH: the upper left corner, width and height. CXCYWH: the centre, width and height.
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"


class BoundingBoxes(TVTensor):
    """Boxes (N, 4) of one image.

    Args:
        data: A tensor, or what `as_tensor` takes.
        format: A `BoundingBoxFormat`, or its name.
        canvas_size: The height and width of the image.
        clamping_mode: Whether transforms cut off what is beyond the image: "soft" or "hard", which are the same for
            these formats, or None for boxes that may leave it.
        dtype: The dtype; the data's own when left out.
        device: The device.
        requires_grad: Whether gradients are recorded.

    Raises:
        ValueError: The shape, the format or the mode is none of these.

    Differs from torch:
        There are no rotated formats.

    Example:
        >>> BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(10, 20)).canvas_size
        (10, 20)
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """The boxes."""
        plain = cls._plain(data, dtype, device, requires_grad)
        if plain.dim() == 1:
            plain = plain.unsqueeze(0)
        if plain.dim() != 2:
            raise ValueError(f"Expected a 1D or 2D tensor, got {plain.dim()}D")
        if clamping_mode not in ("soft", "hard", None):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        made = plain.as_subclass(cls)
        made.format = box_format(format)
        made.canvas_size = (int(canvas_size[0]), int(canvas_size[1]))
        made.clamping_mode = clamping_mode
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __repr__(self) -> str:
        about = f"format={self.format}, canvas_size={self.canvas_size}, clamping_mode={self.clamping_mode}"
        return f"BoundingBoxes({self.as_subclass(Tensor)!r}, {about})"


class KeyPoints(TVTensor):
    """Points (..., 2) of one image, each as x and y: single ones, polygons (N, points, 2), skeletons (N, bones, 2, 2).

    Args:
        data: A tensor, or what `as_tensor` takes.
        canvas_size: The height and width of the image.
        dtype: The dtype; the data's own when left out.
        device: The device.
        requires_grad: Whether gradients are recorded.

    Raises:
        ValueError: The last dimension has not two numbers.

    Example:
        >>> KeyPoints([[1, 2], [3, 4]], canvas_size=(10, 20)).canvas_size
        (10, 20)
    """

    canvas_size: tuple[int, int]

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """The points."""
        plain = cls._plain(data, dtype, device, requires_grad)
        if plain.dim() == 0 or plain.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tuple(plain.shape)}")
        made = (plain.unsqueeze(0) if plain.dim() == 1 else plain).as_subclass(cls)
        made.canvas_size = (int(canvas_size[0]), int(canvas_size[1]))
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __repr__(self) -> str:
        return f"KeyPoints({self.as_subclass(Tensor)!r}, canvas_size={self.canvas_size})"


def box_format(format: BoundingBoxFormat | str) -> BoundingBoxFormat:
    """The format of this name.

    Raises:
        ValueError: There is none.
    """
    if isinstance(format, BoundingBoxFormat):
        return format
    if format.upper() not in BoundingBoxFormat.__members__:
        raise ValueError(f"BoundingBoxes: format {format!r} is none of {', '.join(BoundingBoxFormat.__members__)}.")
    return BoundingBoxFormat[format.upper()]


def wrap(wrappee: Tensor, *, like: TVTensor, **kwargs: Any) -> Any:
    """`wrappee` as what `like` is, with its format and size unless others are given.

    Example:
        >>> import pyburn
        >>> type(wrap(pyburn.zeros(2, 2), like=Mask([[1]]))).__name__
        'Mask'
    """
    return like._like(wrappee.as_subclass(Tensor), **kwargs)
