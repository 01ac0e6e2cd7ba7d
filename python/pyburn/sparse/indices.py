"""Between the two ways of saying in which row an element stands: its number, and where each row begins."""

from __future__ import annotations

from pyburn._core import Tensor, int32, int64
from pyburn.ops import arange, bincount, cat, stack

__all__ = ["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"]


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins, of the sorted row numbers of the elements; one entry more for the end.

    Example:
        >>> import pyburn
        >>> _convert_indices_from_coo_to_csr(pyburn.tensor([0, 0, 2]), 3)
        tensor([0, 2, 2, 3])
    """
    if input.dim() != 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor.")
    ends = bincount(input, minlength=size)[:size].cumsum(0)
    return cat([ends.new_zeros(1), ends]).to(int32 if out_int32 else int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The numbers of the row and of the column of each element, of where the rows begin.

    Example:
        >>> import pyburn
        >>> _convert_indices_from_csr_to_coo(pyburn.tensor([0, 2, 3]), pyburn.tensor([0, 1, 1]))
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    kind = int32 if out_int32 else int64
    counts = crow_indices[1:] - crow_indices[:-1]
    rows = arange(counts.shape[0], device=crow_indices.device).repeat_interleave(counts)
    pair = [rows.to(kind), col_indices.to(kind)]
    return stack(pair[::-1] if transpose else pair)
