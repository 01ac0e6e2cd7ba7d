"""Images read at any places: grids of coordinates and what lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyburn._core import (
    DTypeError,
    Tensor,
    _backward,
    _grid_sample,
    _grid_sample_backward,
    _stand_for,
    float32,
    float64,
    int64,
    is_grad_enabled,
)
from pyburn.ops._methods import need_float, need_real
from pyburn.ops.matrices.recorded import Backward, link, link_constant
from pyburn.ops.ranges import linspace

__all__ = ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places, from -1 to 1, that the affine maps `theta` send the pixels of an image of `size` to.

    Args:
        theta: (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: (N, C, H, W) or (N, C, D, H, W).
        align_corners: Whether -1 and 1 are the centres of the corner pixels and not their outer edges.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> theta = pyburn.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> nn.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: Expected theta to have floating point type, but got {theta.dtype}")
    spatial = list(size)[2:]
    n = len(spatial)
    if n not in (2, 3) or list(theta.shape) != [size[0], n, n + 1]:
        raise ValueError(
            f"affine_grid: theta has shape {list(theta.shape)} but size {list(size)} needs (N, 2, 3) or (N, 3, 4)"
        )
    axes = []
    for dim in range(n - 1, -1, -1):
        shape = [spatial[dim] if other == dim else 1 for other in range(n)]
        axes.append(_centres(theta, spatial[dim], bool(align_corners)).reshape(shape).expand(spatial).unsqueeze(-1))
    from pyburn.ops import cat

    base = cat([*axes, theta.detach().new_ones([*spatial, 1])], n)  # (..., n + 1), x first
    flat = base.reshape(1, -1, n + 1).expand(size[0], -1, n + 1)
    return flat.bmm(theta.transpose(1, 2)).reshape([size[0], *spatial, n])


def _centres(like: Tensor, count: int, align_corners: bool) -> Tensor:
    """The centres of `count` pixels between -1 and 1.

    Rounded as torch rounds them: under the identity map the sampled places lie on the pixels, where the gradient
    of `grid_sample` jumps, so that the last bit decides which side is taken.
    """
    if count <= 1:
        return like.detach().new_zeros([count])
    places = linspace(-1.0, 1.0, count, dtype=like.dtype, device=like.device)
    return places if align_corners else places * (count - 1) / count


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sample` with its modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.

    Example:
        >>> import pyburn
        >>> pyburn.grid_sampler(pyburn.ones(1, 1, 2, 2), pyburn.zeros(1, 1, 1, 2), 0, 0, True)
        tensor([[[[1.]]]])
    """
    need_real("grid_sampler", input, grid)
    for name, value in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
        if value not in (0, 1, 2):
            raise RuntimeError(f"grid_sampler: {name} {value} is not 0, 1 or 2")
    return grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` for images (N, C, H, W).

    Example:
        >>> import pyburn
        >>> pyburn.grid_sampler_2d(pyburn.ones(1, 1, 2, 2), pyburn.zeros(1, 1, 1, 2), 0, 0, True)
        tensor([[[[1.]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` for volumes (N, C, D, H, W).

    Example:
        >>> import pyburn
        >>> pyburn.grid_sampler_3d(pyburn.ones(1, 1, 2, 2, 2), pyburn.zeros(1, 1, 1, 1, 3), 0, 0, True)
        tensor([[[[[1.]]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """`input` (N, C, ...) read at the places `grid` (N, ..., 2 or 3), x before y before z, from -1 to 1.

    Args:
        input: Images (N, C, H, W) or volumes (N, C, D, H, W).
        grid: Places.
        mode: "bilinear", "nearest" or "bicubic".
        padding_mode: What lies outside: "zeros", the "border", or a "reflection".
        align_corners: Whether -1 and 1 are the centres of the corner pixels and not their outer edges.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> image = pyburn.tensor([[[[1.0, 3.0]]]])
        >>> nn.grid_sample(image, pyburn.zeros(1, 1, 1, 2), align_corners=True)
        tensor([[[[2.]]]])
    """
    for name, value in (("input", input), ("grid", grid)):
        if not isinstance(value, Tensor):
            raise TypeError(f"grid_sample: argument '{name}' must be Tensor, not {type(value).__name__}")
    need_float("grid_sample", input)
    if grid.dtype != input.dtype:
        raise DTypeError(f"grid_sample: expected grid of dtype {input.dtype} but found {grid.dtype}")
    n = input.dim() - 2
    if n not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != n or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            f"grid_sample: input has shape {list(input.shape)} and grid {list(grid.shape)}; expected (N, C, H, W) with "
            "(N, h, w, 2), or (N, C, D, H, W) with (N, d, h, w, 3)"
        )
    if mode not in _MODES:
        raise ValueError(f"grid_sample: mode {mode!r} is not 'bilinear', 'nearest' or 'bicubic'")
    if padding_mode not in _PADDINGS:
        raise ValueError(f"grid_sample: padding_mode {padding_mode!r} is not 'zeros', 'border' or 'reflection'")
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sample: expected input to have non-empty spatial dimensions, but it has shape {list(input.shape)}"
        )
    native = input.device.type == grid.device.type == "cpu" and input.dtype in (float32, float64)
    return (_native if native else _composed)(input, grid, mode, padding_mode, bool(align_corners))


def _native(input: Tensor, grid: Tensor, mode: str, padding_mode: str, corners: bool) -> Tensor:
    """By the kernels; gradients that are to be differentiated themselves are those of the composed form."""
    numbers = _MODES.index(mode), _PADDINGS.index(padding_mode), corners

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        [grad], (image, places) = context.grads, context.saved
        if grad is None:
            return None, None
        if is_grad_enabled():
            return _recorded(image, places, grad, context.needs, (mode, padding_mode, corners))
        return _grid_sample_backward(grad, image, places, *numbers, (context.needs[0], context.needs[1]))

    result = _grid_sample(input, grid, *numbers)
    link(f"GridSampler{input.dim() - 2}DBackward0", (input, grid), [result], [input, grid], rule)
    return result


def _recorded(
    image: Tensor, places: Tensor, grad: Tensor, needs: list[bool], options: tuple[str, str, bool]
) -> tuple[Tensor | None, ...]:
    wanted = [tensor for tensor, need in zip((image, places), needs, strict=True) if need]
    found = iter(_backward([_composed(image, places, *options)], [grad], True, True, wanted))
    return tuple(next(found) if need else None for need in needs)


def _composed(input: Tensor, grid: Tensor, mode: str, padding_mode: str, corners: bool) -> Tensor:
    """Of other operations, for every device and dtype."""
    n = input.dim() - 2
    sizes = list(input.shape[2:])
    places = [
        _pixels(grid.select(-1, n - 1 - dim).reshape(grid.shape[0], -1), sizes[dim], corners, n == 2)
        for dim in range(n)
    ]
    kept = [_inside(place, size, padding_mode, corners) for place, size in zip(places, sizes, strict=True)]
    taps: list[list[tuple[Tensor, Tensor | None]]]
    if mode == "nearest":
        taps = [[(place.detach().round(), None)] for place in kept]
    elif mode == "bilinear":
        taps = [_linear(place) for place in kept]
    else:
        taps = [
            [(_inside(at, size, padding_mode, corners), weight) for at, weight in _cubic(place)]
            for place, size in zip(places, sizes, strict=True)
        ]
    flat = input.reshape(input.shape[0], input.shape[1], -1)
    total = _read(flat, sizes, taps)
    result = total.reshape([*input.shape[:2], *grid.shape[1:-1]])
    if mode == "nearest" and grid.requires_grad:
        link_constant("GridSampler2DBackward0", [grid], flat := result.new_zeros(()))
        result = result + flat
    return _stand_for(result, f"GridSampler{n}DBackward0", (input, grid), (input, grid))


Tap = tuple[Tensor, Tensor | None]


def _pixels(place: Tensor, size: int, corners: bool, image: bool) -> Tensor:
    """From -1..1 to numbers of pixels.

    torch rounds those of images in another order than those of volumes: where a place lies on a pixel, the last bit
    decides from which side the gradient is taken.
    """
    if corners:
        return (place + 1) * ((size - 1) / 2) if image else (place + 1) * 0.5 * (size - 1)
    if not image:
        return ((place + 1) * size - 1) * 0.5
    shifted = place + 1
    twice = shifted * (size / 2) - 0.5
    if place.dtype not in (float32, float64) or place.device.type != "cpu":
        return twice
    # Both are so near to each other that their difference and its sum are exact.
    return twice + (_once(shifted.detach(), size / 2) - twice.detach())


def _once(shifted: Tensor, scale: float) -> Tensor:
    """`shifted * scale - 0.5` rounded once, as a fused instruction does, for a scale of few bits."""
    if shifted.dtype == float32:
        return (shifted.to(float64) * scale - 0.5).to(float32)
    product = shifted * scale
    high = shifted * 134217729.0  # 2**27 + 1 splits a number in halves whose products with the scale are exact
    high = high - (high - shifted)
    rest = (high * scale - product) + (shifted - high) * scale
    return (product - 0.5) + rest


def _inside(place: Tensor, size: int, padding_mode: str, corners: bool) -> Tensor:
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
        if span == 0.0:
            return place * 0.0
        offset = (place - low).abs()
        turns = (offset.detach() / span).floor()
        rest = offset - turns * span
        odd = (turns - (turns / 2).floor() * 2) > 0
        place = (span - rest).where(odd, rest) + low
    return place.clamp(0.0, float(size - 1))


def _linear(place: Tensor) -> list[Tap]:
    low = place.detach().floor()
    part = place - low
    return [(low, 1 - part), (low + 1, part)]


def _cubic(place: Tensor) -> list[tuple[Tensor, Tensor]]:
    low = place.detach().floor()
    t = place - low
    a = -0.75
    near: Callable[[Tensor], Tensor] = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1  # noqa: E731
    far: Callable[[Tensor], Tensor] = lambda x: (((x - 5) * x + 8) * x - 4) * a  # noqa: E731
    return [(low - 1, far(t + 1)), (low, near(t)), (low + 1, near(1 - t)), (low + 2, far(2 - t))]


def _read(flat: Tensor, sizes: list[int], taps: list[list[Tap]]) -> Tensor:
    """The weighted sum over all combinations of the taps of each dimension; pixels outside count as zero."""
    combined: list[tuple[Tensor | None, Tensor | None, Tensor | None]] = [(None, None, None)]
    for size, choices in zip(sizes, taps, strict=True):
        combined = [_extend(before, choice, size) for before in combined for choice in choices]
    total: Tensor | None = None
    for index, weight, valid in combined:
        if index is None or valid is None:
            continue
        values = flat.gather(2, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
        values = values.masked_fill(valid.logical_not().unsqueeze(1), 0.0)
        values = values if weight is None else values * weight.unsqueeze(1)
        total = values if total is None else total + values
    return flat if total is None else total


def _extend(
    before: tuple[Tensor | None, Tensor | None, Tensor | None], tap: Tap, size: int
) -> tuple[Tensor, Tensor | None, Tensor]:
    index, weight, valid = before
    place, factor = tap
    fits = (place >= 0) & (place <= size - 1)
    at = place.detach().clamp(0.0, float(size - 1)).to(int64)
    index = at if index is None else index * size + at
    if factor is not None:
        weight = factor if weight is None else weight * factor
    return index, weight, fits if valid is None else valid & fits
