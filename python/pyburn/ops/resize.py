"""Images made larger or smaller, their pixels moved between channels and places, and sliding windows."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pyburn import _core
from pyburn._core import Tensor, float32
from pyburn.ops._layout import laid_as
from pyburn.ops._methods import need_float, need_real
from pyburn.ops._sizes import Sizes, spread
from pyburn.ops.conv import conv_transpose2d
from pyburn.ops.matrices.recorded import Backward, link
from pyburn.ops.pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]

Taps = list[tuple[int, float]]
Round = Callable[[float], float]
LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
NEAREST = ("nearest", "nearest-exact")
# Dimensions up to this size keep their weights for the next call.
REMEMBERED = 4096
_NODES = {"nearest-exact": "NearestExact", **{mode: mode.capitalize() for mode in ("nearest", *LINEAR)}}


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """`input` (N, C, ...) with its spatial dimensions resized.

    Args:
        input: One to three spatial dimensions.
        size: The new spatial sizes; or give `scale_factor`.
        scale_factor: By how much sizes are multiplied.
        mode: "nearest", "nearest-exact", "area"; "linear", "bilinear", "trilinear", "bicubic" for 1, 2, 3 and 2
            spatial dimensions.
        align_corners: For the linear and cubic modes: whether the centres of the corner pixels stay where they are.
        recompute_scale_factor: Whether the factor is computed anew from the rounded sizes.
        antialias: For "bilinear" and "bicubic": whether making smaller averages over all pixels that fall together.

    Raises:
        ValueError: The arguments contradict each other, or the mode does not fit the rank.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.interpolate(pyburn.tensor([[[1.0, 3.0]]]), size=4)
        tensor([[[1., 1., 3., 3.]]])
    """
    need_real("interpolate", input)
    if input.dtype != _core.uint8:
        need_float("interpolate", input)
    n = input.dim() - 2
    plan = _plan_for(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if mode == "area":
        pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
        return pools[n - 1](input, plan.sizes)
    if plan.steps is not None:
        wide = input.dtype.itemsize >= 4
        result = _core._resample(input if wide else input.to(float32), plan.steps)
        result = result if wide else result.to(input.dtype)
    elif mode in NEAREST:
        result = _nearest(input, plan.places)
    else:
        result = _whole_pixels(input, plan, mode, bool(align_corners), antialias)
    return _core._stand_for(laid_as(result, input), plan.node, (input,))


class _Plan(NamedTuple):
    """What the sizes and the mode say about an image of any content."""

    sizes: list[int]
    factors: list[float | None]
    steps: list[tuple[int, bytes]] | None  # of what `_core._resample` computes alone
    places: list[tuple[int, ...]]  # of the nearest neighbours
    node: str


def _plan_for(input: Tensor, size: Any, scale_factor: Any, mode: str, *about: bool | None) -> _Plan:
    shape = tuple(input.shape)
    key = (shape, input.dtype, _fixed(size), _fixed(scale_factor), mode, *about)
    if _UNFIXED in key or _reach(shape, *key[2:4]) > REMEMBERED:
        return _plan.__wrapped__(shape, input.dtype, size, scale_factor, mode, *about)
    return _plan(*key)


def _reach(shape: tuple[int, ...], size: Any, scale_factor: Any) -> float:
    """The longest dimension, before or after."""
    longest = max(shape, default=0)
    asked = scale_factor if size is None else size
    most: float = max(asked, default=0) if type(asked) is tuple else asked or 0
    return max(longest, most * longest if size is None else most)


_UNFIXED = "unfixed"


def _fixed(value: Any) -> Any:
    """A number or a tuple of them by which a plan is remembered, or `_UNFIXED`."""
    if value is None or type(value) in (int, float):
        return value
    if type(value) in (tuple, list) and all(type(number) in (int, float) for number in value):
        return tuple(value)
    return _UNFIXED


@lru_cache(maxsize=64, typed=True)
def _plan(
    shape: tuple[int, ...],
    dtype: _core.dtype,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute: bool | None,
    antialias: bool,
) -> _Plan:
    n = len(shape) - 2
    sizes, factors = _targets(shape, n, dtype.itemsize, size, scale_factor, recompute)
    _check_mode(shape, n, mode, align_corners, antialias)
    if mode in NEAREST:
        long = max(*sizes, *shape[2:]) > REMEMBERED
        find, pick = (_places.__wrapped__, _picked.__wrapped__) if long else (_places, _picked)
        places = [find(shape[dim + 2], new, factors[dim], mode != "nearest") for dim, new in enumerate(sizes)]
        alone = dtype.is_floating_point and dtype.itemsize >= 4
        steps = [(dim + 2, pick(found)) for dim, found in enumerate(places)] if alone else None
        return _Plan(sizes, factors, steps, places, f"Upsample{_NODES[mode]}{n}DBackward0")
    if mode == "area" or not dtype.is_floating_point:
        node = f"Upsample{_NODES.get(mode)}{n}DBackward0"
        return _Plan(sizes, factors, None, [], node)
    spans = _spans(shape, sizes, factors, mode, bool(align_corners), antialias)
    steps = [(dim + 2, _remembered(_rows, *span, False, dtype.itemsize > 4)) for dim, span in enumerate(spans)]
    return _Plan(sizes, factors, steps, [], f"Upsample{_NODES[mode]}{n}D{'Aa' if antialias else ''}Backward0")


def _spans(shape: Sequence[int], sizes: list[int], factors: list[float | None], *about: Any) -> list[Any]:
    """What `_rows` and `_byte_rows` are asked for each dimension."""
    return [(shape[dim + 2], new, factors[dim], *about) for dim, new in enumerate(sizes)]


def _whole_pixels(input: Tensor, plan: _Plan, mode: str, align_corners: bool, antialias: bool) -> Tensor:
    """Pixels of integers, by linear or cubic weights."""
    spans = _spans(input.shape, plan.sizes, plan.factors, mode, align_corners, antialias)
    if len(spans) == 2 and input.device.type == "cpu":
        return _core._resample_bytes(input, *(_remembered(_byte_rows, *span) for span in spans))
    x = input.to(float32)
    for dim, span in reversed(list(enumerate(spans))):
        # torch keeps bytes between the passes, the last dimension first, and rounds halves up.
        rows = _remembered(_rows, *span, True, True)
        x = _core._resample(x, [(dim + 2, rows)]).add_(0.5).floor_().clamp_(0, 255)
    return x.to(input.dtype)


def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """As `interpolate`, under torch's older name.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.upsample(pyburn.tensor([[[1.0, 3.0]]]), scale_factor=2)
        tensor([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def _targets(
    shape: Sequence[int],
    n: int,
    itemsize: int,
    size: Sizes | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool | None,
) -> tuple[list[int], list[float | None]]:
    """The new sizes, and the factors where positions are computed from them."""
    if not 1 <= n <= 3:
        raise NotImplementedError(
            f"interpolate: input has {len(shape)} dimensions but needs 3, 4 or 5: (N, C, ...); reshape it"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: exactly one of size and scale_factor must be given")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes = spread("interpolate", "size", size, n)
        factors: list[float | None] = [None] * n
    else:
        given = list(scale_factor or []) if isinstance(scale_factor, Sequence) else [float(scale_factor or 0)] * n
        if len(given) != n:
            raise ValueError(f"interpolate: scale_factor has {len(given)} numbers but input has {n} spatial dimensions")
        sizes = [math.floor(float(old) * factor) for old, factor in zip(shape[2:], given, strict=True)]
        factors = [None] * n if recompute else [float(factor) for factor in given]
    if min(sizes) <= 0 or 0 in shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(shape)} and output {sizes}"
        )
    # The weights of each row and column are lists: those of too large an image are refused before they are made.
    _core._check_allocation(400 * max(sizes))
    _core._check_allocation(math.prod(shape[:2]) * math.prod(sizes) * itemsize)
    return sizes, factors


def _check_mode(shape: Sequence[int], n: int, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode not in (*LINEAR, *NEAREST, "area"):
        raise NotImplementedError(f"interpolate: there is no mode {mode!r}")
    if LINEAR.get(mode, n) != n:
        raise NotImplementedError(
            f"interpolate: input has {len(shape)} dimensions but mode {mode!r} needs {LINEAR[mode] + 2}"
        )
    if align_corners is not None and mode not in LINEAR:
        raise ValueError("align_corners option can only be set with the modes: linear | bilinear | bicubic | trilinear")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D input")


def _remembered(make: Any, old: int, new: int, *about: Any) -> Any:
    """What `make`, a cached function, gives; for very long dimensions it is made anew."""
    return (make if max(old, new) <= REMEMBERED else make.__wrapped__)(old, new, *about)


@lru_cache(maxsize=64)
def _rows(
    old: int, new: int, factor: float | None, mode: str, align_corners: bool, antialias: bool, whole: bool, wide: bool
) -> bytes:
    """What each output of a dimension is summed up from; the same sizes come again and again."""
    rows = _taps(old, new, factor, mode, align_corners, antialias, wide)
    if whole:
        bits, rows = _whole(rows)
        rows = [[(at, weight / (1 << bits)) for at, weight in row] for row in rows]
    return _packed(rows)


@lru_cache(maxsize=64)
def _byte_rows(
    old: int, new: int, factor: float | None, mode: str, align_corners: bool, antialias: bool
) -> bytes | None:
    """As `_core._resample_bytes` reads them; None for a dimension that stays.

    The bits of the weights, then for each output its first input, the number of its inputs, which are neighbours, and
    their weights.
    """
    if old == new and (antialias or mode != "bicubic"):
        return None
    bits, rows = _whole(_taps(old, new, factor, mode, align_corners, antialias, True))
    numbers = array("i", [bits])
    for row in rows:
        numbers.extend([row[0][0], len(row), *(int(weight) for _, weight in row)])
    return numbers.tobytes()


def _taps(
    old: int, new: int, factor: float | None, mode: str, align_corners: bool, antialias: bool, wide: bool
) -> list[Taps]:
    # torch computes places in the dtype of the pixels, float32 at least: in the thousandth pixel that shows.
    cut: Round = float if wide else _single
    scale = cut(_scale(old, new, factor, align_corners))
    if old == new and (antialias or mode != "bicubic"):
        # Whatever the factor says, such as 1.1: torch leaves a dimension alone that stays as long as it was.
        return [[(at, 1.0)] for at in range(new)]
    if antialias:
        return _antialias_rows(old, new, scale, mode == "bicubic", cut)
    cubic = mode == "bicubic"
    make = _cubic_rows if cubic else _linear_rows
    return make(old, new, _positions(new, scale, align_corners, cubic, cut))


def _packed(rows: list[Taps]) -> bytes:
    """As `_core._resample` reads them: for each output the number of its inputs, then each input and its weight."""
    numbers = array("d")
    for row in rows:
        numbers.append(len(row))
        for tap in row:
            numbers.extend(tap)
    return numbers.tobytes()


def _whole(rows: list[Taps]) -> tuple[int, list[Taps]]:
    """The weights as torch has them for bytes: 16-bit integers, and the bits of the power of two below them."""
    merged = []
    for row in rows:
        sums: dict[int, float] = {}
        for at, weight in row:
            sums[at] = sums.get(at, 0.0) + weight
        merged.append(list(sums.items()))
    greatest = max((weight for row in merged for _, weight in row), default=1.0)
    bits = next((bits for bits in range(22) if int(0.5 + greatest * (1 << (bits + 1))) >= 1 << 15), 22)
    scale = 1 << bits
    return bits, [[(at, math.copysign(int(abs(weight) * scale + 0.5), weight)) for at, weight in row] for row in merged]


def _single(value: float) -> float:
    """The nearest float32: torch computes places of nearest neighbours with it."""
    number: float = struct.unpack("f", struct.pack("f", value))[0]
    return number


def _nearest(input: Tensor, places: list[tuple[int, ...]]) -> Tensor:
    output = input
    for dim, found in enumerate(places):
        output = output.index_select(dim + 2, input.new_tensor(found, dtype=_core.int64))
    return output


@lru_cache(maxsize=64)
def _places(old: int, new: int, factor: float | None, exact: bool) -> tuple[int, ...]:
    """The input that each output is nearest to."""
    if not exact and new in (old, 2 * old):
        return tuple(at * old // new for at in range(new))  # as torch has it, whatever the factor says
    scale = _single(1.0 / factor) if factor is not None else _single(old / new)
    shift = 0.5 if exact else 0.0
    return tuple(min(math.floor(_single((at + shift) * scale)), old - 1) for at in range(new))


@lru_cache(maxsize=64)
def _picked(places: tuple[int, ...]) -> bytes:
    return _packed([[(place, 1.0)] for place in places])


def _scale(old: int, new: int, factor: float | None, align_corners: bool) -> float:
    """How far two neighbours of the output lie apart in the input."""
    if align_corners:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return 1.0 / factor if factor is not None else old / new


def _positions(new: int, scale: float, align_corners: bool, cubic: bool, cut: Round) -> list[float]:
    """Where each output lies between the inputs."""
    if align_corners:
        return [cut(at * scale) for at in range(new)]
    # torch rounds the product for linear weights; for cubic ones it is fused with the difference.
    product: Round = float if cubic else cut
    return [cut(product((at + 0.5) * scale) - 0.5) for at in range(new)]


def _linear_rows(old: int, new: int, positions: list[float]) -> list[Taps]:
    rows: list[Taps] = []
    for position in positions:
        position = max(position, 0.0)
        low = min(int(position), old - 1)
        high = min(low + 1, old - 1)
        part = min(max(position - low, 0.0), 1.0)
        rows.append([(low, 1.0 - part), (high, part)] if high != low else [(low, 1.0)])
    return rows


def _cubic_rows(old: int, new: int, positions: list[float]) -> list[Taps]:
    rows: list[Taps] = []
    for position in positions:
        low = math.floor(position)
        part = position - low
        weights = [_cubic(part + 1, -0.75), _cubic(part, -0.75), _cubic(1 - part, -0.75), _cubic(2 - part, -0.75)]
        rows.append([(min(max(low - 1 + tap, 0), old - 1), weight) for tap, weight in enumerate(weights)])
    return rows


def _cubic(x: float, a: float) -> float:
    """Keys' cubic kernel."""
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _triangle(x: float) -> float:
    return max(0.0, 1.0 - abs(x))


def _antialias_rows(old: int, new: int, scale: float, cubic: bool, cut: Round) -> list[Taps]:
    """Filters as wide as the pixels that fall together."""
    kernel: Callable[[float], float] = (lambda x: _cubic(x, -0.5)) if cubic else _triangle
    support = (2.0 if cubic else 1.0) * max(scale, 1.0)
    rows: list[Taps] = []
    for at in range(new):
        centre = cut(scale * (at + 0.5))
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), old)
        weights = [kernel((place - centre + 0.5) / max(scale, 1.0)) for place in range(first, last)]
        total = sum(weights) or 1.0
        rows.append([(first + place, weight / total) for place, weight in enumerate(weights)])
    return rows


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) rearranged to (..., C, H * r, W * r) with r the factor.

    Example:
        >>> import pyburn
        >>> pyburn.pixel_shuffle(pyburn.tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]), 2)
        tensor([[[1., 2.],
                 [3., 4.]]])
    """
    r = upscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but got shape {list(input.shape)} and upscale_factor={r}"
        )
    if r == 1:
        return input.clone()
    *leading, channels, height, width = input.shape
    k = len(leading)
    parts = input.reshape(*leading, channels // (r * r), r, r, height, width)
    parts = parts.permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2)  # (..., C, H, r, W, r)
    result = laid_as(parts.reshape(*leading, channels // (r * r), height * r, width * r), input)
    return _core._stand_for(result, "PixelShuffleBackward0", (input,))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) rearranged to (..., C * r * r, H, W) with r the factor: undoes `pixel_shuffle`.

    Example:
        >>> import pyburn
        >>> pyburn.pixel_unshuffle(pyburn.ones(1, 2, 4), 2).shape
        pyburn.Size([4, 1, 2])
    """
    r = downscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got shape "
            f"{list(input.shape)} and downscale_factor={r}"
        )
    if r == 1:
        return input.clone()
    *leading, channels, height, width = input.shape
    k = len(leading)
    parts = input.reshape(*leading, channels, height // r, r, width // r, r)
    parts = parts.permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3)  # (..., C, r, r, H, W)
    result = laid_as(parts.reshape(*leading, channels * r * r, height // r, width // r), input)
    return _core._stand_for(result, "PixelUnshuffleBackward0", (input,))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`input` (N, C, ...) with the channels of its groups dealt out in turn.

    Example:
        >>> import pyburn
        >>> pyburn.channel_shuffle(pyburn.tensor([[[1], [2], [3], [4]]]), 2).flatten()
        tensor([1, 3, 2, 4])
    """
    if input.dim() < 3 or groups <= 0 or input.shape[1] % groups:
        raise RuntimeError(
            "channel_shuffle expects (N, C, ...) with C divisible by groups, got "
            f"{list(input.shape)} and groups={groups}"
        )
    batch, channels, *rest = input.shape
    dealt = input.reshape(batch, groups, channels // groups, *rest).transpose(1, 2).reshape(input.shape)
    return _core._stand_for(laid_as(dealt, input), "ChannelShuffleBackward0", (input,))


def _positions_count(op: str, sizes: Sequence[int], kernel: list[int], numbers: list[list[int]]) -> list[int]:
    """How many windows fit along each dimension."""
    spacing, edges, steps = numbers
    if min([*kernel, *spacing, *steps]) <= 0 or min(edges) < 0:
        raise RuntimeError(f"{op}: kernel_size, dilation and stride must be greater than zero and padding not negative")
    counts = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, d, p, s in zip(sizes, kernel, spacing, edges, steps, strict=True)
    ]
    if min(counts) < 1:
        raise RuntimeError(
            f"{op}: spatial sizes {list(sizes)} with kernel_size={kernel}, dilation={spacing} and padding={edges} have "
            f"no room for a window: calculated shape {counts}"
        )
    return counts


def _has_kernel(x: Tensor) -> bool:
    return x.is_cpu and x.dtype in (_core.float32, _core.float64)


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The windows of `input` (N, C, H, W) or (C, H, W) as columns: (N, C * KH * KW, windows).

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.unfold(pyburn.tensor([[[[1.0, 2.0, 3.0]]]]), (1, 2))
        tensor([[[1., 2.],
                 [2., 3.]]])
    """
    if input.dim() not in (3, 4):
        raise RuntimeError(f"unfold: expected 3D or 4D (batch mode) tensor, but got input of shape {list(input.shape)}")
    if input.dtype != _core.bool:
        need_float("unfold", input)
    kernel, spacing = spread("unfold", "kernel_size", kernel_size, 2), spread("unfold", "dilation", dilation, 2)
    edges, steps = spread("unfold", "padding", padding, 2), spread("unfold", "stride", stride, 2)
    counts = _positions_count("unfold", input.shape[-2:], kernel, [spacing, edges, steps])
    x = input if input.dim() == 4 else input.unsqueeze(0)
    if _has_kernel(x):
        x = x._unfold_windows([list(x.shape[2:]), kernel, counts, steps, edges, spacing])
        return x if input.dim() == 4 else x.squeeze(0)
    from pyburn.ops import pad

    x = pad(x, [edges[1], edges[1], edges[0], edges[0]]) if max(edges) else x
    for dim in range(2):
        x = x.unfold(2 + dim, spacing[dim] * (kernel[dim] - 1) + 1, steps[dim])
    # (N, C, rows, columns, KH, KW), of which every dilation-th element of the window is wanted.
    x = x[..., :: spacing[0], :: spacing[1]].permute(0, 1, 4, 5, 2, 3)
    batch, channels = x.shape[:2]
    x = x.reshape(batch, channels * kernel[0] * kernel[1], counts[0] * counts[1])
    return _core._stand_for(x, "Im2ColBackward0", (input,)) if input.dim() == 4 else x.squeeze(0)


def _added_up(grid: Tensor, sizes: list[int], numbers: list[list[int]]) -> Tensor:
    """The image that few large windows (N, C, KH, KW, rows, columns) add up to, recorded."""
    spacing, edges, steps = numbers
    batch, channels, *kernel, rows, columns = grid.shape
    plain = grid.detach()
    image = plain.new_zeros(batch, channels, *(size + 2 * p for size, p in zip(sizes, edges, strict=True)))
    windows = plain.permute(4, 5, 0, 1, 2, 3).contiguous()
    spans = [d * (k - 1) + 1 for d, k in zip(spacing, kernel, strict=True)]
    for row in range(rows):
        top = row * steps[0]
        line = image[:, :, top : top + spans[0] : spacing[0]]
        for column in range(columns):
            left = column * steps[1]
            line[..., left : left + spans[1] : spacing[1]].add_(windows[row, column])
    if max(edges):
        image = image[:, :, edges[0] : edges[0] + sizes[0], edges[1] : edges[1] + sizes[1]].contiguous()

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (grad,) = context.grads
        return (None if grad is None else unfold(grad, kernel, spacing, edges, steps).reshape(grid.shape),)

    link("Col2ImBackward0", [grid], [image], [], rule)
    return image


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Columns of windows (N, C * KH * KW, windows) added up to an image of `output_size`: the transpose of `unfold`.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.fold(pyburn.ones(1, 2, 2), (1, 3), (1, 2))
        tensor([[[[1., 2., 1.]]]])
    """
    sizes, kernel = spread("fold", "output_size", output_size, 2), spread("fold", "kernel_size", kernel_size, 2)
    spacing, edges = spread("fold", "dilation", dilation, 2), spread("fold", "padding", padding, 2)
    steps = spread("fold", "stride", stride, 2)
    counts = _positions_count("fold", sizes, kernel, [spacing, edges, steps])
    window = kernel[0] * kernel[1]
    if input.dim() not in (2, 3) or input.shape[-2] % window or input.shape[-1] != counts[0] * counts[1]:
        raise RuntimeError(
            f"fold: input has shape {list(input.shape)} but output_size={sizes} and kernel_size={kernel} need "
            f"(N, C * {window}, {counts[0] * counts[1]})"
        )
    if input.dtype != _core.bool:
        need_float("fold", input)
    x = input if input.dim() == 3 else input.unsqueeze(0)
    if _has_kernel(x):
        x = x._fold_windows([sizes, kernel, counts, steps, edges, spacing])
        return x if input.dim() == 3 else x.squeeze(0)
    batch, channels = x.shape[0], x.shape[1] // window
    if counts[0] * counts[1] < window and x.dtype != _core.bool:
        grid = x.reshape(batch, channels, *kernel, *counts)
        image = _added_up(grid, sizes, [spacing, edges, steps])
        return image if input.dim() == 3 else image.squeeze(0)
    from pyburn.ops import eye

    one = eye(window, dtype=x.dtype, device=x.device).reshape(window, 1, *kernel)
    grid = x.reshape(batch * channels, window, *counts)
    extra = [
        size + 2 * p - ((c - 1) * s + d * (k - 1) + 1)
        for size, p, c, s, d, k in zip(sizes, edges, counts, steps, spacing, kernel, strict=True)
    ]
    if x.dtype == _core.bool:
        grid, one = grid.to(_core.uint8), one.to(_core.uint8)
    image = (
        conv_transpose2d(grid, one, None, steps, edges, extra, 1, spacing).reshape(batch, channels, *sizes).to(x.dtype)
    )
    return _core._stand_for(image, "Col2ImBackward0", (input,)) if input.dim() == 3 else image.squeeze(0)
