"""Convolutions whose windows are bent by offsets: Dai and others, 2017; with masks Zhu and others, 2019."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.autograd import enable_grad, grad
from pyburn.ops import arange, einsum, zeros_like

__all__ = ["deform_conv2d", "deform_conv2d_backward"]


def _sampled(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """`image` (N, G, C, H, W) at the places (N, G, P), between pixels, with zeros around it."""
    height, width = image.shape[-2:]
    flat = image.flatten(-2)  # (N, G, C, H * W)
    top, left = y.detach().floor(), x.detach().floor()
    total = zeros_like(flat[..., :1]) * y[:, :, None]  # (N, G, C, P)
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            share = (1 - (y - row).abs()) * (1 - (x - column).abs()) * inside
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            values = flat.gather(3, place[:, :, None].expand(*total.shape))
            total = total + values * share[:, :, None]
    return total


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """`input` (N, C, H, W) convolved with `weight` (O, C / groups, KH, KW), each element read at its own offset.

    Args:
        input: Images.
        weight: Filters.
        offset: (N, 2 * offset_groups * KH * KW, OH, OW): how far down and how far right.
        mask: (N, offset_groups * KH * KW, OH, OW): a factor for each element read, if `use_mask`.
        bias: (O), added to each output channel.
        stride_h: How far the window moves down; `stride_w` to the right.
        stride_w: See `stride_h`.
        pad_h: Zeros above and below; `pad_w` on both sides.
        pad_w: See `pad_h`.
        dilation_h: The distance between the rows of a window; `dilation_w` between its columns.
        dilation_w: See `dilation_h`.
        groups: Into how many parts the channels are cut.
        offset_groups: Into how many parts the channels are cut that share offsets.
        use_mask: Whether `mask` counts.

    Raises:
        RuntimeError: The shapes do not fit together.
    """
    batch, channels, _, _ = input.shape
    filters, _, rows, columns = weight.shape
    high, wide = offset.shape[-2:]
    taps = rows * columns
    if offset.shape[1] != 2 * offset_groups * taps or offset.shape[0] != batch or channels % groups:
        raise RuntimeError(
            f"deform_conv2d: offset has shape {list(offset.shape)} but input {list(input.shape)} and weight "
            f"{list(weight.shape)} need [{batch}, {2 * offset_groups * taps}, OH, OW]"
        )
    shifts = offset.reshape(batch, offset_groups, rows, columns, 2, high, wide)

    def steps(count: int, step: int, *shape: int) -> Tensor:
        return (arange(count, dtype=input.dtype, device=input.device) * step).reshape(shape)

    y = shifts[:, :, :, :, 0] + steps(rows, dilation_h, rows, 1, 1, 1) + steps(high, stride_h, high, 1) - pad_h
    x = shifts[:, :, :, :, 1] + steps(columns, dilation_w, columns, 1, 1) + steps(wide, stride_w, wide) - pad_w
    image = input.reshape(batch, offset_groups, channels // offset_groups, *input.shape[2:])
    read = _sampled(image, y.flatten(2), x.flatten(2))
    if use_mask:
        read = read * mask.reshape(batch, offset_groups, 1, -1)
    parts = read.reshape(batch, groups, channels // groups * taps, high * wide)
    output = einsum("ngkp,gok->ngop", parts, weight.reshape(groups, filters // groups, -1))
    return output.reshape(batch, filters, high, wide) + bias.reshape(-1, 1, 1)


def deform_conv2d_backward(
    gradient: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *numbers: int
) -> tuple[Tensor, ...]:
    """The gradients of the first five arguments of `deform_conv2d`, for the gradient of its result."""
    inputs = [part.detach().requires_grad_() for part in (input, weight, offset, mask, bias)]
    with enable_grad():
        output = deform_conv2d(*inputs, *numbers)  # type: ignore[arg-type]
    found = grad(output, inputs, gradient, allow_unused=True)
    return tuple(zeros_like(part) if one is None else one for part, one in zip(inputs, found, strict=True))
