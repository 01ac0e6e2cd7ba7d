"""How functions of the op families become methods of Tensor, and how their in-place forms and `out=` are made."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

from pyburn import _core
from pyburn._core import DTypeError, Tensor, is_grad_enabled
from pyburn._core import dtype as _dtype
from pyburn.ops._arguments import guards, refusal

F = TypeVar("F", bound=Callable[..., Any])

# In-place forms that may read nothing of what they write to, not even the same elements; and those that torch lets read
# all of it.
_WHOLE = {"index_add", "index_copy", "index_fill", "index_reduce", "put", "scatter", "scatter_add", "scatter_reduce"}
_PRODUCTS = {"addbmm", "addmm", "addmv", "baddbmm", "masked_scatter"}
# What one pass over memory computes, and the options that it takes.
_FUSED: dict[str, set[str]] = {"lerp": set(), "addcmul": {"value"}, "addcdiv": {"value"}}


def attach(family: ModuleType) -> None:
    """Makes the functions named in `family.METHODS` methods, and those in `family.INPLACE` in-place methods too."""
    for name in getattr(family, "METHODS", ()):
        setattr(Tensor, name, getattr(family, name))
    for name in getattr(family, "INPLACE", ()):
        function = getattr(family, name, None) or getattr(Tensor, name)
        setattr(Tensor, f"{name}_", inplace(name, function))


# torch takes numpy's words for its own; where a function has a word of its own among them, that one counts.
_NUMPYS = (("axis", "dim"), ("keepdims", "keepdim"), ("x", "input"), ("a", "input"), ("x1", "input"), ("x2", "other"))


def numpy_names(function: F) -> F:
    """`function` that also takes numpy's names of `dim`, `keepdim`, `input` and `other`, as torch's functions do."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for theirs, ours in _NUMPYS:
                # Both at once are refused by the function itself.
                if theirs in kwargs and ours not in kwargs and not _takes(function, theirs):
                    kwargs[ours] = kwargs.pop(theirs)
            if kwargs.get("out", function) is None:
                del kwargs["out"]
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            raise refusal(error, function, args, kwargs) from None

    guards.add(cast(FunctionType, named))
    return cast(F, named)


@functools.cache
def _takes(function: Callable[..., Any], name: str) -> bool:
    import inspect  # six milliseconds that hardly any program needs

    return name in inspect.signature(function).parameters


def numbers_between(*names: str) -> Callable[[F], F]:
    """A decorator: `function(input, a, b)` also takes its numbers as torch 1 did, in between and without their names.

    ``addcmul(input, value, a, b)`` and ``addmm(beta, input, alpha, a, b)`` stand in programs of that time, and torch
    still takes them.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def either(*args: Any, **kwargs: Any) -> Any:
            if len(args) > 3:
                numbers = [arg for arg in args if not isinstance(arg, Tensor)]
                tensors = [arg for arg in args if isinstance(arg, Tensor)]
                if len(tensors) == 3 and len(numbers) <= len(names):
                    text = f"This overload of {function.__name__} is deprecated; give {' and '.join(names)} by name."
                    warnings.warn(text, UserWarning, stacklevel=2)
                    return function(*tensors, **dict(zip(names, numbers)), **kwargs)
            return function(*args, **kwargs)

        return cast(F, either)

    return decorate


def alpha_between(function: F) -> F:
    """`function(input, other)` that also takes ``(input, alpha, other)``: old code says ``p.add_(-lr, grad)``."""

    @functools.wraps(function)
    def either(input: Any, other: Any, *rest: Any, **kwargs: Any) -> Any:
        if not rest:
            return function(input, other, **kwargs)
        if len(rest) > 1 or "alpha" in kwargs or isinstance(other, Tensor):
            raise TypeError(f"{function.__name__}() takes input and other, and alpha by name")
        text = f"This overload of {function.__name__} is deprecated; give alpha by name."
        warnings.warn(text, UserWarning, stacklevel=2)
        return function(input, rest[0], alpha=other, **kwargs)

    return cast(F, either)


def inplace(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The form of `function` that writes its result into its first argument."""
    written = f"{name}_"
    whole, checked = name in _WHOLE, name not in _PRODUCTS

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._check_inplace(written)
        if checked and (args or kwargs):
            self._check_apart(written, (*args, *kwargs.values()), whole)
        once = name in _FUSED and len(args) == 2 and kwargs.keys() <= _FUSED[name]
        # In one pass over plain floats; None where it has to be made of other ops.
        if once and _core._combined(name, self, args[0], args[1], kwargs.get("value", 1), True) is not None:
            return self
        return self._assign(written, function(self, *args, **kwargs))

    method.__name__ = written
    method.__qualname__ = f"Tensor.{written}"
    method.__doc__ = f"In-place form of :func:`pyburn.{name}`: writes the result into this tensor and returns it."
    return method


def write_out(out: Tensor | None, result: Tensor, *read: object) -> Tensor:
    """`result`, written into `out` when that is given, as torch's `out=` does.

    Args:
        out: Where to write, or None.
        result: What to write.
        read: What the result was computed from, where torch refuses an `out` that overlaps with it.
    """
    if out is None:
        return result
    if is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if out.shape != result.shape:
        if out.numel() > 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                f"match the required output shape {list(result.shape)}. This behavior is deprecated; resize the tensor "
                "to zero elements with t.resize_(0) to reuse it.",
                stacklevel=3,
            )
        out.resize_(result.shape)
    out._check_inplace("out")
    if read:
        out._check_apart("out", read, False)
    return out._assign("out", result)


def check_out(op: str, out: Tensor | None, dtype: _dtype, *inputs: Tensor) -> None:
    """Refuses an `out` of another dtype than the result, and one that shares memory with what is read."""
    if out is None:
        return
    if out.dtype != dtype:
        raise DTypeError(f"{op}: Expected out tensor to have dtype {dtype}, but got {out.dtype} instead")
    doubled = any(size > 1 and step == 0 for size, step in zip(out.shape, out.stride(), strict=True))
    for tensor in [out] if doubled else inputs:
        if overlap(out, tensor):
            raise RuntimeError(
                f"{op}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                "single memory location; clone() the tensor before the operation"
            )


def made_out(out: Tensor | None, result: Tensor) -> Tensor:
    """As `write_out`, for functions that make tensors: torch resizes their `out` without a word."""
    if out is not None and out.shape != result.shape:
        out.resize_(result.shape)
    return write_out(out, result)


def truth_out(op: str, out: Tensor | None, *others: _dtype) -> None:
    """Refuses an `out` that cannot hold truths."""
    if out is not None and out.dtype not in (_core.bool, *others):
        raise DTypeError(f"{op}: only supports bool tensors as out, got {out.dtype}")


_SCALAR_TYPES = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def scalar_type(dtype: _dtype) -> str:
    """A dtype's name in torch's errors, for which programs look in the text."""
    plain = str(dtype).rsplit(".", 1)[-1]
    return _SCALAR_TYPES.get(plain, plain)


def need_real(op: str, *tensors: Tensor) -> None:
    """Refuses complex tensors, for which torch has no definition either."""
    for tensor in tensors:
        if tensor.is_complex():
            raise DTypeError(
                f"{op}: not implemented for '{scalar_type(tensor.dtype)}'; take .real, .imag or .abs() first"
            )


def need_float(op: str, *tensors: Tensor) -> None:
    """Refuses integers and truths where torch computes with floats alone."""
    for tensor in tensors:
        if not tensor.is_floating_point() and not tensor.is_complex():
            raise DTypeError(f"{op}: not implemented for '{scalar_type(tensor.dtype)}'; convert with .float() first")


def overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors on the CPU may share a byte."""
    if one is other:
        return True
    if one.numel() == 0 or other.numel() == 0 or one.device.type != "cpu" or other.device.type != "cpu":
        return False
    (first, last), (start, end) = _span(one), _span(other)
    return first < end and start < last


def _span(tensor: Tensor) -> tuple[int, int]:
    start = tensor._storage_ptr() + tensor.storage_offset() * tensor.dtype.itemsize
    length = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + length * tensor.dtype.itemsize


def write_outs(out: Iterable[Tensor] | None, results: tuple[Tensor, ...], *read: object) -> tuple[Tensor, ...]:
    """As `write_out`, for functions with several results."""
    if out is None:
        return results
    return tuple(write_out(target, result, *read) for target, result in zip(out, results, strict=True))


def write_apart(out: Tensor | None, result: Tensor, *read: object) -> Tensor:
    """As `write_out`, for functions whose `out` may not even be one of the tensors that are read."""
    if out is not None:
        out._check_apart("out", read, True)
    return write_out(out, result)
