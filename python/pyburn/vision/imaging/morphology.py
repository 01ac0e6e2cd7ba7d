"""Shapes grown and shrunk: the largest and the least of what lies under a structuring element."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn._core import Tensor
from pyburn._core import bool as bool_
from pyburn.ops import maximum, minimum, ones, tensor, zeros
from pyburn.vision.imaging.borders import pair, with_border

__all__ = [
    "create_structuring_element",
    "dilate",
    "erode",
    "morphology",
]


def create_structuring_element(shape: str, size: int | Sequence[int]) -> Tensor:
    """A structuring element: which neighbours count.

    Args:
        shape: "rect", "cross" or "ellipse".
        size: Its height and width, or one number for both.

    Raises:
        ValueError: There is no such shape, or a size is not positive.

    Example:
        >>> create_structuring_element("cross", 3).int()
        tensor([[0, 1, 0],
                [1, 1, 1],
                [0, 1, 0]], dtype=pyburn.int32)
    """
    high, wide = pair(size, "size")
    if shape == "rect":
        return ones(high, wide, dtype=bool_)
    made = zeros(high, wide, dtype=bool_)
    row, column = high // 2, wide // 2
    if shape == "cross":
        made[row] = True
        made[:, column] = True
        return made
    if shape != "ellipse":
        raise ValueError(f"create_structuring_element: shape must be rect, cross or ellipse, got {shape!r}.")
    for i in range(high):
        share = 1 - ((i - row) / row) ** 2 if row else 1.0
        if share >= 0:
            reach = round(column * math.sqrt(share))
            made[i, max(column - reach, 0) : column + reach + 1] = True
    return made


def _extreme(
    image: Tensor,
    kernel: Tensor,
    anchor: Sequence[int] | None,
    iterations: int,
    border: str,
    value: float,
    largest: bool,
) -> Tensor:
    if kernel.dim() != 2 or not kernel.any():
        raise ValueError(f"erode and dilate: kernel needs two dimensions and an element, got {list(kernel.shape)}.")
    high, wide = kernel.shape
    row, column = (high // 2, wide // 2) if anchor is None else anchor
    if not (0 <= row < high and 0 <= column < wide):
        raise ValueError(f"erode and dilate: anchor {anchor} lies beyond the kernel {list(kernel.shape)}.")
    choose = maximum if largest else minimum
    height, width = image.shape[-2:]
    taps = kernel.nonzero().tolist()
    numbers = image.to(tensor(0).dtype) if image.dtype == bool_ else image
    for _ in range(iterations):
        filled = numbers
        if border == "ignore":
            # What lies beyond must never win.
            lowest, highest = _ends(numbers)
            padded = with_border(
                filled, (column, wide - 1 - column, row, high - 1 - row), "constant", lowest if largest else highest
            )
        else:
            padded = with_border(filled, (column, wide - 1 - column, row, high - 1 - row), border, value)
        parts = [padded[..., i : i + height, j : j + width] for i, j in taps]
        numbers = parts[0]
        for part in parts[1:]:
            numbers = choose(numbers, part)
    return numbers != 0 if image.dtype == bool_ else numbers


def _ends(numbers: Tensor) -> tuple[float, float]:
    if numbers.is_floating_point():
        return -math.inf, math.inf
    return (float(numbers.min()), float(numbers.max())) if numbers.numel() else (0.0, 0.0)


def erode(
    image: Tensor,
    kernel: Tensor,
    anchor: Sequence[int] | None = None,
    iterations: int = 1,
    border: str = "ignore",
    value: float = 0.0,
) -> Tensor:
    """Each pixel as the least of those under the structuring element.

    Args:
        image: (..., H, W) of any numbers, or true and false.
        kernel: Which neighbours count; see `create_structuring_element`.
        anchor: The row and column of the element that lie on the pixel; its middle when left out.
        iterations: How often it is done.
        border: "ignore" if only pixels of the image count, or what lies beyond the edges: "constant", "replicate",
            "reflect", "symmetric" or "circular".
        value: What a constant border holds.

    Raises:
        ValueError: The element is empty, or the anchor beyond it, or there is no such border.

    Example:
        >>> import pyburn
        >>> erode(pyburn.tensor([[0, 1, 1, 1, 0]]), pyburn.ones(1, 3)).tolist()
        [[0, 0, 1, 0, 0]]
    """
    return _extreme(image, kernel, anchor, iterations, border, value, False)


def dilate(
    image: Tensor,
    kernel: Tensor,
    anchor: Sequence[int] | None = None,
    iterations: int = 1,
    border: str = "ignore",
    value: float = 0.0,
) -> Tensor:
    """Each pixel as the largest of those under the structuring element; see `erode` for the arguments.

    Example:
        >>> import pyburn
        >>> dilate(pyburn.tensor([[0, 0, 1, 0, 0]]), pyburn.ones(1, 3)).tolist()
        [[0, 1, 1, 1, 0]]
    """
    return _extreme(image, kernel, anchor, iterations, border, value, True)


def morphology(image: Tensor, operation: str, kernel: Tensor, iterations: int = 1, border: str = "ignore") -> Tensor:
    """Shapes grown and shrunk one after the other.

    Args:
        image: (..., H, W).
        operation: "erode", "dilate", "open" (removes what is smaller than the element), "close" (fills holes that are),
            "gradient" (the outline), "tophat" (what open removes) or "blackhat" (what close fills).
        kernel: Which neighbours count, the same on both sides of the middle.
        iterations: How often each step is done.
        border: See `erode`.

    Raises:
        ValueError: There is no such operation.

    Example:
        >>> import pyburn
        >>> morphology(pyburn.tensor([[0, 1, 0, 1, 1, 1]]), "open", pyburn.ones(1, 3)).tolist()
        [[0, 0, 0, 1, 1, 1]]
    """

    def shrink(x: Tensor) -> Tensor:
        return erode(x, kernel, None, iterations, border)

    def grow(x: Tensor) -> Tensor:
        return dilate(x, kernel, None, iterations, border)

    steps = {
        "erode": lambda: shrink(image),
        "dilate": lambda: grow(image),
        "open": lambda: grow(shrink(image)),
        "close": lambda: shrink(grow(image)),
        "gradient": lambda: grow(image) - shrink(image),
        "tophat": lambda: image - grow(shrink(image)),
        "blackhat": lambda: shrink(grow(image)) - image,
    }
    if operation not in steps:
        raise ValueError(f"morphology: operation must be one of {', '.join(steps)}, got {operation!r}.")
    return steps[operation]()
