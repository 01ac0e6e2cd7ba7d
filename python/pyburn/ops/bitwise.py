"""Logic on bits and on truth values."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._methods import need_real, write_out
from pyburn.ops.arithmetic import Number, _tensor
from pyburn.ops.joining import cat

__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "gcd",
    "hash_tensor",
    "lcm",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]

METHODS = ("hash_tensor",)

INPLACE = (
    "bitwise_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
)


def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits turned over; the truth value of booleans.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_not(pyburn.tensor([5, 6, 7]))
        tensor([-6, -7, -8])
    """
    return write_out(out, input.bitwise_not(), input)


def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_and(pyburn.tensor([5, 6, 7]), 2)
        tensor([0, 2, 2])
    """
    return write_out(out, _tensor(input, other).bitwise_and(other), input, other)


def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in one or both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_or(pyburn.tensor([5, 6, 7]), 2)
        tensor([7, 6, 7])
    """
    return write_out(out, _tensor(input, other).bitwise_or(other), input, other)


def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in one but not both.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_xor(pyburn.tensor([5, 6, 7]), 2)
        tensor([7, 4, 5])
    """
    return write_out(out, _tensor(input, other).bitwise_xor(other), input, other)


def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`, bits that leave the type lost.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_left_shift(pyburn.tensor([5, 6, 7]), 2)
        tensor([20, 24, 28])
    """
    return write_out(out, _tensor(input, other).bitwise_left_shift(other), input, other)


def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input / 2 ** other` rounded down.

    Args:
        input: The tensor.
        other: A tensor or number.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.bitwise_right_shift(pyburn.tensor([5, 6, 7]), 2)
        tensor([1, 1, 1])
    """
    return write_out(out, _tensor(input, other).bitwise_right_shift(other), input, other)


def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor.

    Args:
        input: The tensor.
        other: The other tensor of integers.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.gcd(pyburn.tensor([5, 6, 7]), pyburn.tensor([10, 9, 7]))
        tensor([5, 3, 7])
    """
    return write_out(out, input.gcd(other), input, other)


def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple.

    Args:
        input: The tensor.
        other: The other tensor of integers.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.lcm(pyburn.tensor([5, 6, 7]), pyburn.tensor([10, 9, 7]))
        tensor([10, 18,  7])
    """
    return write_out(out, input.lcm(other), input, other)


def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where both differ from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_and(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([ True, False, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_and(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_and(other), input, other)


def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where at least one differs from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_or(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([ True,  True, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_or(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_or(other), input, other)


def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where exactly one differs from zero.

    Args:
        input: The tensor.
        other: The other tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_xor(pyburn.tensor([True, True, False]), pyburn.tensor([True, False, False]))
        tensor([False,  True, False])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"logical_xor(): argument 'other' must be a Tensor, not {type(other).__name__}")
    return write_out(out, input.logical_xor(other), input, other)


def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are zero.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.logical_not(pyburn.tensor([True, True, False]))
        tensor([False, False,  True])
    """
    return write_out(out, input.logical_not(), input)


def hash_tensor(
    input: Tensor, dim: int | Sequence[int] = (), *, keepdim: bool = False, mode: int = 0, out: Tensor | None = None
) -> Tensor:
    """The bits of all elements, or of those along `dim`, combined by exclusive or, as uint64.

    Args:
        input: Floats count as float64, other numbers as int64.
        dim: The dimensions; none means all.
        keepdim: Whether reduced dimensions stay, with size 1.
        mode: 0, the only way there is.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.hash_tensor(pyburn.tensor([3, 5]))
        tensor(6, dtype=pyburn.uint64)
    """
    need_real("hash_tensor", input)
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown mode {mode}; use 0")
    if out is not None and out.dtype != _core.uint64:
        raise _core.DTypeError(f"hash_tensor: Expected result to be of dtype uint64, but got {out.dtype}")
    rank = input.dim()
    given = [dim] if is_integer(dim) else list(dim)
    span = max(rank, 1)
    if any(not -span <= one < span for one in given):
        raise _core.DimError(
            f"hash_tensor: Dimension out of range (expected to be in [{-span}, {span - 1}], got {dim})"
        )
    dims = [one % span for one in given] if given else list(range(rank))
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"hash_tensor: a dim appears multiple times in the list of dims {given}")
    if input.numel() == 0 and not given:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0.")
    dims = dims if rank else []
    for one in dims:
        if input.shape[one] == 0:
            raise _core.DimError(f"hash_tensor: Expected reduction dim {one} to have non-zero size.")
    wide = input.detach().to(_core.float64 if input.is_floating_point() else _core.int64)
    bits = wide.view(_core.int64) if input.is_floating_point() else wide
    kept = [one for one in range(rank) if one not in dims]
    bits = bits.permute(kept + dims).reshape([*(input.shape[one] for one in kept), -1])
    while bits.shape[-1] > 1:
        half = bits.shape[-1] // 2
        rest = bits.narrow(-1, 2 * half, bits.shape[-1] - 2 * half)
        folded = bits.narrow(-1, 0, half).bitwise_xor(bits.narrow(-1, half, half))
        bits = cat([folded, rest], -1)
    found = bits.squeeze(-1)
    if keepdim:
        found = found.reshape([1 if one in dims else size for one, size in enumerate(input.shape)])
    return write_out(out, found.contiguous().view(_core.uint64))
