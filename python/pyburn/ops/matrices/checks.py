"""What linear algebra demands of its input, in torch's words, and helpers that its files share."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import scalar_type
from pyburn.ops.ranges import eye

__all__ = [
    "LinAlgError",
    "broadcast_batch",
    "check_float",
    "check_info",
    "check_matrix",
    "check_same",
    "check_square",
    "eye_like",
]


class LinAlgError(RuntimeError):
    """A matrix for which the result does not exist: a singular one to invert, values that are not finite."""


LinAlgError.__module__ = "pyburn.linalg"

_LOW = (_core.float16, _core.bfloat16)


def check_float(op: str, input: Tensor, low_precision: bool = False) -> None:
    """Refuses what is no float tensor.

    Raises:
        RuntimeError: Integers, booleans or half types.
    """
    if not input.is_floating_point() and not input.is_complex():
        raise _core.DTypeError(
            f"{op}: Expected a floating point or complex tensor as input. Got {scalar_type(input.dtype)}"
        )
    if input.dtype in _LOW and not low_precision:
        raise _core.DTypeError(f"{op}: Low precision dtypes not supported. Got {scalar_type(input.dtype)}")


def check_matrix(op: str, input: Tensor, name: str = "A") -> None:
    """Refuses tensors with fewer than two dimensions."""
    if input.dim() < 2:
        raise _core.ShapeError(
            f"{op}: The input tensor {name} must have at least 2 dimensions, got shape {list(input.shape)}."
        )


def check_square(op: str, input: Tensor, name: str = "A") -> None:
    """Refuses what is no batch of square matrices."""
    check_matrix(op, input, name)
    if input.shape[-1] != input.shape[-2]:
        raise _core.ShapeError(
            f"{op}: {name} must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} "
            "matrices"
        )


def check_same(op: str, a: Tensor, b: Tensor) -> None:
    """Refuses two tensors of different dtypes or devices."""
    if a.dtype != b.dtype:
        raise _core.DTypeError(
            f"{op}: Expected A and B to have the same dtype, but found A of type {scalar_type(a.dtype)} and B of type "
            f"{scalar_type(b.dtype)} instead"
        )
    if a.device != b.device:
        raise _core.DeviceError(
            f"{op}: Expected all tensors to be on the same device, but found at least two devices, {a.device} and "
            f"{b.device}!"
        )


def check_info(op: str, info: Tensor, problem: str) -> None:
    """Raises where an error code is not zero, naming the first such batch element.

    Args:
        op: The name in the message.
        info: Error codes, one for each matrix.
        problem: What is wrong; `{info}` stands for the code.

    Raises:
        LinAlgError: Some code is not zero.
    """
    if info.is_meta or not info.any().item():
        return
    codes = info._integers()
    bad = next(at for at, code in enumerate(codes) if code != 0)
    where = f"(Batch element {bad}): " if info.dim() else ""
    raise LinAlgError(f"{op}: {where}{problem.format(info=codes[bad])}")


def broadcast_batch(op: str, *tensors: Tensor) -> list[Tensor]:
    """Matrices with their leading dimensions broadcast to one shape."""
    leading = [list(tensor.shape)[:-2] for tensor in tensors]
    if leading.count(leading[0]) == len(leading):
        return list(tensors)
    batch: list[int] = []
    for sizes in leading:
        batch = _joint(op, batch, sizes)
    return [
        tensor if sizes == batch else tensor.expand(*batch, *tensor.shape[-2:])
        for tensor, sizes in zip(tensors, leading, strict=True)
    ]


def _joint(op: str, one: list[int], other: list[int]) -> list[int]:
    rank = max(len(one), len(other))
    first, second = [1] * (rank - len(one)) + one, [1] * (rank - len(other)) + other
    for dim, (a, b) in enumerate(zip(first, second, strict=True)):
        if a != b and 1 not in (a, b):
            raise _core.ShapeError(
                f"{op}: The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                f"{dim}"
            )
    return [b if a == 1 else a for a, b in zip(first, second, strict=True)]


def eye_like(input: Tensor, rows: int, columns: int | None = None, batch: Sequence[int] = ()) -> Tensor:
    """The unit matrix of `input`'s dtype and device, repeated over `batch` without copies."""
    one = eye(rows, rows if columns is None else columns, dtype=input.dtype, device=input.device)
    return one.expand(*batch, *one.shape) if batch else one
