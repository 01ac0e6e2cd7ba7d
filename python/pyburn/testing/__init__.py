"""torch.testing: assertions about tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn._typeinfo import finfo, iinfo

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# By dtype, what torch allows: relative, absolute.
_TOLERANCES: dict[_core.dtype, tuple[float, float]] = {
    _core.float16: (1e-3, 1e-5),
    _core.bfloat16: (1.6e-2, 1e-5),
    _core.float32: (1.3e-6, 1e-5),
    _core.float64: (1e-7, 1e-7),
    _core.complex64: (1.3e-6, 1e-5),
    _core.complex128: (1e-7, 1e-7),
}


class _Rules:
    """What two values are compared by."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, msg: Any, **checks: bool) -> None:
        if (rtol is None) != (atol is None):
            raise ValueError("rtol and atol must both be specified or both be unspecified")
        self.rtol, self.atol, self.equal_nan, self.msg = rtol, atol, equal_nan, msg
        self.checks = checks

    def fail(self, text: str, path: str) -> None:
        """Raises with the text, or with the caller's own."""
        where = f"{text}\n\nThe failure occurred for item {path}" if path else text
        raise AssertionError(self.msg(where) if callable(self.msg) else self.msg or where)

    def tolerances(self, *dtypes: _core.dtype) -> tuple[float, float]:
        """The given ones, or those of the coarser dtype."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(pair[0] for pair in known), max(pair[1] for pair in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Nothing; raises when two tensors, numbers or containers of them differ by more than the tolerance.

    Raises:
        AssertionError: They differ; the text says by how much and where.

    Example:
        >>> import pyburn
        >>> pyburn.testing.assert_close(pyburn.tensor([1.0]), pyburn.tensor([1.0 + 1e-7]))
    """
    checks = {"device": check_device, "dtype": check_dtype, "stride": check_stride, "class": not allow_subclasses}
    rules = _Rules(rtol, atol, equal_nan, msg, **checks)
    _compare(actual, expected, rules, "")


def _compare(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            rules.fail(f"The keys of the mappings do not match:\n{set(actual) ^ set(expected)}", path)
        for key in expected:
            _compare(actual[key], expected[key], rules, f"{path}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            rules.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for number, pair in enumerate(zip(actual, expected)):
            _compare(*pair, rules, f"{path}[{number}]")
    elif isinstance(actual, str) or actual is None:
        if actual != expected:
            rules.fail(f"{actual!r} is not equal to {expected!r}", path)
    else:
        _need_related(actual, expected, rules)
        _compare_tensors(_tensor(actual, rules), _tensor(expected, rules), rules, path)


def _need_related(actual: Any, expected: Any, rules: _Rules) -> None:
    """Refuses a tensor beside an array or a number, as torch does: one of the two has been forgotten to convert."""
    classes = type(actual), type(expected)
    if all(issubclass(cls, Number) for cls in classes):
        return
    if not (issubclass(*classes) or issubclass(*classes[::-1])) or (rules.checks["class"] and classes[0] != classes[1]):
        raise TypeError(f"No comparison pair was able to handle inputs of type {classes[0]} and {classes[1]}.")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _tensor(value: Any, rules: _Rules) -> Tensor:
    try:
        return value if isinstance(value, Tensor) else ops.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(value)}") from None


def _compare_tensors(actual: Tensor, expected: Tensor, rules: _Rules, path: str) -> None:
    if actual.shape != expected.shape:
        rules.fail(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", path)
    for name in ("device", "dtype"):
        ours, theirs = getattr(actual, name), getattr(expected, name)
        if rules.checks[name] and ours != theirs:
            rules.fail(f"The values for attribute '{name}' do not match: {ours} != {theirs}.", path)
    if rules.checks["stride"] and actual.stride() != expected.stride():
        rules.fail(f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", path)
    rtol, atol = rules.tolerances(actual.dtype, expected.dtype)
    common = _core.promote_types(actual.dtype, expected.dtype)
    ours, theirs = actual.detach().cpu().to(common), expected.detach().cpu().to(common)
    near = ops.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if not bool(near.all()):
        rules.fail(_difference(ours, theirs, near, rtol, atol), path)


def _difference(ours: Tensor, theirs: Tensor, near: Tensor, rtol: float, atol: float) -> str:
    wrong, total = int((~near).sum()), near.numel()
    wide = _core.float64 if not ours.is_complex() else _core.complex128
    gap = (ours.to(wide) - theirs.to(wide)).abs()
    relative = gap / theirs.to(wide).abs()
    kind = "Tensor-likes are not close!" if rtol or atol else "Tensor-likes are not equal!"
    return (
        f"{kind}\n\nMismatched elements: {wrong} / {total} ({100 * wrong / total:.1f}%)\n"
        f"Greatest absolute difference: {gap.amax().item()} (up to {atol} allowed)\n"
        f"Greatest relative difference: {relative.amax().item()} (up to {rtol} allowed)"
    )


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Nothing; as `assert_close` without a look at dtypes and devices, under torch's older name."""
    assert_close(
        _tensor(actual, _Rules(None, None, True, None)),
        _tensor(expected, _Rules(None, None, True, None)),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        msg=msg or None,
    )


def make_tensor(
    *shape: Any,
    dtype: _core.dtype,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of uniform random values in [low, high); by default [-9, 9), for integers [-9, 10), for bool 0 or 1.

    Example:
        >>> import pyburn
        >>> pyburn.testing.make_tensor(2, 3, dtype=pyburn.float32).shape
        pyburn.Size([2, 3])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    first, last = _bounds(dtype, low, high)
    apart = noncontiguous and math.prod(sizes) > 1
    if apart:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    real = dtype.is_floating_point or dtype.is_complex
    if real:
        made = ops.empty(sizes, dtype=dtype)
        (ops.view_as_real(made) if dtype.is_complex else made).uniform_(first, last)
    else:
        made = ops.randint(math.ceil(first), math.ceil(last), sizes, dtype=dtype)
    if apart:
        made = made[..., 1::2]
    if exclude_zero:
        made[made == 0] = finfo(dtype).tiny if real else 1
    return made.to(device).requires_grad_(requires_grad)


def _bounds(dtype: _core.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """Where the numbers lie; a bound that the dtype cannot hold is moved to one that it can."""
    if dtype.is_floating_point or dtype.is_complex:
        least, most, default = finfo(dtype).min, finfo(dtype).max, 9.0
    elif dtype == _core.bool:
        least, most, default = 0, 2, 2
    else:
        least, most, default = iinfo(dtype).min, iinfo(dtype).max, 10
    first, last = -9.0 if low is None else low, default if high is None else high
    if first >= last:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {first} >= {last}")
    return min(max(first, least), most), min(max(last, least), most)
