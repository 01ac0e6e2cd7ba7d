"""Key points: where they go with their image, within it, and those worth keeping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.ops import cat, tensor
from pyburn.vision.transforms.functional.kinds import is_pure_tensor
from pyburn.vision.tv_tensors import KeyPoints

__all__ = ["clamp_keypoints", "sanitize_keypoints"]

Size = tuple[int, int]


def in_floats(points: Tensor, move: Callable[[Tensor], Tensor]) -> Tensor:
    """Points (..., 2) of any dtype through `move`, which takes floats (N, 2)."""
    if points.numel() == 0:
        return points
    floats = points if points.is_floating_point() else points.float()
    return move(floats.reshape(-1, 2)).reshape(points.shape).to(points.dtype)


def flipped_points(points: Tensor, length: int, axis: int) -> Tensor:
    """Points with one axis the other way round; the last pixel becomes the first."""
    columns = list(points.unbind(-1))
    columns[axis] = length - 1 - columns[axis]
    return cat([column.unsqueeze(-1) for column in columns], -1)


def shifted_points(points: Tensor, left: int, top: int) -> Tensor:
    """Points moved to the right and down."""
    return points + tensor([left, top], dtype=points.dtype, device=points.device)


def resized_points(points: Tensor, old: Size, new: Size) -> Tensor:
    """Points of an image that got another size."""
    if old == new:
        return points
    return (points * tensor([new[1] / old[1], new[0] / old[0]], device=points.device)).to(points.dtype)


def _clamped(points: Tensor, canvas: Size) -> Tensor:
    floats = points if points.is_floating_point() else points.float()
    columns = [floats[..., i : i + 1].clamp(0, canvas[1 - i] - 1) for i in range(2)]
    return cat(columns, -1).to(points.dtype)


def clamp_keypoints(inpt: Tensor, canvas_size: Size | None = None) -> Any:
    """Points of which those beyond the image are moved to its edge.

    Args:
        inpt: `KeyPoints`, or a tensor (..., 2).
        canvas_size: The image's height and width, for a tensor only.

    Raises:
        ValueError: `canvas_size` is absent for a tensor, or given for `KeyPoints`.
        TypeError: `inpt` is no points.

    Example:
        >>> import pyburn
        >>> clamp_keypoints(pyburn.tensor([[-1, 2], [5, 80]]), (10, 4)).tolist()
        [[0, 2], [3, 9]]
    """
    if isinstance(inpt, KeyPoints):
        if canvas_size is not None:
            raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
        return inpt._like(_clamped(inpt.as_subclass(Tensor), inpt.canvas_size))
    if not is_pure_tensor(inpt):
        raise TypeError(f"Input can either be a plain tensor or a keypoints tv_tensor, but got {type(inpt)} instead.")
    if canvas_size is None:
        raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
    return _clamped(inpt, canvas_size)


def points_inside(points: Tensor, canvas: Size) -> Tensor:
    """Which points (N, 2), or groups of points (N, ..., 2), lie within the image as a whole."""
    x, y = points[..., 0], points[..., 1]
    inside = (x >= 0) & (x < canvas[1]) & (y >= 0) & (y < canvas[0])
    return inside.flatten(1).all(1) if inside.dim() > 1 else inside


def sanitize_keypoints(key_points: Tensor, canvas_size: Size | None = None) -> tuple[Any, Tensor]:
    """The points, or groups of points, that lie within the image, and which those were.

    Args:
        key_points: `KeyPoints`, or a tensor (N, ..., 2).
        canvas_size: The image's height and width, for a tensor only.

    Raises:
        ValueError: `canvas_size` is absent for a tensor, or given for `KeyPoints`.

    Example:
        >>> import pyburn
        >>> sanitize_keypoints(pyburn.tensor([[0, 0], [3, 12]]), (10, 10))
        (tensor([[0, 0]]), tensor([ True, False]))
    """
    if isinstance(key_points, KeyPoints):
        if canvas_size is not None:
            raise ValueError(
                "canvas_size must be None when key_points is a tv_tensors.KeyPoints instance. "
                f"Got canvas_size={canvas_size}. Leave it to None or pass key_points as a pure tensor."
            )
        plain = key_points.as_subclass(Tensor)
        valid = points_inside(plain, key_points.canvas_size)
        return key_points._like(plain[valid]), valid
    if not is_pure_tensor(key_points):
        raise ValueError("key_points must be a tv_tensors.KeyPoints instance or a pure tensor.")
    if canvas_size is None:
        raise ValueError(
            "canvas_size cannot be None if key_points is a pure tensor. "
            "Set it to an appropriate value or pass key_points as a tv_tensors.KeyPoints object."
        )
    valid = points_inside(key_points, canvas_size)
    return key_points[valid], valid
