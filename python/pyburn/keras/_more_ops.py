"""A second table of `keras.ops`: functions that numpy and torch share, under Keras's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import linalg as _linalg
from pyburn import ops as _ops
from pyburn._core import Tensor
from pyburn.keras import config as _settings
from pyburn.nn import functional as _functional

__all__ = ["MORE"]

# Functions of one tensor: Keras's name, and ours where it differs.
_ONE = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "bitwise_invert": "bitwise_not",
    "conj": "conj",
    "fabs": "abs",
    "ravel": "flatten",
    **{name: name for name in ("cosh", "sinh", "tan", "exp2", "expm1", "log2", "log10", "reciprocal", "trunc")},
    **{name: name for name in ("erfinv", "erfc", "signbit", "deg2rad", "rad2deg", "sinc", "isneginf", "isposinf")},
    **{name: name for name in ("real", "angle", "fliplr", "flipud", "isreal")},
}
_ACTIVATIONS = {
    "relu6": "relu6",
    "selu": "selu",
    "hard_sigmoid": "hardsigmoid",
    "hard_silu": "hardswish",
    "hard_swish": "hardswish",
    "hard_tanh": "hardtanh",
    "log_sigmoid": "logsigmoid",
    "soft_sign": "softsign",
    "softsign": "softsign",
    "swish": "silu",
    "tanh_shrink": "tanhshrink",
}
_TWO = {
    "arctan2": "atan2",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "fmod": "fmod",
    "gcd": "gcd",
    **{name: name for name in ("hypot", "lcm", "logaddexp", "logaddexp2", "logical_xor", "heaviside", "nextafter")},
    **{name: name for name in ("fmax", "fmin", "inner", "outer", "kron")},
}


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else _ops.as_tensor(x)


def _float(x: Any) -> Any:
    x = _tensor(x)
    return x if x.is_floating_point() or x.is_complex() else x.float()


def _axes(x: Tensor, axis: Any) -> Any:
    return tuple(range(x.dim())) if axis is None else tuple(axis) if isinstance(axis, (list, tuple)) else axis


def _over(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over one axis, several or all."""
    return lambda x, axis=None, keepdims=False: compute(_tensor(x), _axes(_tensor(x), axis), keepdim=keepdims)


def _share(compute: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    def function(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
        x = _float(x)
        shares = _float(q).to(x.dtype) * factor
        if isinstance(axis, (list, tuple)):
            raise NotImplementedError("ops.quantile: one axis at a time, or all of them (axis=None)")
        return compute(x, shares, axis, keepdim=keepdims, interpolation=method)

    return function


def _median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _share(_ops.quantile)(x, 0.5, axis, "linear", keepdims)


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    return _ops.diff(_tensor(a), n, axis)


def _bincount(x: Any, weights: Any, minlength: int) -> Any:
    found = _ops.bincount(_tensor(x), None if weights is None else _tensor(weights), minlength)
    return found.int() if weights is None else found


def _top_k(x: Any, k: int, sorted: bool = True) -> Any:
    found = _ops.topk(_tensor(x), k, -1, sorted=sorted)
    return found.values, found.indices.to(_settings.as_dtype("int32"))


def _in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    predictions, targets = _tensor(predictions), _tensor(targets).long()
    own = predictions.gather(-1, targets.unsqueeze(-1))
    return ((predictions > own).sum(-1) < k) & own.squeeze(-1).isfinite()


def _take_along(x: Any, indices: Any, axis: int | None = None) -> Any:
    x, indices = _tensor(x), _tensor(indices).long()
    if axis is None:
        x, indices, axis = x.reshape([-1]), indices.reshape([-1]), 0
    indices = _ops.where(indices < 0, indices + x.shape[axis], indices)
    return _ops.take_along_dim(x, indices, axis)


def _segments(reduce: str) -> Callable[..., Any]:
    def function(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
        data, places = _tensor(data), _tensor(segment_ids).long()
        count = int(places.max()) + 1 if num_segments is None else num_segments
        shape = [len(places), *[1] * (data.dim() - 1)]
        low = 0 if reduce == "sum" else -float("inf")
        made = _ops.full([count, *data.shape[1:]], low, dtype=data.dtype, device=data.device)
        index = places.reshape(shape).expand(data.shape)
        return made.scatter_reduce(0, index, data, reduce)

    return function


def _nan_to_num(x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return _ops.nan_to_num(_tensor(x), nan, posinf, neginf)


def _average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    x = _float(x)
    if weights is None:
        return x.mean(_axes(x, axis))
    weights = _tensor(weights).to(x.dtype)
    if weights.dim() != x.dim():
        weights = weights.reshape([-1 if place == axis % x.dim() else 1 for place in range(x.dim())])
    weights = weights.broadcast_to(x.shape)
    return (x * weights).sum(_axes(x, axis)) / weights.sum(_axes(x, axis))


def _scatter(indices: Any, values: Any, shape: Any) -> Any:
    values, places = _tensor(values), _tensor(indices).long()
    made = _ops.zeros(list(shape), dtype=values.dtype, device=values.device)
    return made.index_put(tuple(places.unbind(-1)), values, accumulate=True)


def _scatter_update(inputs: Any, indices: Any, updates: Any) -> Any:
    inputs, places = _tensor(inputs), _tensor(indices).long()
    return inputs.index_put(tuple(places.unbind(-1)), _tensor(updates).to(inputs.dtype))


def _slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    places = [int(each) for each in start_indices]
    return _tensor(inputs)[tuple(slice(at, at + size) for at, size in zip(places, shape, strict=True))]


def _slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    updates, made = _tensor(updates), _tensor(inputs).clone()
    places = [int(each) for each in start_indices]
    made[tuple(slice(at, at + size) for at, size in zip(places, updates.shape, strict=True))] = updates
    return made


def _normalize(x: Any, axis: int = -1, order: int = 2, epsilon: float | None = None) -> Any:
    return _functional.normalize(_float(x), p=order, dim=axis, eps=1e-7 if epsilon is None else epsilon)


def _moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    x = _float(x)
    return x.mean(_axes(x, axes), keepdim=keepdims), x.var(_axes(x, axes), correction=0, keepdim=keepdims)


def _one(compute: Callable[..., Any], convert: Callable[[Any], Any] = _tensor) -> Callable[..., Any]:
    return lambda x: compute(convert(x))


def _two(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x1, x2: compute(_tensor(x1), _tensor(x2))


MORE: list[tuple[str, Callable[..., Any]]] = [
    *((name, _one(getattr(_ops, ours))) for name, ours in _ONE.items()),
    *((name, _one(getattr(_functional, ours), _float)) for name, ours in _ACTIVATIONS.items()),
    *((name, _two(getattr(_ops, ours))) for name, ours in _TWO.items()),
    ("amax", _over(_ops.amax)),
    ("amin", _over(_ops.amin)),
    (
        "append",
        lambda x1, x2, axis=None: _ops.cat(
            [_tensor(x) if axis is not None else _tensor(x).flatten() for x in (x1, x2)], axis or 0
        ),
    ),
    ("array", lambda x, dtype=None: _tensor(x) if dtype is None else _tensor(x).to(_settings.as_dtype(dtype))),
    ("average", _average),
    ("bincount", lambda x, weights=None, minlength=0, sparse=False: _bincount(x, weights, minlength)),
    ("cholesky", lambda x, upper=False: _linalg.cholesky(_tensor(x), upper=upper)),
    ("celu", lambda x, alpha=1.0: _functional.celu(_float(x), alpha)),
    ("copy", lambda x: _tensor(x).clone()),
    ("count_nonzero", lambda x, axis=None: _ops.count_nonzero(_tensor(x), axis).int()),
    ("cross", lambda x1, x2, axis=-1: _linalg.cross(_tensor(x1), _tensor(x2), dim=axis)),
    ("cumprod", lambda x, axis=None: (_tensor(x) if axis is not None else _tensor(x).flatten()).cumprod(axis or 0)),
    ("det", lambda x: _linalg.det(_tensor(x))),
    ("diag", lambda x, k=0: _ops.diag(_tensor(x), k)),
    ("diagonal", lambda x, offset=0, axis1=0, axis2=1: _ops.diagonal(_tensor(x), offset, axis1, axis2)),
    ("diff", _diff),
    ("digitize", lambda x, bins: _ops.bucketize(_tensor(x), _tensor(bins), right=True).int()),
    ("divide_no_nan", lambda x1, x2: _ops.where(_tensor(x2) == 0, 0.0, _tensor(x1) / _tensor(x2))),
    (
        "dot",
        lambda x1, x2: (
            _tensor(x1) * x2
            if not _tensor(x1).dim()
            else _ops.tensordot(_tensor(x1), _tensor(x2), ([-1], [-1 if _tensor(x2).dim() == 1 else -2]))
        ),
    ),
    ("empty", lambda shape, dtype=None: _ops.zeros(list(shape), dtype=_settings.as_dtype(dtype or _settings.floatx()))),
    (
        "full_like",
        lambda x, fill_value, dtype=None: _ops.full_like(
            _tensor(x), fill_value, dtype=_settings.as_dtype(dtype) if dtype else None
        ),
    ),
    ("glu", lambda x, axis=-1: _functional.glu(_tensor(x), axis)),
    ("hard_shrink", lambda x, threshold=0.5: _functional.hardshrink(_float(x), threshold)),
    ("hstack", lambda xs: _ops.hstack([_tensor(x) for x in xs])),
    ("identity", lambda n, dtype=None: _ops.eye(n, dtype=_settings.as_dtype(dtype or _settings.floatx()))),
    ("in_top_k", _in_top_k),
    ("inv", lambda x: _linalg.inv(_tensor(x))),
    ("is_tensor", lambda x: isinstance(x, Tensor)),
    (
        "isclose",
        lambda x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False: _ops.isclose(
            _tensor(x1), _tensor(x2), rtol, atol, equal_nan
        ),
    ),
    ("median", _median),
    ("meshgrid", lambda *x, indexing="xy": list(_ops.meshgrid(*(_tensor(each) for each in x), indexing=indexing))),
    ("moments", _moments),
    ("nan_to_num", _nan_to_num),
    ("ndim", lambda x: _tensor(x).dim()),
    ("nonzero", lambda x: _ops.nonzero(_tensor(x)).T.int()),
    ("normalize", _normalize),
    ("pinv", lambda x: _linalg.pinv(_tensor(x))),
    (
        "ptp",
        lambda x, axis=None, keepdims=False: _over(_ops.amax)(x, axis, keepdims) - _over(_ops.amin)(x, axis, keepdims),
    ),
    ("qr", lambda x, mode="reduced": tuple(_linalg.qr(_tensor(x), mode))),
    ("quantile", _share(_ops.quantile)),
    ("percentile", _share(_ops.quantile, 0.01)),
    ("rot90", lambda array, k=1, axes=(0, 1): _ops.rot90(_tensor(array), k, list(axes))),
    ("scatter", _scatter),
    ("scatter_update", _scatter_update),
    (
        "searchsorted",
        lambda sorted_sequence, values, side="left": _ops.searchsorted(
            _tensor(sorted_sequence), _tensor(values), side=side
        ).int(),
    ),
    ("segment_max", _segments("amax")),
    ("segment_sum", _segments("sum")),
    ("size", lambda x: _tensor(x).numel()),
    ("slice", _slice),
    ("slice_update", _slice_update),
    ("soft_shrink", lambda x, threshold=0.5: _functional.softshrink(_float(x), threshold)),
    ("solve", lambda a, b: _linalg.solve(_tensor(a), _tensor(b))),
    (
        "svd",
        lambda x, full_matrices=True, compute_uv=True: (
            tuple(_linalg.svd(_tensor(x), full_matrices)) if compute_uv else _linalg.svdvals(_tensor(x))
        ),
    ),
    ("take_along_axis", _take_along),
    ("tensordot", lambda x1, x2, axes=2: _ops.tensordot(_tensor(x1), _tensor(x2), axes)),
    ("threshold", lambda x, threshold, default_value: _functional.threshold(_tensor(x), threshold, default_value)),
    ("top_k", _top_k),
    ("trace", lambda x, offset=0, axis1=0, axis2=1: _ops.diagonal(_tensor(x), offset, axis1, axis2).sum(-1)),
    (
        "tri",
        lambda N, M=None, k=0, dtype=None: _ops.tril(
            _ops.ones(N, N if M is None else M, dtype=_settings.as_dtype(dtype or _settings.floatx())), k
        ),
    ),
    ("unstack", lambda x, num=None, axis=0: list(_tensor(x).unbind(axis))),
    ("vdot", lambda x1, x2: (_tensor(x1).flatten() * _tensor(x2).flatten()).sum()),
    ("vstack", lambda xs: _ops.vstack([_tensor(x) for x in xs])),
]
