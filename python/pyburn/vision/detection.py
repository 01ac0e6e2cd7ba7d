"""What detectors need: the boxes that no better one covers, and features cut out along boxes."""

from __future__ import annotations

from pyburn._core import Tensor, float32, int64
from pyburn.ops import arange, cat, maximum, minimum, where, zeros

__all__ = ["nms", "roi_align"]

# How many numbers one step of roi_align may make: boxes are taken in groups of this size.
_ROOM = 1 << 24


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places of the boxes that stay, best first: each one that no better box covers by more than the threshold.

    Args:
        boxes: Boxes as (x1, y1, x2, y2), one in each row.
        scores: How good each box is.
        iou_threshold: The share of the joint area beyond which the worse of two boxes goes.

    Raises:
        RuntimeError: If boxes or scores have other shapes.

    Example:
        >>> import pyburn
        >>> boxes = pyburn.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2.1], [5, 5, 6, 6]])
        >>> nms(boxes, pyburn.tensor([0.5, 0.9, 0.1]), 0.5)
        tensor([1, 2])
    """
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"nms: boxes should have shape [N, 4], got {list(boxes.shape)}")
    if scores.dim() != 1 or scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(
            f"nms: boxes and scores should have the same number of elements in dimension 0, got {boxes.shape[0]} and "
            f"{list(scores.shape)}"
        )
    boxes, scores = boxes.detach(), scores.detach()
    left = scores.argsort(descending=True, stable=True)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[Tensor] = []
    while left.numel() > 0:
        best, left = left[:1], left[1:]
        kept.append(best)
        box, others = boxes[best], boxes[left]
        sides = (minimum(box[:, 2:], others[:, 2:]) - maximum(box[:, :2], others[:, :2])).clamp_min(0)
        shared = sides[:, 0] * sides[:, 1]
        left = left[~(shared / (areas[best] + areas[left] - shared) > iou_threshold)]
    return cat(kept) if kept else zeros(0, dtype=int64, device=boxes.device)


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The mean of each cell of a grid laid over each box, read between the pixels.

    Args:
        input: (N, C, H, W).
        rois: (K, 5): the image's number, then x1, y1, x2, y2.
        spatial_scale: From the boxes' units to pixels.
        pooled_height: Rows of the grid.
        pooled_width: Columns of the grid.
        sampling_ratio: Points per cell along each side; as many as a cell has pixels if not positive.
        aligned: Whether pixels are centred at half numbers.

    Returns:
        (K, C, pooled_height, pooled_width). No gradient reaches the boxes, as in torchvision.

    Raises:
        RuntimeError: If the boxes have not five columns, or another dtype.

    Example:
        >>> import pyburn
        >>> x = pyburn.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_align(x, pyburn.tensor([[0.0, 0, 0, 4, 4]]), 1.0, 2, 2, 2, True)
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])
    """
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; but type "
            f"{input.dtype} does not equal {rois.dtype}"
        )
    _, C, H, W = input.shape
    boxes = rois.detach().to(float32) if input.dtype.itemsize < 4 else rois.detach()
    corners = boxes[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    rows = _reading(corners[:, 1], corners[:, 3], pooled_height, H, sampling_ratio, aligned)  # (K, PH, H)
    columns = _reading(corners[:, 0], corners[:, 2], pooled_width, W, sampling_ratio, aligned)  # (K, PW, W)
    rows, columns = rows.to(input.dtype), columns.to(input.dtype)
    pieces = [input.new_zeros(0, C, pooled_height, pooled_width)]
    places: list[Tensor] = [zeros(0, dtype=int64, device=input.device)]
    image_of = boxes[:, 0].to(int64)
    step = max(1, _ROOM // max(1, C * H * pooled_width))
    for image in range(input.shape[0]):
        mine = (image_of == image).nonzero().flatten()
        for start in range(0, mine.shape[0], step):
            chosen = mine[start : start + step]
            pieces.append(_read(input[image], rows[chosen], columns[chosen]))
            places.append(chosen)
    return cat(pieces)[cat(places).argsort()]


def _read(image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Each box's rows and columns of one image: products with the shares that every pixel has in them."""
    C, H, W = image.shape
    K, PW = columns.shape[:2]
    along = image.reshape(C * H, W) @ columns.reshape(K * PW, W).t()  # (C * H, K * PW)
    lines = along.view(C, H, K, PW).permute(2, 1, 0, 3).reshape(K, H, C * PW)
    return (rows @ lines).view(K, rows.shape[1], C, PW).permute(0, 2, 1, 3)  # (K, C, PH, PW)


def _reading(low: Tensor, high: Tensor, cells: int, size: int, ratio: int, aligned: bool) -> Tensor:
    """The share of each pixel in the mean of each cell along one side: (K, cells, size)."""
    length = high - low if aligned else (high - low).clamp_min(1.0)
    cell = length / cells  # (K,)
    points = cell.ceil() if ratio <= 0 else cell * 0 + ratio  # (K,)
    most = int(points.max().item()) if points.numel() else 0
    if most < 1:
        return low.new_zeros(low.shape[0], cells, size)
    point = arange(most, device=low.device, dtype=low.dtype)
    number = arange(cells, device=low.device, dtype=low.dtype)
    at = (
        low.view(-1, 1, 1)
        + number.view(1, -1, 1) * cell.view(-1, 1, 1)
        + (point + 0.5).view(1, 1, -1) * (cell / points).view(-1, 1, 1)
    )  # (K, cells, most)
    used = (point.view(1, 1, -1) < points.view(-1, 1, 1)) & (at >= -1.0) & (at <= size)
    at = at.clamp(0, size - 1)
    before = where(used, at, 0).floor()
    after = (before + 1).clamp_max(size - 1)
    share = at - before
    weight = where(used, 1.0 / points.clamp_min(1).view(-1, 1, 1), 0.0).to(low.dtype)
    shares = low.new_zeros(low.shape[0], cells, size)
    shares = shares.scatter_add(2, before.to(int64), weight * (1 - share))
    return shares.scatter_add(2, after.to(int64), weight * share)
