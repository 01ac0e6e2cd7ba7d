"""One small call of every op, written once for torch and pyburn: the bank behind the backend tests and docs/ops.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTS, "bool")


@dataclass
class Make:
    """Makes inputs with fixed values in one dtype on one device, for either library."""

    lib: Any
    dtype: str
    device: str = "cpu"

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        made = self.lib.tensor(values.tolist(), dtype=getattr(self.lib, dtype))
        return made if self.device == "cpu" else made.to(self.device)

    def x(self, *shape: int) -> Any:
        """Values of both signs (small and non-negative for unsigned types), no zeros among floats."""
        count = int(np.prod(shape))
        values = (np.arange(count) * 7 % 13 - 6) / 2 + 0.25
        if self.dtype in INTS:
            values = np.abs(values.round()) if self.dtype == "uint8" else values.round()
        if self.dtype == "bool":
            values = (np.arange(count) * 7 % 3) == 1
        return self._tensor(values.reshape(shape), self.dtype)

    def positive(self, *shape: int) -> Any:
        """Values from 1 to 6."""
        count = int(np.prod(shape))
        return self._tensor((np.arange(count) * 5 % 11 / 2 + 1).reshape(shape).astype(int), self.dtype)

    def unit(self, *shape: int) -> Any:
        """Values inside (-1, 1)."""
        count = int(np.prod(shape))
        return self._tensor(((np.arange(count) * 7 % 13 - 6) / 8).reshape(shape), self.dtype)

    def index(self, high: int, *shape: int) -> Any:
        """int64 indices below `high`."""
        count = int(np.prod(shape))
        return self._tensor((np.arange(count) * 5 % high).reshape(shape), "int64")

    def mask(self, *shape: int) -> Any:
        """Booleans of both kinds."""
        count = int(np.prod(shape))
        return self._tensor(((np.arange(count) % 3) == 0).reshape(shape), "bool")


Call = Callable[[Make], Any]


def _f(m: Make) -> Any:
    return m.lib.nn.functional


UNARY = ("neg", "abs", "sign", "square", "ceil", "floor", "round", "trunc", "isnan", "isinf", "isfinite", "logical_not")
FLOAT_UNARY = [
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "asinh",
    "erf",
    "erfc",
    "sigmoid",
    "reciprocal",
    "deg2rad",
    "rad2deg",
]
POSITIVE_UNARY = ["sqrt", "rsqrt", "log", "log2", "log10", "log1p", "acosh", "lgamma", "digamma"]
UNIT_UNARY = ["asin", "acos", "atanh"]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "logical_and",
    "logical_or",
    "logical_xor",
]
NONZERO_BINARY = ["remainder", "fmod", "floor_divide"]
FLOAT_BINARY = ["atan2", "hypot"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
ACTIVATIONS = [
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "softsign",
    "logsigmoid",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "tanhshrink",
]

CALLS: dict[str, Call] = {
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.x(2, 3))) for name in (*UNARY, *FLOAT_UNARY)},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.positive(2, 3))) for name in POSITIVE_UNARY},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.unit(2, 3))) for name in UNIT_UNARY},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.x(2, 3), m.x(3))) for name in BINARY},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.x(2, 3), m.positive(3))) for name in NONZERO_BINARY},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.x(2, 3), m.positive(2, 1))) for name in FLOAT_BINARY},
    **{name: (lambda m, n=name: getattr(m.lib, n)(m.x(2, 3), m.x(3))) for name in BITWISE},
    **{name: (lambda m, n=name: getattr(_f(m), n)(m.x(2, 3))) for name in ACTIVATIONS},
    "bitwise_not": lambda m: m.lib.bitwise_not(m.x(2, 3)),
    "bitwise_left_shift": lambda m: m.lib.bitwise_left_shift(m.positive(2, 3), m.positive(3)),
    "bitwise_right_shift": lambda m: m.lib.bitwise_right_shift(m.positive(2, 3), m.positive(3)),
    "pow": lambda m: m.positive(2, 3) ** 2,
    "clamp": lambda m: m.x(2, 3).clamp(-1, 2),
    "clamp_min": lambda m: m.x(2, 3).clamp_min(1),
    "clamp_max": lambda m: m.x(2, 3).clamp_max(1),
    "where": lambda m: m.lib.where(m.mask(2, 3), m.x(2, 3), m.x(3)),
    "lerp": lambda m: m.lib.lerp(m.x(2, 3), m.x(3), 0.25),
    "addcmul": lambda m: m.lib.addcmul(m.x(2, 3), m.x(2, 3), m.x(3), value=2),
    "cross": lambda m: m.lib.cross(m.x(2, 3), m.positive(2, 3), dim=1),
    "zeros": lambda m: m.lib.zeros_like(m.x(2, 3)),
    "ones": lambda m: m.lib.ones_like(m.x(2, 3)),
    "full": lambda m: m.lib.full_like(m.x(2, 3), 2),
    "arange": lambda m: m.lib.arange(0, 9, 2, dtype=getattr(m.lib, m.dtype)).to(m.device),
    "to": lambda m: m.x(2, 3).to(m.lib.float32),
    "clone": lambda m: m.x(2, 3).t().clone(),
    "reshape": lambda m: m.x(2, 6).reshape(3, 4),
    "permute": lambda m: m.x(2, 3, 4).permute(2, 0, 1).contiguous(),
    "transpose": lambda m: m.x(2, 3).transpose(0, 1).contiguous(),
    "expand": lambda m: m.x(2, 1).expand(2, 3).contiguous(),
    "flip": lambda m: m.lib.flip(m.x(2, 3), (0, 1)),
    "slice": lambda m: m.x(4, 6)[1:, ::2].contiguous(),
    "slice_assign": lambda m: _assign(m.x(4, 6), (slice(1, None), slice(None, None, 2)), m.x(3, 3)),
    "cat": lambda m: m.lib.cat([m.x(2, 3), m.x(1, 3)], 0),
    "stack": lambda m: m.lib.stack([m.x(2, 3), m.x(2, 3)], 1),
    "repeat": lambda m: m.x(2, 3).repeat(2, 2),
    "unfold": lambda m: m.x(2, 6).unfold(1, 3, 2).contiguous(),
    "pad": lambda m: _f(m).pad(m.x(2, 3), (1, 2), value=1),
    "gather": lambda m: m.lib.gather(m.x(3, 4), 1, m.index(4, 3, 2)),
    "scatter": lambda m: m.x(3, 4).scatter(1, m.index(4, 3, 2), m.x(3, 2)),
    "scatter_add": lambda m: m.x(3, 4).scatter_add(1, m.index(4, 3, 2), m.x(3, 2)),
    "index_select": lambda m: m.lib.index_select(m.x(3, 4), 1, m.index(4, 3)),
    "index_add": lambda m: m.x(3, 4).index_add(1, m.index(4, 3), m.x(3, 3)),
    "index": lambda m: m.x(3, 4)[m.index(3, 2), m.index(4, 2)],
    "index_put": lambda m: _assign(m.x(3, 4), (m.index(3, 2), m.index(4, 2)), m.x(2)),
    "masked_fill": lambda m: m.x(2, 3).masked_fill(m.mask(2, 3), 1),
    "masked_select": lambda m: m.lib.masked_select(m.x(2, 3), m.mask(2, 3)),
    "nonzero": lambda m: m.lib.nonzero(m.x(2, 3)),
    "sum": lambda m: m.x(2, 3).sum(1),
    "sum_all": lambda m: m.x(2, 3).sum(),
    "mean": lambda m: m.x(2, 3).mean(1),
    "prod": lambda m: m.x(2, 3).prod(1),
    "amax": lambda m: m.x(2, 3).amax(1),
    "amin": lambda m: m.x(2, 3).amin(0),
    "max": lambda m: m.x(2, 3).max(1),
    "min": lambda m: m.x(2, 3).min(1),
    "argmax": lambda m: m.x(2, 3).argmax(1),
    "argmin": lambda m: m.x(2, 3).argmin(1),
    "any": lambda m: m.x(2, 3).any(1),
    "all": lambda m: m.x(2, 3).all(1),
    "var": lambda m: m.x(2, 3).var(1),
    "cumsum": lambda m: m.x(2, 3).cumsum(1),
    "cumprod": lambda m: m.x(2, 3).cumprod(1),
    "cummax": lambda m: m.x(2, 3).cummax(1),
    "cummin": lambda m: m.x(2, 3).cummin(1),
    "sort": lambda m: m.lib.sort(m.x(2, 5), 1).values,
    "argsort": lambda m: m.lib.argsort(m.x(5), 0),
    "topk": lambda m: m.lib.topk(m.x(2, 5), 2, 1).values,
    "matmul": lambda m: m.x(2, 3) @ m.x(3, 4),
    "bmm": lambda m: m.lib.bmm(m.x(2, 2, 3), m.x(2, 3, 4)),
    "linear": lambda m: _f(m).linear(m.x(2, 3), m.x(4, 3), m.x(4)),
    "embedding": lambda m: _f(m).embedding(m.index(4, 2, 3), m.x(4, 3)),
    "softmax": lambda m: _f(m).softmax(m.x(2, 3), 1),
    "softmin": lambda m: _f(m).softmin(m.x(2, 3), 1),
    "log_softmax": lambda m: _f(m).log_softmax(m.x(2, 3), 1),
    "prelu": lambda m: _f(m).prelu(m.x(2, 3), m.x(3)),
    "conv1d": lambda m: _f(m).conv1d(m.x(1, 2, 7), m.x(3, 2, 3), m.x(3), padding=1),
    "conv2d": lambda m: _f(m).conv2d(m.x(1, 2, 5, 5), m.x(3, 2, 3, 3), m.x(3), stride=2, padding=1),
    "conv3d": lambda m: _f(m).conv3d(m.x(1, 1, 4, 4, 4), m.x(2, 1, 2, 2, 2), m.x(2)),
    "conv_transpose1d": lambda m: _f(m).conv_transpose1d(m.x(1, 2, 5), m.x(2, 3, 3), stride=2),
    "conv_transpose2d": lambda m: _f(m).conv_transpose2d(m.x(1, 2, 4, 4), m.x(2, 3, 3, 3), stride=2),
    "conv_transpose3d": lambda m: _f(m).conv_transpose3d(m.x(1, 1, 3, 3, 3), m.x(1, 2, 2, 2, 2)),
    "unfold4d": lambda m: _f(m).unfold(m.x(1, 2, 4, 4), 2),
    "fold4d": lambda m: _f(m).fold(m.x(1, 8, 9), (4, 4), 2),
    "avg_pool1d": lambda m: _f(m).avg_pool1d(m.x(1, 2, 6), 2),
    "avg_pool2d": lambda m: _f(m).avg_pool2d(m.x(1, 2, 6, 6), 2),
    "adaptive_avg_pool1d": lambda m: _f(m).adaptive_avg_pool1d(m.x(1, 2, 6), 3),
    "adaptive_avg_pool2d": lambda m: _f(m).adaptive_avg_pool2d(m.x(1, 2, 6, 6), 3),
    "adaptive_avg_pool3d": lambda m: _f(m).adaptive_avg_pool3d(m.x(1, 1, 4, 4, 4), 2),
    "max_pool1d": lambda m: _f(m).max_pool1d(m.x(1, 2, 6), 2),
    "max_pool2d": lambda m: _f(m).max_pool2d(m.x(1, 2, 6, 6), 2),
    "interpolate": lambda m: _f(m).interpolate(m.x(1, 2, 4, 4), size=(6, 6), mode="bilinear", align_corners=True),
    "grid_sample": lambda m: _f(m).grid_sample(m.x(1, 2, 4, 4), m.unit(1, 3, 3, 2), align_corners=False),
    "batch_norm": lambda m: _f(m).batch_norm(m.x(4, 3), None, None, training=True),
    "layer_norm": lambda m: _f(m).layer_norm(m.x(4, 3), (3,)),
    "scaled_dot_product_attention": lambda m: _f(m).scaled_dot_product_attention(
        m.x(1, 2, 3, 4), m.x(1, 2, 3, 4), m.x(1, 2, 3, 4)
    ),
    "ctc_loss": lambda m: _f(m).ctc_loss(
        _f(m).log_softmax(m.x(6, 1, 4), 2), m.index(3, 1, 2) + 1, m.index(1, 1) + 6, m.index(1, 1) + 2
    ),
}


def _assign(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target
