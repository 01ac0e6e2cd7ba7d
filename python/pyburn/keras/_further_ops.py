"""A third table of `keras.ops`: filters with given kernels, windows, what is no number, gradients of one's own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from pyburn import linalg as _linalg
from pyburn import ops as _ops
from pyburn import special as _special
from pyburn._core import Tensor
from pyburn._typeinfo import iinfo
from pyburn.autograd import Function
from pyburn.keras import activations as _activations
from pyburn.keras import config as _settings
from pyburn.nn import functional as _functional

__all__ = ["FURTHER", "custom_gradient"]


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else _ops.as_tensor(x)


def _float(x: Any) -> Any:
    x = _tensor(x)
    return x if x.is_floating_point() or x.is_complex() else x.float()


class _Custom(Function):
    """A function that says itself what its gradient is."""

    @staticmethod
    def forward(ctx: Any, function: Any, *args: Any) -> Any:
        """What the function gives."""
        made, ctx.gradient = function(*args)
        ctx.save_for_backward(*args)
        return made

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """What its own gradient function gives."""
        found = ctx.gradient(*ctx.saved_tensors, upstream=upstream[0])
        return (None, *(found if isinstance(found, tuple) else (found,)))


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: `f` gives its result and a function of (*args, upstream) that gives the gradients.

    Example:
        >>> @custom_gradient
        ... def twice(x):
        ...     return 2 * x, lambda x, upstream: upstream * 10
        >>> x = _ops.tensor(1.0, requires_grad=True)
        >>> twice(x).backward(); x.grad
        tensor(10.)
    """

    @functools.wraps(f)
    def wrapped(*args: Any) -> Any:
        return _Custom.apply(f, *(_tensor(each) for each in args))

    return wrapped


def _layer(kind: str, rank: int, kernels: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """A layer of Keras whose kernels are the caller's, so that gradients reach them."""
    from pyburn.keras import layers

    made = getattr(layers, f"{kind}{rank}D")(*args, use_bias=False, name="op", **kwargs)
    for name, value in {**kernels, "bias": None}.items():
        object.__setattr__(made, name, value)
    return made


def _depthwise_conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1
) -> Tensor:
    x, weight = _tensor(inputs), _tensor(kernel)
    rank = x.dim() - 2
    settings = (strides, padding, int(weight.shape[-1]), data_format, dilation_rate)
    found: Tensor = _layer("DepthwiseConv", rank, {"kernel": weight}, tuple(weight.shape[:-2]), *settings).call(x)
    return found


def _separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Tensor:
    x, deep, across = _tensor(inputs), _tensor(depthwise_kernel), _tensor(pointwise_kernel)
    settings = (strides, padding, data_format, dilation_rate, int(deep.shape[-1]))
    kernels = {"depthwise_kernel": deep, "pointwise_kernel": across}
    sizes = tuple(deep.shape[:-2])
    found: Tensor = _layer("SeparableConv", x.dim() - 2, kernels, int(across.shape[-1]), sizes, *settings).call(x)
    return found


def _conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Tensor:
    from pyburn.keras import layers

    x, weight = _tensor(inputs), _tensor(kernel)
    made = getattr(layers, f"Conv{x.dim() - 2}DTranspose")(
        int(weight.shape[-2]),
        tuple(weight.shape[:-2]),
        strides=strides,
        padding=padding,
        output_padding=output_padding,
        data_format=data_format,
        dilation_rate=dilation_rate,
        use_bias=False,
        name="op",
    )
    object.__setattr__(made, "kernel", weight)
    object.__setattr__(made, "bias", None)
    found: Tensor = made.call(x)
    return found


def _adaptive(kind: str) -> Callable[..., Any]:
    def pool(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
        from pyburn.keras import layers

        x = _tensor(inputs)
        return getattr(layers, f"Adaptive{kind}Pooling{x.dim() - 2}D")(output_size, data_format, name="op")(x)

    return pool


def _saturate_cast(x: Any, dtype: Any) -> Tensor:
    x, kind = _tensor(x), _settings.as_dtype(dtype)
    if kind.is_floating_point or str(dtype) == "bool":
        return x.to(kind)  # type: ignore[no-any-return]
    limits = iinfo(kind)
    return _ops.clamp(x, limits.min, limits.max).to(kind)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    made: Any = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        made = _ops.where(_tensor(condition), choice, made)
    found: Tensor = made
    return found


def _histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[Tensor, Tensor]:
    x = _float(x).flatten()
    low, high = (float(x.min()), float(x.max())) if range is None else range
    return _ops.histc(x, bins, low, high), _ops.linspace(low, high, bins + 1, dtype=x.dtype)


def _unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    left, found = _tensor(indices), []
    for size in reversed(list(shape)):
        found.append(_ops.remainder(left, size))
        left = _ops.floor_divide(left, size)
    return tuple(reversed(found))


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    x = _tensor(x)
    powers = _ops.arange(len(x) if N is None else N, device=x.device)
    return x.unsqueeze(1) ** (powers if increasing else powers.flip(0))  # type: ignore[no-any-return]


def _nan_arg(pick: Callable[..., Tensor], filler: float) -> Callable[..., Any]:
    def function(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
        x = _float(x)
        return pick(_ops.where(x.isnan(), _ops.full_like(x, filler), x), axis, keepdim=keepdims)

    return function


def _nan_along(compute: Callable[..., Tensor], filler: float) -> Callable[..., Any]:
    def function(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        x = _float(x)
        x = _ops.where(x.isnan(), _ops.full_like(x, filler), x)
        made = compute(x.reshape([-1]) if axis is None else x, axis or 0)
        return made if dtype is None else made.to(_settings.as_dtype(dtype))

    return function


def _psnr(x1: Any, x2: Any, max_val: float) -> Tensor:
    error = ((_float(x1) - _float(x2)) ** 2).mean()
    return 20 * math.log10(max_val) - 10 * _ops.log10(error)


def _segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
    from pyburn.keras import ops

    found: Tensor = -ops.segment_max(-_tensor(data), segment_ids, num_segments, sorted)  # type: ignore[attr-defined]
    return found


def _moved_blocks(x: Any, block_size: int, data_format: Any, apart: bool) -> Tensor:
    """Channels as blocks of places, or blocks of places as channels, the places of a block before its channels."""
    x, last = _tensor(x), _settings.data_format_of(data_format) == "channels_last"
    x = x if last else x.movedim(1, -1)
    count, high, wide, channels = x.shape
    if apart:
        split = x.reshape(count, high, wide, block_size, block_size, channels // block_size**2)
        made = split.permute(0, 1, 3, 2, 4, 5).reshape(count, high * block_size, wide * block_size, -1)
    else:
        split = x.reshape(count, high // block_size, block_size, wide // block_size, block_size, channels)
        made = split.permute(0, 1, 3, 2, 4, 5).reshape(count, high // block_size, wide // block_size, -1)
    found: Tensor = made if last else made.movedim(-1, 1)
    return found


def _dtype(x: Any) -> str:
    """The name of the dtype of `x`, such as "float32"."""
    return _settings.dtype_name(x.dtype if hasattr(x, "dtype") else _tensor(x).dtype)


def _vectorize(pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None) -> Callable[..., Any]:
    """A function that calls `pyfunc` for each element of its arguments, broadcast against each other."""
    if signature is not None or excluded:
        raise ValueError("ops.vectorize: excluded and signature are not there; write the loop, or use vectorized_map")

    def function(*args: Any) -> Any:
        given = _ops.broadcast_tensors(*(_tensor(each) for each in args))
        rows = [_tensor(pyfunc(*parts)) for parts in zip(*(each.flatten().unbind() for each in given), strict=True)]
        return _ops.stack(rows).reshape(given[0].shape)

    return function


FURTHER: list[tuple[str, Callable[..., Any]]] = [
    ("adaptive_average_pool", _adaptive("Average")),
    ("adaptive_max_pool", _adaptive("Max")),
    ("conv_transpose", _conv_transpose),
    ("depthwise_conv", _depthwise_conv),
    ("separable_conv", _separable_conv),
    ("depth_to_space", lambda x, block_size, data_format=None: _moved_blocks(x, block_size, data_format, True)),
    ("space_to_depth", lambda x, block_size, data_format=None: _moved_blocks(x, block_size, data_format, False)),
    ("psnr", _psnr),
    ("bitwise_left_shift", lambda x, y: _ops.bitwise_left_shift(_tensor(x), _tensor(y))),
    ("bitwise_right_shift", lambda x, y: _ops.bitwise_right_shift(_tensor(x), _tensor(y))),
    ("bitwise_not", lambda x: _ops.bitwise_not(_tensor(x))),
    ("conjugate", lambda x: _ops.conj(_tensor(x))),
    ("histogram", _histogram),
    ("bartlett", lambda x: _ops.bartlett_window(int(x), periodic=False)),
    ("blackman", lambda x: _ops.blackman_window(int(x), periodic=False)),
    ("hamming", lambda x: _ops.hamming_window(int(x), periodic=False)),
    ("hanning", lambda x: _ops.hann_window(int(x), periodic=False)),
    ("kaiser", lambda x, beta: _ops.kaiser_window(int(x), periodic=False, beta=float(beta))),
    ("i0", lambda x: _special.i0(_float(x))),
    ("matrix_rank", lambda x: _linalg.matrix_rank(_float(x))),
    ("solve_triangular", lambda a, b, lower=False: _linalg.solve_triangular(_tensor(a), _tensor(b), upper=not lower)),
    ("cholesky_inverse", lambda x, upper=False: _ops.cholesky_inverse(_tensor(x), upper)),
    ("nanargmax", _nan_arg(_ops.argmax, float("-inf"))),
    ("nanargmin", _nan_arg(_ops.argmin, float("inf"))),
    ("nancumsum", _nan_along(_ops.cumsum, 0.0)),
    ("nancumprod", _nan_along(_ops.cumprod, 1.0)),
    ("nanmedian", lambda x, axis=None, keepdims=False: _ops.nanquantile(_float(x), 0.5, axis, keepdim=keepdims)),
    ("polar", lambda abs_, angle: _ops.polar(_float(abs_), _float(angle))),
    ("saturate_cast", _saturate_cast),
    ("segment_min", _segment_min),
    ("select", _select),
    ("sparse_plus", lambda x: _activations.sparse_plus(_float(x))),
    ("sparse_sigmoid", lambda x: _activations.sparse_sigmoid(_float(x))),
    ("sparsemax", lambda x, axis=-1: _activations.sparsemax(_float(x), axis)),
    ("unravel_index", _unravel_index),
    ("vander", _vander),
    ("view", lambda x, dtype=None: _tensor(x).view(_settings.as_dtype(dtype)) if dtype else _tensor(x)),
    (
        "unfold",
        lambda x, kernel_size, dilation=1, padding=0, stride=1: _functional.unfold(
            _tensor(x), kernel_size, dilation, padding, stride
        ),
    ),
]
PLAIN: dict[str, Callable[..., Any]] = {
    "custom_gradient": custom_gradient,
    "dtype": _dtype,
    "vectorize": _vectorize,
}
