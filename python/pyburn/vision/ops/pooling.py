"""Features cut out along boxes: aligned, pooled, from channels of their own, from several scales."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import nn
from pyburn._core import Tensor, float32, int32, int64
from pyburn.ops import arange, cat, einsum, full_like, log2, sqrt, stack, zeros
from pyburn.vision import detection
from pyburn.vision.ops.boxes import box_area

__all__ = [
    "MultiScaleRoIAlign",
    "PSRoIAlign",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "ps_roi_align",
    "ps_roi_pool",
    "roi_align",
    "roi_pool",
]

Boxes = Tensor | Sequence[Tensor]
Size = int | Sequence[int]


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _rois(boxes: Boxes) -> Tensor:
    """Boxes (K, 5) with the number of their image first."""
    if isinstance(boxes, Tensor):
        if boxes.dim() != 2 or boxes.shape[1] != 5:
            raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes
    if not isinstance(boxes, list | tuple):
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")
    if any(part.shape[1] != 4 for part in boxes):
        raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    return cat([cat([full_like(part[:, :1], i), part], 1) for i, part in enumerate(boxes)])


def roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """The mean of each cell of a grid laid over each box, read between the pixels: He and others, 2017.

    Args:
        input: (N, C, H, W).
        boxes: (K, 5): the image's number, then x1, y1, x2, y2; or the boxes (L, 4) of each image.
        output_size: Rows and columns of the grid.
        spatial_scale: From the boxes' units to pixels.
        sampling_ratio: Points per cell along each side; as many as a cell has pixels if not positive.
        aligned: Whether pixels are centred at half numbers.

    Example:
        >>> import pyburn
        >>> roi_align(pyburn.arange(16.0).reshape(1, 1, 4, 4), [pyburn.tensor([[0.0, 0, 4, 4]])], 1).shape
        pyburn.Size([1, 1, 1, 1])
    """
    return detection.roi_align(input, _rois(boxes), spatial_scale, *_pair(output_size), sampling_ratio, aligned)


def _nearest(values: Tensor) -> Tensor:
    """Whole numbers, halves away from zero as in C."""
    return values.sign() * (values.abs() + 0.5).floor()


def _spans(low: Tensor, high: Tensor, cells: int, size: int, last: int, limit: int) -> list[list[tuple[int, int]]]:
    """From where to where each cell of each box reaches along one side, within 0 and `limit`."""
    start, stop = _nearest(low), _nearest(high)
    step = (stop - start + last).clamp(min=1) / cells  # (K,)
    number = arange(cells, device=low.device, dtype=low.dtype)
    first = ((number * step[:, None]).floor() + start[:, None]).clamp(0, limit).long().tolist()
    behind = (((number + 1) * step[:, None]).ceil() + start[:, None]).clamp(0, limit).long().tolist()
    return [list(zip(near, far, strict=True)) for near, far in zip(first, behind, strict=True)]


def pooled_with_places(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """What `roi_pool` gives, and which pixel of the image each maximum is, -1 for none."""
    _, C, H, W = input.shape
    boxes = rois.detach().to(float32) if rois.dtype.itemsize < 4 else rois.detach()
    corners = boxes[:, 1:] * spatial_scale
    rows = _spans(corners[:, 1], corners[:, 3], pooled_height, H, 1, H)
    columns = _spans(corners[:, 0], corners[:, 2], pooled_width, W, 1, W)
    images = boxes[:, 0].long().tolist()
    found = zeros(len(images), C, pooled_height, pooled_width, dtype=int64, device=input.device) - 1
    plain = input.detach()
    for k, image in enumerate(images):
        for i, (top, bottom) in enumerate(rows[k]):
            for j, (left, right) in enumerate(columns[k]):
                if bottom > top and right > left:
                    place = plain[image, :, top:bottom, left:right].reshape(C, -1).max(1)[1]
                    width = right - left
                    found[k, :, i, j] = (place // width + top) * W + place % width + left
    flat = input.flatten(2)[boxes[:, 0].long()]  # (K, C, H * W)
    values = flat.gather(2, found.clamp(min=0).flatten(2)).reshape(found.shape)
    return values * (found >= 0), found.to(int32)


def roi_pool(input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """The largest pixel of each cell of a grid laid over each box: Girshick, 2015.

    Args:
        input: (N, C, H, W).
        boxes: (K, 5): the image's number, then x1, y1, x2, y2; or the boxes (L, 4) of each image.
        output_size: Rows and columns of the grid.
        spatial_scale: From the boxes' units to pixels.

    Example:
        >>> import pyburn
        >>> x = pyburn.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_pool(x, [pyburn.tensor([[0.0, 0, 3, 3]])], 2).flatten()
        tensor([ 5.,  7., 13., 15.])
    """
    return pooled_with_places(input, _rois(boxes), spatial_scale, *_pair(output_size))[0]


def _own_channels(input: Tensor, height: int, width: int) -> int:
    channels = int(input.shape[1])
    if channels % (height * width):
        raise RuntimeError(
            f"input channels must be a multiple of pooling height * pooling width: {channels} and {height} * {width}"
        )
    return channels // (height * width)


def _mapping(count: int, channels: int, height: int, width: int, device: object) -> Tensor:
    """Which channel each cell was read from."""
    numbers = arange(channels * height * width, dtype=int32, device=device).reshape(1, channels, height, width)  # type: ignore[arg-type]
    return numbers.expand(count, -1, -1, -1).contiguous()


def ps_aligned_with_channels(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """What `ps_roi_align` gives, and which channel each cell was read from."""
    _, _, H, W = input.shape
    channels = _own_channels(input, pooled_height, pooled_width)
    boxes = rois.detach().to(float32) if rois.dtype.itemsize < 4 else rois.detach()
    corners = boxes[:, 1:] * spatial_scale - 0.5
    rows = detection._reading(corners[:, 1], corners[:, 3], pooled_height, H, sampling_ratio, True).to(input.dtype)
    columns = detection._reading(corners[:, 0], corners[:, 2], pooled_width, W, sampling_ratio, True).to(input.dtype)
    parts = input.reshape(-1, channels, pooled_height, pooled_width, H, W)
    pieces = [
        einsum("cpqhw,ph,qw->cpq", parts[image], rows[k], columns[k])
        for k, image in enumerate(boxes[:, 0].long().tolist())
    ]
    empty = input.new_zeros(0, channels, pooled_height, pooled_width)
    made = stack(pieces) if pieces else empty
    return made, _mapping(len(pieces), channels, pooled_height, pooled_width, input.device)


def ps_roi_align(
    input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0, sampling_ratio: int = -1
) -> Tensor:
    """`roi_align` where each cell of the grid reads channels of its own: Li and others, 2017.

    Args:
        input: (N, C * rows * columns, H, W).
        boxes: (K, 5): the image's number, then x1, y1, x2, y2; or the boxes (L, 4) of each image.
        output_size: Rows and columns of the grid.
        spatial_scale: From the boxes' units to pixels.
        sampling_ratio: Points per cell along each side; as many as a cell has pixels if not positive.

    Example:
        >>> import pyburn
        >>> ps_roi_align(pyburn.ones(1, 8, 6, 6), [pyburn.tensor([[1.0, 1, 4, 4]])], 2).shape
        pyburn.Size([1, 2, 2, 2])
    """
    return ps_aligned_with_channels(input, _rois(boxes), spatial_scale, *_pair(output_size), sampling_ratio)[0]


def ps_pooled_with_channels(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """What `ps_roi_pool` gives, and which channel each cell was read from."""
    _, _, H, W = input.shape
    channels = _own_channels(input, pooled_height, pooled_width)
    boxes = rois.detach().to(float32) if rois.dtype.itemsize < 4 else rois.detach()
    corners = boxes[:, 1:] * spatial_scale
    rows = _spans(corners[:, 1], corners[:, 3], pooled_height, H, 0, H - 1)
    columns = _spans(corners[:, 0], corners[:, 2], pooled_width, W, 0, W - 1)
    parts = input.reshape(-1, channels, pooled_height, pooled_width, H, W)
    images = boxes[:, 0].long().tolist()
    nothing = input.new_zeros(channels)
    cells = [
        parts[image, :, i, j, top:bottom, left:right].mean((1, 2)) if bottom > top and right > left else nothing
        for k, image in enumerate(images)
        for i, (top, bottom) in enumerate(rows[k])
        for j, (left, right) in enumerate(columns[k])
    ]
    shape = len(images), pooled_height, pooled_width, channels
    made = (stack(cells) if cells else input.new_zeros(0)).reshape(shape).permute(0, 3, 1, 2)
    return made, _mapping(len(images), channels, pooled_height, pooled_width, input.device)


def ps_roi_pool(input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """The mean of each cell of a grid laid over each box, from channels of its own: Dai and others, 2016.

    Args:
        input: (N, C * rows * columns, H, W).
        boxes: (K, 5): the image's number, then x1, y1, x2, y2; or the boxes (L, 4) of each image.
        output_size: Rows and columns of the grid.
        spatial_scale: From the boxes' units to pixels.

    Example:
        >>> import pyburn
        >>> ps_roi_pool(pyburn.ones(1, 8, 6, 6), [pyburn.tensor([[1.0, 1, 4, 4]])], 2).sum().item()
        8.0
    """
    return ps_pooled_with_channels(input, _rois(boxes), spatial_scale, *_pair(output_size))[0]


class _Pooling(nn.Module):
    _settings: tuple[str, ...] = ("output_size", "spatial_scale")

    def extra_repr(self) -> str:
        """The settings."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._settings)


class RoIAlign(_Pooling):
    """See `roi_align`."""

    _settings = ("output_size", "spatial_scale", "sampling_ratio", "aligned")

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """The features along the boxes."""
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)


class RoIPool(_Pooling):
    """See `roi_pool`."""

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """The features along the boxes."""
        return roi_pool(input, rois, self.output_size, self.spatial_scale)


class PSRoIAlign(_Pooling):
    """See `ps_roi_align`."""

    _settings = ("output_size", "spatial_scale", "sampling_ratio")

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size, self.spatial_scale, self.sampling_ratio = output_size, spatial_scale, sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """The features along the boxes."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)


class PSRoIPool(_Pooling):
    """See `ps_roi_pool`."""

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """The features along the boxes."""
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)


class MultiScaleRoIAlign(_Pooling):
    """`roi_align` that reads each box from the feature map whose scale fits its size: Lin and others, 2017.

    Args:
        featmap_names: Which feature maps are used.
        output_size: Rows and columns of the grid.
        sampling_ratio: Points per cell along each side.
        canonical_scale: The size of a box that belongs to `canonical_level`.
        canonical_level: How often the map that such a box is read from is halved.

    Raises:
        ValueError: There are no images.
    """

    _settings = ("featmap_names", "output_size", "sampling_ratio")

    def __init__(
        self,
        featmap_names: Sequence[str],
        output_size: Size,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = list(featmap_names), sampling_ratio
        self.output_size = _pair(output_size)
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def _levels(self, boxes: Sequence[Tensor], low: int, high: int) -> Tensor:
        sizes = sqrt(cat([box_area(part) for part in boxes]))
        level = (self.canonical_level + log2(sizes / self.canonical_scale) + 1e-6).floor()
        return level.clamp(low, high).to(int64) - low

    def forward(self, x: dict[str, Tensor], boxes: Sequence[Tensor], image_shapes: Sequence[tuple[int, int]]) -> Tensor:
        """The features along the boxes of each image."""
        if not image_shapes:
            raise ValueError("images list should not be empty")
        maps = [x[name] for name in x if name in self.featmap_names]
        tallest = max(shape[0] for shape in image_shapes)
        scales = [2.0 ** round(math.log2(part.shape[-2] / tallest)) for part in maps]
        rois = _rois(list(boxes))
        if len(maps) == 1:
            return roi_align(maps[0], rois, self.output_size, scales[0], self.sampling_ratio)
        levels = self._levels(boxes, round(-math.log2(scales[0])), round(-math.log2(scales[-1])))
        pieces, places = [], []
        for level, (part, scale) in enumerate(zip(maps, scales, strict=True)):
            mine = (levels == level).nonzero().flatten()
            pieces.append(roi_align(part, rois[mine], self.output_size, scale, self.sampling_ratio))
            places.append(mine)
        return cat(pieces)[cat(places).argsort()]
