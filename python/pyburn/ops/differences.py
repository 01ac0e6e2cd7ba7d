"""Derivatives of sampled functions by finite differences."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops.joining import cat

__all__ = ["gradient"]

METHODS = ("gradient",)

Number = bool | int | float
Spacing = Number | Tensor


def gradient(
    input: Tensor,
    *,
    spacing: Spacing | Sequence[Spacing] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The derivative of a sampled function along each of `dim`, by differences that are exact for parabolas inside.

    Args:
        input: The samples.
        spacing: The distance between samples, 1 if not given: one number, one for each dimension, or for each a vector
            of coordinates.
        dim: The dimensions; None is all of them.
        edge_order: 1 or 2: how exact the first and last differences are.

    Example:
        >>> import pyburn
        >>> pyburn.gradient(pyburn.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    axes = _axes(input, dim)
    spaces = _spaces(input, spacing, axes)
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: only supports edge_order=1 and edge_order=2, got {edge_order}")
    for axis in axes:
        if input.shape[axis] < edge_order + 1:
            raise RuntimeError(f"gradient: expected each dimension size to be at least edge_order+1, got {input.shape}")
    return tuple(_along(input, axis, space, edge_order) for axis, space in zip(axes, spaces, strict=True))


def _axes(input: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    rank = input.dim()
    dims = list(range(rank)) if dim is None else [dim] if is_integer(dim) else list(dim)
    if any(not -rank <= one < rank for one in dims):
        raise IndexError(f"gradient: Dimension out of range, got {dims} for {rank} dimensions")
    axes = [one % rank for one in dims]
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"gradient: dim {dims} appears multiple times in the list of dims")
    return axes


def _spaces(input: Tensor, spacing: Spacing | Sequence[Spacing] | None, axes: list[int]) -> list[Spacing]:
    """The spacing of each axis."""
    if spacing is None or isinstance(spacing, (bool, int, float)):
        return [1 if spacing is None else spacing] * len(axes)
    spaces: list[Spacing] = [spacing] if isinstance(spacing, Tensor) else list(spacing)
    if len(spaces) != len(axes):
        raise RuntimeError(
            f"gradient: expected spacing to be unspecified, a scalar, or one for each of the {len(axes)} dimensions, "
            f"got {len(spaces)}"
        )
    for axis, space in zip(axes, spaces, strict=True):
        if isinstance(space, Tensor) and (space.dim() != 1 or space.shape[0] != input.shape[axis]):
            raise RuntimeError(
                f"gradient: expected each coordinate tensor to have one entry per sample, got {list(space.shape)} "
                f"for {input.shape[axis]} samples"
            )
    return spaces


def _along(input: Tensor, axis: int, space: Spacing, edge_order: int) -> Tensor:
    if not isinstance(space, Tensor) and edge_order == 1:
        length = input.shape[axis]
        ahead, behind = input.narrow(axis, 2, length - 2), input.narrow(axis, 0, length - 2)
        ends = [input.narrow(axis, at, 1) for at in (0, 1, length - 2, length - 1)]
        inside = (ahead - behind) / (2.0 * space)
        return cat([(ends[1] - ends[0]) / space, inside, (ends[3] - ends[2]) / space], axis)
    x = input.movedim(axis, -1)
    steps: Spacing = space[1:] - space[:-1] if isinstance(space, Tensor) else space
    inside = _inside(x, steps)
    first, last = _edges(x, steps, edge_order)
    return cat([first, inside, last], dim=-1).movedim(-1, axis)


def _inside(x: Tensor, steps: Spacing) -> Tensor:
    """The derivative at all samples but the first and the last."""
    if not isinstance(steps, Tensor):
        return (x[..., 2:] - x[..., :-2]) / (2.0 * steps)
    left, right = steps[:-1], steps[1:]
    before = -right / (left * (left + right))
    here = (right - left) / (left * right)
    after = left / (right * (left + right))
    return before * x[..., :-2] + here * x[..., 1:-1] + after * x[..., 2:]


def _edges(x: Tensor, steps: Spacing, order: int) -> tuple[Tensor, Tensor]:
    """The derivative at the first and at the last sample."""
    if isinstance(steps, Tensor):
        near, far = (steps[:1], steps[-1:]), (steps[1:2], steps[-2:-1])
    else:
        near = far = (steps, steps)  # type: ignore[assignment]
    if order == 1:
        return (x[..., 1:2] - x[..., :1]) / near[0], (x[..., -1:] - x[..., -2:-1]) / near[1]
    weights = []
    for one, two in zip(near, far, strict=True):
        weights.append(
            (-(2.0 * one + two) / (one * (one + two)), (one + two) / (one * two), -one / (two * (one + two)))
        )
    (a, b, c), (d, e, f) = weights
    first = a * x[..., :1] + b * x[..., 1:2] + c * x[..., 2:3]
    last = -(d * x[..., -1:] + e * x[..., -2:-1] + f * x[..., -3:-2])
    return first, last
