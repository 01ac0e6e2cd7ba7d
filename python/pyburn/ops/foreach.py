"""torch._foreach_*: one operation on every tensor of a list, which optimizers of other libraries are written with.

The functions are made from tables: `_foreach_add(tensors, 1)` gives a tuple, `_foreach_add_(tensors, 1)` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import Tensor

UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac"),
    *("lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin"),
    *("sinh", "sqrt", "tan", "tanh", "trunc"),
)
# Names here, the method that computes them, and whether `alpha` scales the second operand.
BINARY = {
    "add": ("add", True),
    "clamp_max": ("clamp_max", False),
    "clamp_min": ("clamp_min", False),
    "div": ("div", False),
    "maximum": ("clamp_min", False),
    "minimum": ("clamp_max", False),
    "mul": ("mul", False),
    "pow": ("pow", False),
    "sub": ("sub", True),
}
TERNARY = ("addcdiv", "addcmul")


def _checked(tensors: Any, *others: Any) -> int:
    """How many tensors there are, when all lists are as long."""
    if not isinstance(tensors, Sequence):
        raise TypeError(f"_foreach: expected a list of tensors, but got {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for place, value in enumerate(tensors):
        if not isinstance(value, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(value).__name__}")
    for other in others:
        if len(other) != len(tensors):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}"
            )
    return len(tensors)


def _spread(value: Any, count: int) -> Sequence[Any]:
    """One value for each tensor: those of a list, or the same for all."""
    if isinstance(value, list | tuple):
        if len(value) != count:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
        return value
    return [value] * count


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def _give(written: bool, tensors: Any, results: list[Tensor]) -> Any:
    return tensors if written else tuple(results)


def _unary(name: str, suffix: str) -> Callable[..., Any]:
    def function(self: Sequence[Tensor]) -> Any:
        """The operation on every tensor."""
        _checked(self)
        return _give(bool(suffix), self, [getattr(tensor, name + suffix)() for tensor in self])

    return _named(function, f"_foreach_{name}{suffix}")


def _binary(name: str, suffix: str) -> Callable[..., Any]:
    method, scales = BINARY[name]

    def function(self: Any, other: Any, *, alpha: Any = None) -> Any:
        """The operation on every tensor and its partner: of a list, or one number or tensor for all."""
        if name == "pow" and isinstance(self, int | float | complex):
            return tuple(self**exponent for exponent in other)
        partners = _spread(other, _checked(self))
        listed = isinstance(partners[0], Tensor)
        if alpha is not None and not (scales and listed):
            raise TypeError(f"_foreach_{name}{suffix}() takes alpha only with tensors as other")
        more = {} if alpha is None else {"alpha": alpha}
        results = [getattr(x, method + suffix)(y, **more) for x, y in zip(self, partners, strict=True)]
        return _give(bool(suffix), self, results)

    return _named(function, f"_foreach_{name}{suffix}")


def _ternary(name: str, suffix: str) -> Callable[..., Any]:
    def function(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = 1) -> Any:
        """The operation on every tensor and its two partners; `value` is a number, or one for each tensor."""
        count = _checked(self, tensor1, tensor2)
        factors = value if scalars is None else scalars
        factors = factors.tolist() if isinstance(factors, Tensor) else factors
        parts = zip(self, tensor1, tensor2, _spread(factors, count), strict=True)
        return _give(bool(suffix), self, [getattr(x, name + suffix)(y, z, value=v) for x, y, z, v in parts])

    return _named(function, f"_foreach_{name}{suffix}")


def _lerp(suffix: str) -> Callable[..., Any]:
    def function(self: Any, tensors1: Any, weight: Any) -> Any:
        """Every tensor moved towards its partner."""
        parts = zip(self, tensors1, _spread(weight, _checked(self, tensors1)), strict=True)
        return _give(bool(suffix), self, [getattr(x, "lerp" + suffix)(y, w) for x, y, w in parts])

    return _named(function, f"_foreach_lerp{suffix}")


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The tensors, each with the values of its partner."""
    _checked(self, src)
    return _give(True, self, [x.copy_(y, non_blocking) for x, y in zip(self, src, strict=True)])


def _foreach_zero_(self: Any) -> Any:
    """The tensors, filled with zeros."""
    _checked(self)
    return _give(True, self, [x.zero_() for x in self])


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    _checked(self)
    return tuple(x.max() for x in self)


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The vector norm of each tensor.

    Example:
        >>> import pyburn
        >>> _foreach_norm([pyburn.tensor([3.0, 4.0]), pyburn.tensor([-1.0])])
        (tensor(5.), tensor(1.))
    """
    _checked(self)
    return tuple(x.norm(ord, dtype=dtype) for x in self)


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the powers of the elements' sizes, for each tensor."""
    _checked(self)
    return tuple((x if dtype is None else x.to(dtype)).abs().pow(ord).sum() for x in self)


def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    """The matrix product of each pair."""
    _checked(self, mat2)
    return tuple(x.mm(y) for x, y in zip(self, mat2, strict=True))


for _suffix in ("", "_"):
    for _name in UNARY:
        if _name + _suffix != "clone_":
            globals()[f"_foreach_{_name}{_suffix}"] = _unary(_name, _suffix)
    for _name in BINARY:
        globals()[f"_foreach_{_name}{_suffix}"] = _binary(_name, _suffix)
    for _name in TERNARY:
        globals()[f"_foreach_{_name}{_suffix}"] = _ternary(_name, _suffix)
    globals()[f"_foreach_lerp{_suffix}"] = _lerp(_suffix)
