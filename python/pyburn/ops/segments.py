"""Reductions of ragged segments, and rounding to a grid of few values as quantized networks do."""

from __future__ import annotations

import math

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import need_float
from pyburn.ops.indexing import scatter_reduce
from pyburn.ops.matrices.recorded import Backward, link
from pyburn.ops.search import searchsorted

__all__ = [
    "_segment_reduce",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
    "segment_reduce",
]

_FOLDS = {"max": ("amax", -math.inf), "min": ("amin", math.inf), "mean": ("sum", 0.0), "sum": ("sum", 0.0)}
_FOLDS["prod"] = ("prod", 1.0)


def _segment_lengths(
    data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool
) -> tuple[Tensor, Tensor]:
    """How long each segment is, and where it ends."""
    given = lengths if offsets is None else offsets
    if given is None or (lengths is not None and offsets is not None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, and not both.")
    if data.numel() == 0 or axis != given.dim() - 1 or tuple(given.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): data of shape {list(data.shape)} needs lengths or offsets with its first sizes, and "
            f"axis as their last dimension; got shape {list(given.shape)} and axis {axis}."
        )
    if offsets is not None:
        return offsets.diff(dim=-1), offsets.narrow(-1, 1, offsets.shape[-1] - 1)
    ends = given.cumsum(-1)
    if not unsafe:
        if bool((given < 0).any().item()):
            raise RuntimeError("lengths contains negative value!")
        if bool((given.sum(-1) != data.shape[axis]).any().item()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                "!unsafe."
            )
    return given, ends


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """One value for each segment of neighbours along `axis`.

    Args:
        data: A float tensor.
        reduce: "max", "mean", "min", "sum" or "prod".
        lengths: How many elements each segment has; or give `offsets`.
        indices: Not there, as in torch.
        offsets: Where the segments begin, with the end of the last one.
        axis: The dimension; the last one of `lengths`.
        unsafe: Whether lengths are taken without a check.
        initial: What every segment begins with, and the value of an empty one.

    Example:
        >>> import pyburn
        >>> pyburn.segment_reduce(pyburn.tensor([1.0, 2.0, 3.0]), "sum", lengths=pyburn.tensor([1, 2]))
        tensor([1., 5.])
    """
    need_float("segment_reduce", data)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if reduce not in _FOLDS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {sorted(_FOLDS)}, got {reduce!r}.")
    axis = axis % max(data.dim(), 1)
    sizes, ends = _segment_lengths(data, lengths, offsets, axis, unsafe)
    how, start = _FOLDS[reduce]
    count = sizes.shape[-1]
    places = _core._arange(0, data.shape[axis], 1, _core.int64, data.device, False)
    places = places.expand(*data.shape[:axis], data.shape[axis])
    number = searchsorted(ends.contiguous(), places.contiguous(), right=True)  # `count` behind the last segment
    rest = data.dim() - axis - 1
    number = number.reshape([*number.shape, *[1] * rest]).expand(data.shape)
    shape = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    base = data.detach().new_full(shape, start if initial is None else initial)
    found = scatter_reduce(base, axis, number, data, how).narrow(axis, 0, count)
    if reduce != "mean":
        return found
    lasting = sizes.reshape([*sizes.shape, *[1] * rest])
    if initial is None:
        return found / lasting
    return found / lasting.clamp(min=1)


_segment_reduce = segment_reduce


def _quantized(name: str, input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    """The nearest multiples of `scale` within the range; the gradient passes where nothing was cut off."""
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    need_float(name, input)
    plain = input.detach()
    steps = (plain * scale.reciprocal()).round() + zero_point
    inside = (steps >= quant_min) & (steps <= quant_max)
    result = ((steps.clamp(quant_min, quant_max) - zero_point) * scale).to(input.dtype)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (inside,), (grad,) = context.saved, context.grads
        return (None if grad is None else grad * inside,)

    link(name, [input], [result], [inside], rule)
    return result


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """The elements rounded to multiples of `scale`, as many as integers from `quant_min` to `quant_max` can say.

    Args:
        input: A float tensor.
        scale: The distance between neighbours.
        zero_point: Which integer stands for zero.
        quant_min: The least integer.
        quant_max: The greatest integer.

    Example:
        >>> import pyburn
        >>> pyburn.fake_quantize_per_tensor_affine(pyburn.tensor([0.26, 9.0]), 0.1, 0, 0, 15)
        tensor([0.3000, 1.5000])
    """
    step = scale.detach() if isinstance(scale, Tensor) else input.detach().new_tensor(scale, dtype=_core.float32)
    zero = zero_point if isinstance(zero_point, Tensor) else input.detach().new_tensor(zero_point, dtype=_core.int64)
    name = "FakeQuantizePerTensorAffineCachemaskBackward0"
    return _quantized(name, input, step, zero, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero for each place along `axis`.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([[0.26, 9.0], [0.26, 9.0]])
        >>> pyburn.fake_quantize_per_channel_affine(x, pyburn.tensor([0.1, 1.0]), pyburn.tensor([0, 0]), 0, 0, 15)
        tensor([[0.3000, 1.5000],
                [0.0000, 9.0000]])
    """
    if not 0 <= axis < input.dim():
        raise _core.DimError(f"`axis` must be between 0 and number of dimensions of input, got {axis}")
    if list(scale.shape) != [input.shape[axis]] or scale.shape != zero_point.shape:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if bool(((zero_point < quant_min) | (zero_point > quant_max)).any().item()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    shape = [-1 if dim == axis else 1 for dim in range(input.dim())]
    name = "FakeQuantizePerChannelAffineCachemaskBackward0"
    return _quantized(name, input, scale.detach().reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
