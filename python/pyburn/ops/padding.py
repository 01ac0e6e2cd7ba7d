"""Padding at the edges of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._layout import laid_as
from pyburn.ops.joining import cat

__all__ = ["constant_pad_nd", "pad"]

Number = bool | int | float


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    """`input` with elements added at (or, for negative numbers, taken from) its edges.

    Args:
        input: The tensor.
        pad: Pairs (before, after), for the last dimension first.
        mode: "constant", or "reflect", "replicate" and "circular", which pad the last 1, 2 or 3 dimensions of tensors
            with one or two leading dimensions.
        value: The constant; 0 if not given.

    Example:
        >>> import pyburn
        >>> pyburn.ops.pad(pyburn.tensor([1, 2]), (1, 2), value=9)
        tensor([9, 1, 2, 9, 9])
        >>> pyburn.ops.pad(pyburn.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
        tensor([[3., 2., 1., 2., 3.]])
    """
    sizes = [int(size) for size in pad]
    rank = input.dim()
    if len(sizes) % 2:
        raise RuntimeError(f"pad: Padding length must be divisible by 2, got {sizes}")
    if len(sizes) // 2 > rank:
        raise RuntimeError(
            f"pad: Padding length should be at most twice the number of dimensions ({rank}), got {sizes}"
        )
    pairs = [(0, 0)] * (rank - len(sizes) // 2) + list(zip(sizes[::2], sizes[1::2], strict=True))[::-1]
    if mode == "constant":
        return laid_as(input._pad_constant(pairs, 0 if value is None else value), input)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"pad: Unrecognised padding mode {mode}; use constant, reflect, replicate or circular"
        )
    if value is not None and value != 0:
        raise ValueError(f'pad: Padding mode "{mode}" doesn\'t take in value argument')
    count = len(sizes) // 2
    if count > 3 or rank not in (count + 1, count + 2):
        raise NotImplementedError(
            f"pad: mode {mode} pads the last 1, 2 or 3 dimensions of tensors with one or two more, got {sizes} for "
            f"shape {list(input.shape)}"
        )
    out = input
    if _native(input, pairs, count):
        out = input._pad_edges(pairs[rank - count :], mode)
    else:
        for dim, (before, after) in enumerate(pairs):
            if (before, after) != (0, 0):
                out = _extended(out, dim, mode, before, after)
    if mode == "circular":
        return out.clone() if out is input else out.contiguous()
    out = out.clone() if out is input else laid_as(out, input)
    name = "ReflectionPad" if mode == "reflect" else "ReplicationPad"
    return _core._stand_for(out, f"{name}{count}DBackward0", (input,), (input,))


_pad = pad


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`input` with a constant added at its edges: :func:`pad` with `mode="constant"`.

    Example:
        >>> import pyburn
        >>> pyburn.constant_pad_nd(pyburn.tensor([1, 2]), (1, 0))
        tensor([0, 1, 2])
    """
    return _pad(input, pad, "constant", value)


def _native(input: Tensor, pairs: Sequence[tuple[int, int]], count: int) -> bool:
    """Whether one kernel pads all dimensions: each by less than its size, some of them by something."""
    sizes = list(zip(input.shape, pairs, strict=True))[-count:]
    return (
        input.dtype in (_core.float32, _core.float64)
        and input.device.type == "cpu"
        and any(pair != (0, 0) for _, pair in sizes)
        and all(0 <= before < size and 0 <= after < size for size, (before, after) in sizes)
    )


def _extended(input: Tensor, dim: int, mode: str, before: int, after: int) -> Tensor:
    """One dimension padded."""
    size = input.shape[dim]
    if not (0 <= before < size and 0 <= after < size):
        return input._take_dim(dim, _positions(mode, size, before, after, dim))
    # Whole pieces are moved: a list of positions costs more than the copy.
    if mode == "reflect":
        front, back = input.narrow(dim, 1, before), input.narrow(dim, size - 1 - after, after)
        front, back = front.flip(dim) if before > 1 else front, back.flip(dim) if after > 1 else back
    elif mode == "circular":
        front, back = input.narrow(dim, size - before, before), input.narrow(dim, 0, after)
    else:
        shape = [-1] * input.dim()
        front, back = (
            input.narrow(dim, start, 1).expand(*shape[:dim], count, *shape[dim + 1 :])
            for start, count in ((0, before), (size - 1, after))
        )
    return cat([front, input, back], dim)


def _positions(mode: str, size: int, before: int, after: int, dim: int) -> list[int]:
    """Which position of the unpadded dimension stands at each position of the padded one."""
    if size + before + after < 0 or (size == 0 and before + after > 0):
        raise RuntimeError(f"pad: size {size} of dimension {dim} cannot be padded by {before} and {after}")
    _core._check_allocation(64 * (size + before + after))
    places = range(-before, size + after)
    if mode == "replicate":
        return [min(max(place, 0), size - 1) for place in places]
    if mode == "circular":
        if before > size or after > size:
            raise RuntimeError("pad: Padding value causes wrapping around more than once.")
        # What negative numbers cut off takes no part in going round.
        kept = range(max(-before, 0), size - max(-after, 0))
        return [kept[place % len(kept)] for place in range(-max(before, 0), len(kept) + max(after, 0))]
    if before >= size or after >= size:
        raise RuntimeError(
            f"pad: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {dim} of size {size}"
        )
    return [abs(place) if place < size else 2 * (size - 1) - place for place in places]
