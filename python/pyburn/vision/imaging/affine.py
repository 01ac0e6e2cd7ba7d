"""Images turned, scaled, moved and sheared by matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pyburn._core import Tensor, float32
from pyburn.nn.functional import affine_grid, grid_sample
from pyburn.ops import tensor

__all__ = ["Transform2D", "warp_affine"]

Matrix = Sequence[Sequence[float]]


def _product(one: Matrix, two: Matrix) -> list[list[float]]:
    last = (0.0, 0.0, 1.0)
    rows = [*two, last]
    return [[sum(one[i][k] * rows[k][j] for k in range(3)) for j in range(3)] for i in range(2)]


def _inverse(matrix: Matrix) -> list[list[float]]:
    (a, b, c), (d, e, f) = matrix
    size = a * e - b * d
    if size == 0:
        raise ValueError(f"the matrix {[list(row) for row in matrix]} cannot be inverted.")
    a, b, d, e = e / size, -b / size, -d / size, a / size
    return [[a, b, -(a * c + b * f)], [d, e, -(d * c + e * f)]]


def _sampled(image: Tensor, theta: Matrix, size: tuple[int, int], mode: str, padding_mode: str) -> Tensor:
    """`image` (..., C, H, W) read at `theta` of each place, where both images go from -1 to 1."""
    if image.dim() < 3:
        raise ValueError(f"an image (..., C, H, W) is needed, got {list(image.shape)}.")
    kind = image.dtype if image.is_floating_point() else float32
    flat = image.reshape(-1, *image.shape[-3:]).to(kind)
    where = tensor([[list(row) for row in theta]], dtype=kind, device=image.device).expand(flat.shape[0], 2, 3)
    grid = affine_grid(where, [flat.shape[0], flat.shape[1], *size], align_corners=False)
    made = grid_sample(flat, grid, mode, padding_mode, align_corners=False)
    made = made.reshape(*image.shape[:-2], *size)
    return made if kind == image.dtype else made.round().to(image.dtype)


def warp_affine(
    image: Tensor,
    matrix: Matrix | Tensor,
    output_size: Sequence[int] | None = None,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Tensor:
    """The image with each pixel (x, y) moved to `matrix` times (x, y, 1).

    Args:
        image: (..., C, H, W).
        matrix: Two rows of three numbers, for pixels whose middles are whole numbers, as in OpenCV.
        output_size: The height and width of the result; those of the image when left out.
        mode: "bilinear", "nearest" or "bicubic".
        padding_mode: What lies beyond the image: "zeros", "border" or "reflection".

    Raises:
        ValueError: The matrix cannot be inverted, or the image has less than three dimensions.

    Example:
        >>> import pyburn
        >>> image = pyburn.arange(3.0).reshape(1, 1, 3)
        >>> warp_affine(image, [[1, 0, 1], [0, 1, 0]]).round()
        tensor([[[0., 0., 1.]]])
    """
    rows = matrix.tolist() if isinstance(matrix, Tensor) else matrix
    if image.dim() < 3:
        raise ValueError(f"warp_affine: an image (..., C, H, W) is needed, got {list(image.shape)}.")
    old = image.shape[-2], image.shape[-1]
    new = old if output_size is None else (output_size[0], output_size[1])
    # From places of the new image between -1 and 1 to its pixels, to pixels of the old one, to its places.
    to_pixels = [[new[1] / 2, 0.0, (new[1] - 1) / 2], [0.0, new[0] / 2, (new[0] - 1) / 2]]
    from_pixels = [[2 / old[1], 0.0, (1 - old[1]) / old[1]], [0.0, 2 / old[0], (1 - old[0]) / old[0]]]
    theta = _product(from_pixels, _product(_inverse(rows), to_pixels))
    return _sampled(image, theta, new, mode, padding_mode)


class Transform2D:
    """A map of the plane in which an image goes from -1 to 1 both ways, as in burn.

    Args:
        matrix: Two rows of three numbers: where each point (x, y, 1) goes.

    Example:
        >>> import math, pyburn
        >>> turn = Transform2D.rotation(math.pi / 2)
        >>> turn.transform(pyburn.arange(4.0).reshape(1, 1, 2, 2)).round().tolist()
        [[[[2.0, 0.0], [3.0, 1.0]]]]
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = [[float(part) for part in row] for row in matrix]

    @classmethod
    def identity(cls) -> Transform2D:
        """The map that leaves all as it is."""
        return cls([[1, 0, 0], [0, 1, 0]])

    @classmethod
    def _around(cls, a: float, b: float, c: float, d: float, cx: float, cy: float) -> Transform2D:
        return cls([[a, b, cx - a * cx - b * cy], [c, d, cy - c * cx - d * cy]])

    @classmethod
    def rotation(cls, theta: float, cx: float = 0.0, cy: float = 0.0) -> Transform2D:
        """A turn by `theta` (clockwise as seen, since y points down) around a point."""
        return cls._around(math.cos(theta), -math.sin(theta), math.sin(theta), math.cos(theta), cx, cy)

    @classmethod
    def scale(cls, sx: float, sy: float, cx: float = 0.0, cy: float = 0.0) -> Transform2D:
        """Factors along x and y, away from a point."""
        return cls._around(sx, 0.0, 0.0, sy, cx, cy)

    @classmethod
    def translation(cls, tx: float, ty: float) -> Transform2D:
        """A move to the right and down; 2 is the width of the image."""
        return cls([[1, 0, tx], [0, 1, ty]])

    @classmethod
    def shear(cls, shx: float, shy: float, cx: float = 0.0, cy: float = 0.0) -> Transform2D:
        """X grows by `shx` times y and y by `shy` times x, around a point."""
        return cls._around(1.0, shx, shy, 1.0, cx, cy)

    @classmethod
    def composed(cls, transforms: Iterable[Transform2D]) -> Transform2D:
        """One map that does several, the first one first."""
        whole = cls.identity().matrix
        for step in transforms:
            whole = _product(step.matrix, whole)
        return cls(whole)

    def transform(self, image: Tensor, mode: str = "bilinear", padding_mode: str = "zeros") -> Tensor:
        """The mapped image (..., C, H, W).

        Args:
            image: The image.
            mode: "bilinear", "nearest" or "bicubic".
            padding_mode: What lies beyond the image: "zeros", "border" or "reflection".
        """
        return _sampled(image, _inverse(self.matrix), (image.shape[-2], image.shape[-1]), mode, padding_mode)

    __call__ = transform

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Transform2D) and self.matrix == other.matrix

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Transform2D({self.matrix})"
