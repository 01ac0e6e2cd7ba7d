"""Products with int8 matrices, which stay int8 in memory: quantized weights, and exact integer products."""

from __future__ import annotations

from pyburn import _core
from pyburn._core import DTypeError, ShapeError, Tensor, bfloat16, float16, float32, int8, int32, uint8

# A sum of so many products of int8 is at most 2**24, below which float32 holds every integer.
_EXACT = 1024


def _matrices(op: str, left: Tensor, right: Tensor) -> None:
    for name, x in (("self", left), ("mat2", right)):
        if x.dim() != 2:
            raise ShapeError(f"{op}: {name} must be a matrix, got {x.dim()}-D tensor; reshape it")


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two int8 matrices as int32, exact.

    Example:
        >>> import pyburn
        >>> row = pyburn.tensor([[100, 100]], dtype=pyburn.int8)
        >>> pyburn._int_mm(row, row.t())
        tensor([[20000]], dtype=pyburn.int32)
    """
    _matrices("_int_mm", self, mat2)
    for x in (self, mat2):
        if x.dtype not in (int8, uint8):
            raise DTypeError(f"_int_mm: expected int8 or uint8, but got {x.dtype}; convert with .to(pyburn.int8)")
    if self.shape[1] != mat2.shape[0]:
        shapes = f"{self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]}"
        raise ShapeError(f"_int_mm: mat1 and mat2 shapes cannot be multiplied ({shapes}); transpose one of them")
    if uint8 in (self.dtype, mat2.dtype) or not (self.is_cpu and mat2.is_cpu):
        return (self.to(int32) @ mat2.to(int32)).to(int32)
    out = _core.int8_product(self[:, :_EXACT], mat2[:_EXACT]).to(int32)
    for start in range(_EXACT, self.shape[1], _EXACT):
        part = slice(start, start + _EXACT)
        out += _core.int8_product(self[:, part], mat2[part]).to(int32)
    return out


def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """`(input @ mat2.T) * scales` for an int8 weight of one row per output, summed in float32 and rounded once.

    Differs from torch: any strides are allowed, `scales` may have another float type, and gradients reach `input` and
    `scales`.

    Example:
        >>> import pyburn
        >>> weight = pyburn.tensor([[127, -127], [2, 3]], dtype=pyburn.int8)
        >>> pyburn._weight_int8pack_mm(pyburn.tensor([[1.0, 0.5]]), weight, pyburn.tensor([0.01, 1.0]))
        tensor([[0.6350, 3.5000]])
    """
    op = "_weight_int8pack_mm"
    if input.dim() != 2:
        raise ShapeError(f"{op}: expected input to be a matrix, got {input.dim()}-D tensor; reshape it")
    if input.dtype not in (float32, bfloat16, float16):
        raise DTypeError(f"{op}: expected input to be float32, bfloat16 or float16, got {input.dtype}; convert it")
    if mat2.dtype != int8 or mat2.dim() != 2 or mat2.shape[1] != input.shape[1]:
        given = f"{mat2.dtype} of shape {list(mat2.shape)}"
        raise ShapeError(f"{op}: expected mat2 to be int8 of shape [outputs, {input.shape[1]}], got {given}")
    if tuple(scales.shape) != (mat2.shape[0],):
        raise ShapeError(f"{op}: expected scales of shape [{mat2.shape[0]}], got {list(scales.shape)}")
    if input.is_cpu and mat2.is_cpu and not (_core.is_grad_enabled() and input.requires_grad):
        product = _core.int8_product(input.detach(), mat2.t())
    else:
        product = input.to(float32) @ mat2.to(float32).t()
    return (product * scales.to(float32)).to(input.dtype)
