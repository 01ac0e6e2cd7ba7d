"""A third table of `keras.ops`: control flow, what networks compute, and numpy's functions that skip what is no number.

Control flow is Python's own: nothing is traced, so loops run and conditions are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import linalg as _linalg
from pyburn import ops as _ops
from pyburn._core import Tensor
from pyburn.keras import config as _settings
from pyburn.keras.tree import flatten, map_structure
from pyburn.nn import functional as _functional

__all__ = ["CONTROL", "NETWORK"]


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _ops.as_tensor(x)


def _float(x: Any) -> Tensor:
    made = _tensor(x)
    return made if made.is_floating_point() else made.to(_settings.as_dtype(_settings.floatx()))


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """What `true_fn` gives if `pred` holds, else what `false_fn` gives.

    Example:
        >>> cond(True, lambda: 1, lambda: 2)
        1
    """
    return true_fn() if bool(pred) else false_fn()


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """What the branch of this number gives; numbers beyond the branches are the first or the last.

    Example:
        >>> switch(1, [lambda x: x, lambda x: -x], 3)
        -3
    """
    return branches[max(0, min(int(index), len(branches) - 1))](*operands)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any = None
) -> Any:
    """The variables after `body` was done as long as `cond` of them holds.

    Example:
        >>> while_loop(lambda i: i < 5, lambda i: (i + 2,), (0,))
        (6,)
    """
    single = not isinstance(loop_vars, (list, tuple))
    held = (loop_vars,) if single else tuple(loop_vars)
    done = 0
    while bool(cond(*held)) and (maximum_iterations is None or done < maximum_iterations):
        made = body(*held)
        held = tuple(made) if isinstance(made, (list, tuple)) else (made,)
        done += 1
    return held[0] if single else held


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """The value after `body_fun(number, value)` for each number from `lower` to before `upper`.

    Example:
        >>> fori_loop(0, 4, lambda number, value: value + number, 0)
        6
    """
    value = init_val
    for number in range(int(lower), int(upper)):
        value = body_fun(number, value)
    return value


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
) -> Any:
    """What is carried in the end, and what `f(carry, x)` gave beside it for each `x`, stacked.

    Example:
        >>> scan(lambda carry, x: (carry + x, carry * x), _ops.tensor(0.0), _ops.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([0., 2., 9.]))
    """
    if xs is None and length is None:
        raise ValueError("scan: give xs or length")
    xs = None if xs is None else map_structure(_tensor, xs)
    count = int(flatten(xs)[0].shape[0] if xs is not None else length or 0)
    carry, found = init, []
    for place in reversed(range(count)) if reverse else range(count):
        carry, made = f(carry, None if xs is None else map_structure(lambda each, place=place: each[place], xs))
        found.append(made)
    if reverse:
        found.reverse()
    return carry, _stacked(found)


def _stacked(found: list[Any]) -> Any:
    if not found or found[0] is None:
        return None
    return map_structure(lambda *each: _ops.stack([_tensor(one) for one in each]), *found)


def map_(f: Callable[[Any], Any], xs: Any) -> Any:
    """`f` of each part of `xs` along its first axis, stacked.

    Example:
        >>> map_(lambda x: x.sum(), _ops.ones(2, 3))
        tensor([3., 3.])
    """
    xs = map_structure(_tensor, xs)
    count = int(flatten(xs)[0].shape[0])
    return _stacked([f(map_structure(lambda each, place=place: each[place], xs)) for place in range(count)])


def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """`function` of each part along the first axis, stacked.

    Example:
        >>> vectorized_map(lambda x: x.sum(), _ops.ones(2, 3))
        tensor([3., 3.])
    """
    return map_(function, elements)


def _pool(kind: str) -> Callable[..., Any]:
    def pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None) -> Any:
        from pyburn.keras import layers

        x = _tensor(inputs)
        made = getattr(layers, f"{kind}Pooling{x.dim() - 2}D")
        return made(pool_size, strides, padding, data_format=data_format, name="pool")(x)

    return pool


def _convolution(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1
) -> Tensor:
    from pyburn.keras import layers

    x, weight = _tensor(inputs), _tensor(kernel)
    rank = x.dim() - 2
    channels = x.shape[-1 if _settings.data_format_of(data_format) == "channels_last" else 1]
    if weight.dim() != rank + 2 or channels % weight.shape[-2]:
        raise ValueError(
            f"conv: the input has shape {tuple(x.shape)}, but the kernel {tuple(weight.shape)}; a kernel is "
            "(sizes, channels / groups, filters)"
        )
    layer = getattr(layers, f"Conv{rank}D")(
        int(weight.shape[-1]),
        tuple(weight.shape[:-2]),
        strides,
        padding,
        data_format,
        dilation_rate,
        groups=channels // int(weight.shape[-2]),
        use_bias=False,
        name="conv",
    )
    # The kernel is the caller's: gradients reach it.
    object.__setattr__(layer, "kernel", weight)
    object.__setattr__(layer, "bias", None)
    found: Tensor = layer.call(x)
    return found


def _losses(name: str) -> Callable[..., Any]:
    def loss(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
        from pyburn.keras.losses import functions

        compute: Callable[..., Tensor] = getattr(functions, name)
        if name == "binary_crossentropy":
            # One number for each place, as the function of `ops` gives.
            return compute(_float(target).unsqueeze(-1), _float(output).unsqueeze(-1), from_logits=from_logits)
        return compute(_tensor(target), _float(output), from_logits=from_logits, axis=axis)

    return loss


def _binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    return _losses("binary_crossentropy")(target, output, from_logits)  # type: ignore[no-any-return]


def _layer_normalization(
    x: Any, gamma: Any = None, beta: Any = None, axis: Any = -1, epsilon: float | None = None, **kwargs: Any
) -> Tensor:
    x = _float(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    epsilon = _settings.epsilon() if epsilon is None else epsilon
    spread = x.var(axes, keepdim=True, correction=0)
    made = (x - x.mean(axes, keepdim=True)) * _ops.rsqrt(spread + epsilon)
    scaled: Tensor = made if gamma is None else made * _tensor(gamma)
    return scaled if beta is None else scaled + _tensor(beta)


def _rms_normalization(x: Any, scale: Any = 1, axis: Any = -1, epsilon: float | None = None) -> Tensor:
    x = _float(x)
    epsilon = _settings.epsilon() if epsilon is None else epsilon
    made: Tensor = x * _ops.rsqrt((x * x).mean(axis, keepdim=True) + epsilon)
    return made if scale is None else made * _tensor(scale)


def _batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Tensor:
    x = _float(x)
    shape = [-1 if place == axis % x.dim() else 1 for place in range(x.dim())]
    mean, variance = _float(mean).reshape(shape), _float(variance).reshape(shape)
    made: Tensor = (x - mean) * _ops.rsqrt(variance + epsilon)
    made = made if scale is None else made * _float(scale).reshape(shape)
    return made if offset is None else made + _float(offset).reshape(shape)


def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    **kwargs: Any,
) -> Tensor:  # (B, T, heads, D)
    q, k, v = (_float(each).transpose(1, 2) for each in (query, key, value))
    times = k.shape[1]
    if times != q.shape[1]:
        k, v = (each.repeat_interleave(q.shape[1] // times, 1) for each in (k, v))
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + _tensor(bias)
    allowed = None if mask is None else _tensor(mask).bool()
    if is_causal:
        causal = _ops.ones(scores.shape[-2:], device=scores.device).tril().bool()
        allowed = causal if allowed is None else allowed & causal
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -0.7 * 3.4028235e38)
    return (_functional.softmax(scores, -1) @ v).transpose(1, 2)


def _multi_hot(inputs: Any, num_classes: int | None = None, axis: int = -1, dtype: Any = None, **kwargs: Any) -> Tensor:
    if num_classes is None:
        raise ValueError("multi_hot: give num_classes")
    places = _tensor(inputs).long()
    rows = _ops.stack([(places == number).any(axis if places.dim() == 1 else 1) for number in range(num_classes)], axis)
    return rows.to(_settings.as_dtype(dtype or _settings.floatx()))


def _without_nan(reduce: Callable[..., Tensor], filler: float) -> Callable[..., Any]:
    """A reduction in which what is no number counts as `filler`."""

    def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        x = _tensor(x)
        kept = _ops.where(x.isnan(), _ops.full_like(x, filler), x) if x.is_floating_point() else x
        axes = list(range(x.dim())) if axis is None else [axis] if isinstance(axis, int) else list(axis)
        return reduce(kept, axes, keepdim=keepdims)

    return reduced


def _nan_mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = _float(x)
    count = _without_nan(_ops.sum, 0.0)((~x.isnan()).to(x.dtype), axis, keepdims)
    return _without_nan(_ops.sum, 0.0)(x, axis, keepdims) / count  # type: ignore[no-any-return]


def _nan_var(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = _float(x)
    return _nan_mean((x - _nan_mean(x, axis, True)) ** 2, axis, keepdims)


def _split_along(axis: int) -> Callable[..., Any]:
    def split(x: Any, indices_or_sections: Any) -> list[Tensor]:
        x = _tensor(x)
        along = axis if axis < x.dim() else 0
        given = indices_or_sections if isinstance(indices_or_sections, int) else list(indices_or_sections)
        return list(_ops.tensor_split(x, given, along))

    return split


def _isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    found = (_tensor(x1).unsqueeze(-1) == _tensor(x2).flatten()).any(-1)
    return ~found if invert else found


def _resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    data_format: Any = None,
    **kwargs: Any,
) -> Tensor:
    left = {name: value for name, value in kwargs.items() if value not in (False, None) and name != "fill_mode"}
    if left.keys() - {"fill_value"}:
        raise NotImplementedError(f"ops.image.resize: {sorted(left)} is not there yet; crop or pad the images before")
    if interpolation not in ("nearest", "bilinear", "bicubic"):
        raise ValueError(
            f"ops.image.resize: interpolation is {interpolation!r}, but must be nearest, bilinear or bicubic"
        )
    x = _tensor(images)
    last = _settings.data_format_of(data_format) == "channels_last"
    single = x.dim() == 3
    planes = x.unsqueeze(0) if single else x
    planes = planes.permute(0, 3, 1, 2) if last else planes  # (B, C, H, W)
    kind = planes.dtype
    wide = planes if planes.is_floating_point() else planes.float()
    if interpolation == "nearest":
        made = _functional.interpolate(wide, size=tuple(size), mode="nearest-exact")
    else:
        made = _functional.interpolate(
            wide, size=tuple(size), mode=interpolation, align_corners=False, antialias=antialias
        )
    made = (
        made
        if kind == made.dtype
        else made.round().clamp(0, 255).to(kind)
        if interpolation != "nearest"
        else made.to(kind)
    )
    made = made.permute(0, 2, 3, 1) if last else made
    return made[0] if single else made


def _geomspace(start: Any, stop: Any, num: int = 50) -> Tensor:
    first, last = (float(_ops.log10(_float(each))) for each in (start, stop))
    return _ops.logspace(first, last, num)


CONTROL: dict[str, Callable[..., Any]] = {
    "cond": cond,
    "fori_loop": fori_loop,
    "map": map_,
    "scan": scan,
    "switch": switch,
    "vectorized_map": vectorized_map,
    "while_loop": while_loop,
}
RESIZE = _resize
NETWORK: list[tuple[str, Callable[..., Any]]] = [
    ("average_pool", _pool("Average")),
    ("max_pool", _pool("Max")),
    ("conv", _convolution),
    ("binary_crossentropy", _binary_crossentropy),
    ("categorical_crossentropy", _losses("categorical_crossentropy")),
    ("sparse_categorical_crossentropy", _losses("sparse_categorical_crossentropy")),
    ("layer_normalization", _layer_normalization),
    ("rms_normalization", _rms_normalization),
    ("batch_normalization", _batch_normalization),
    ("dot_product_attention", _attention),
    ("multi_hot", _multi_hot),
    ("squareplus", lambda x, b=4: (_float(x) + _ops.sqrt(_float(x) ** 2 + b)) / 2),
    ("nanmax", _without_nan(_ops.amax, float("-inf"))),
    ("nanmin", _without_nan(_ops.amin, float("inf"))),
    ("nansum", _without_nan(_ops.sum, 0.0)),
    ("nanmean", _nan_mean),
    ("nanvar", _nan_var),
    ("nanstd", lambda x, axis=None, keepdims=False: _ops.sqrt(_nan_var(x, axis, keepdims))),
    (
        "allclose",
        lambda x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False: _ops.isclose(
            _tensor(x1), _tensor(x2), rtol, atol, equal_nan
        ).all(),
    ),
    ("isin", _isin),
    ("cbrt", lambda x: _ops.sign(_float(x)) * _float(x).abs() ** (1 / 3)),
    ("dstack", lambda xs: _ops.dstack([_tensor(x) for x in xs])),
    ("hsplit", _split_along(1)),
    ("vsplit", _split_along(0)),
    ("dsplit", _split_along(2)),
    (
        "array_split",
        lambda x, indices_or_sections, axis=0: list(_ops.tensor_split(_tensor(x), indices_or_sections, axis)),
    ),
    (
        "empty_like",
        lambda x, dtype=None: _ops.empty_like(_tensor(x), dtype=_settings.as_dtype(dtype or _tensor(x).dtype)),
    ),
    ("imag", lambda x: _ops.imag(_tensor(x)) if _tensor(x).is_complex() else _ops.zeros_like(_tensor(x))),
    ("logdet", lambda x: _ops.logdet(_tensor(x))),
    ("slogdet", lambda x: tuple(_linalg.slogdet(_tensor(x)))),
    ("eigh", lambda x: tuple(_linalg.eigh(_tensor(x)))),
    ("lstsq", lambda a, b, rcond=None: _linalg.lstsq(_tensor(a), _tensor(b)).solution),
    (
        "trapezoid",
        lambda y, x=None, dx=1.0, axis=-1: (
            _ops.trapezoid(_tensor(y), dx=dx, dim=axis)
            if x is None
            else _ops.trapezoid(_tensor(y), _tensor(x), dim=axis)
        ),
    ),
    ("geomspace", _geomspace),
    ("logspace", lambda start, stop, num=50, endpoint=True, base=10: _ops.logspace(start, stop, num, base)),
    ("diagflat", lambda x, k=0: _ops.diagflat(_tensor(x), k)),
    ("corrcoef", lambda x: _ops.corrcoef(_float(x))),
    ("cdist", lambda x, y: _ops.cdist(_float(x), _float(y))),
    ("ldexp", lambda x1, x2: _float(x1) * 2.0 ** _tensor(x2)),
]
