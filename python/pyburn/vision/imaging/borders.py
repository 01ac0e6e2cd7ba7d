"""What lies beyond the edges of an image when a window reaches there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyburn._core import Tensor, int64
from pyburn.nn.functional import pad
from pyburn.ops import tensor
from pyburn.vision._borders import places

__all__ = ["BORDERS", "pair", "shifted", "with_border"]

# Beyond a b c: constant 0 0; replicate c c; reflect b a; symmetric c b; circular a b.
BORDERS = ("constant", "replicate", "reflect", "symmetric", "circular")


def pair(size: int | Sequence[int], name: str) -> tuple[int, int]:
    """Height and width of one number or two, both positive."""
    high, wide = (size, size) if isinstance(size, int) else tuple(size)
    if high < 1 or wide < 1:
        raise ValueError(f"{name} must be positive, got {size}.")
    return high, wide


def with_border(image: Tensor, sides: tuple[int, int, int, int], border: str, value: float = 0.0) -> Tensor:
    """`image` (..., H, W) with pixels added at the left, right, top and bottom.

    Raises:
        ValueError: There is no such border.
    """
    if border not in BORDERS:
        raise ValueError(f"border must be one of {', '.join(BORDERS)}, got {border!r}.")
    left, right, top, bottom = sides
    if border == "constant":
        return pad(image, [left, right, top, bottom], value=value)
    rows = tensor(places(image.shape[-2], top, bottom, border), dtype=int64, device=image.device)
    columns = tensor(places(image.shape[-1], left, right, border), dtype=int64, device=image.device)
    return image.index_select(-2, rows).index_select(-1, columns)


def shifted(image: Tensor, high: int, wide: int, border: str, value: float = 0.0) -> Iterator[tuple[int, int, Tensor]]:
    """For each place (row, column) of a window of this size around each pixel: what is there."""
    up, left = (high - 1) // 2, (wide - 1) // 2
    padded = with_border(image, (left, wide - 1 - left, up, high - 1 - up), border, value)
    height, width = image.shape[-2:]
    for row in range(high):
        for column in range(wide):
            yield row, column, padded[..., row : row + height, column : column + width]
