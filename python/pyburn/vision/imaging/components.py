"""Connected parts of masks."""

from __future__ import annotations

from typing import NamedTuple

from pyburn._core import Tensor, int32, int64
from pyburn.nn.functional import pad
from pyburn.ops import arange, full, minimum, stack, unique, zeros

__all__ = ["ConnectedStats", "connected_components", "connected_components_with_stats"]

_SIDES = {4: ((0, 1), (1, 0), (1, 2), (2, 1)), 8: tuple((i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1))}


class ConnectedStats(NamedTuple):
    """How large each part is and where it lies, at the place of its number; place 0 is what is in no part."""

    area: Tensor
    left: Tensor
    top: Tensor
    right: Tensor
    bottom: Tensor
    max_label: int


def connected_components(image: Tensor, connectivity: int = 8) -> Tensor:
    """Which part each pixel belongs to: numbers from 1, in the order of their first pixels; 0 for none.

    Args:
        image: (H, W), or a batch (..., H, W); all that is not 0 counts.
        connectivity: Whether pixels touch at sides only (4) or at corners too (8).

    Raises:
        ValueError: `connectivity` is neither, or there are less than two dimensions.

    Example:
        >>> import pyburn
        >>> connected_components(pyburn.tensor([[1, 0, 1], [1, 0, 0], [0, 1, 0]]), 4).tolist()
        [[1, 0, 2], [1, 0, 0], [0, 3, 0]]
    """
    if connectivity not in _SIDES:
        raise ValueError(f"connected_components: connectivity must be 4 or 8, got {connectivity}.")
    if image.dim() < 2:
        raise ValueError(f"connected_components: an image (..., H, W) is needed, got {list(image.shape)}.")
    if image.dim() == 2:
        return _labelled(image != 0, connectivity)
    if image.numel() == 0:
        return zeros(*image.shape, dtype=int32, device=image.device)
    flat = image.reshape(-1, *image.shape[-2:])
    return stack([_labelled(part != 0, connectivity) for part in flat]).reshape(image.shape)


def _labelled(mask: Tensor, connectivity: int) -> Tensor:
    height, width = mask.shape
    count = height * width
    if count == 0 or not mask.any():
        return zeros(height, width, dtype=int32, device=mask.device)
    places = arange(count, device=mask.device).reshape(height, width)
    # Each pixel points to one of its part; what is in none points to a place of its own behind all others.
    roots = places.where(mask, full((), count, dtype=int64, device=mask.device))
    while True:
        around = pad(roots, [1, 1, 1, 1], value=count)
        least = roots
        for row, column in _SIDES[connectivity]:
            least = minimum(least, around[row : row + height, column : column + width])
        least = least.where(mask, roots)
        pointers = arange(count + 1, device=mask.device)
        pointers = pointers.scatter_reduce(0, roots.flatten(), least.flatten(), "amin")
        # Following pointers of pointers, chains of any length are short after few rounds.
        while not bool(((further := pointers[pointers]) == pointers).all()):
            pointers = further
        joined = pointers[roots]
        if bool((joined == roots).all()):
            break
        roots = joined
    numbers = unique(roots[mask], return_inverse=True)[1]
    labels = zeros(height, width, dtype=int64, device=mask.device)
    labels[mask] = numbers + 1
    return labels.to(int32)


def connected_components_with_stats(image: Tensor, connectivity: int = 8) -> tuple[Tensor, ConnectedStats]:
    """Which part each pixel belongs to, and how large each part is and where it lies.

    Args:
        image: (H, W); all that is not 0 counts.
        connectivity: Whether pixels touch at sides only (4) or at corners too (8).

    Returns:
        The numbers of `connected_components`, and statistics with the number as place: the area, and the first and
        last column and row.

    Raises:
        ValueError: The image has other dimensions, or `connectivity` is none.

    Example:
        >>> import pyburn
        >>> _, stats = connected_components_with_stats(pyburn.tensor([[1, 1, 0], [0, 0, 1]]), 4)
        >>> stats.area.tolist(), stats.right.tolist(), stats.max_label
        ([3, 2, 1], [2, 1, 2], 2)
    """
    if image.dim() != 2:
        raise ValueError(f"connected_components_with_stats: an image (H, W) is needed, got {list(image.shape)}.")
    labels = connected_components(image, connectivity)
    height, width = labels.shape
    most = int(labels.max()) if labels.numel() else 0
    flat = labels.flatten().to(int64)
    rows = arange(height, device=image.device)[:, None].expand(height, width).flatten()
    columns = arange(width, device=image.device).expand(height, width).flatten()
    area = zeros(most + 1, dtype=int64, device=image.device).scatter_add(0, flat, rows * 0 + 1)

    def edge(values: Tensor, how: str, start: int) -> Tensor:
        return full((most + 1,), start, dtype=int64, device=image.device).scatter_reduce(0, flat, values, how)

    stats = ConnectedStats(
        area,
        edge(columns, "amin", width),
        edge(rows, "amin", height),
        edge(columns, "amax", -1),
        edge(rows, "amax", -1),
        most,
    )
    return labels, stats
