"""torch.nn.attention.bias: the two causal masks for queries and keys of different lengths."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner of the matrix of queries and keys the diagonal goes through."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask (L, S), True where a query sees a key, for the `attn_mask` of attention.

    Args:
        variant: Whether the first query sees the first key alone, or the last query the last key.
        seq_len_q: The number L of queries.
        seq_len_kv: The number S of keys.

    Differs from torch:
        It holds the mask, as bools, and can be computed with.

    Example:
        >>> causal_lower_right(2, 3).tolist()
        [[True, True, False], [True, True, True]]
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """The mask.

        Raises:
            TypeError: `variant` is no `CausalVariant`.
        """
        if not isinstance(variant, CausalVariant):
            raise TypeError(f"CausalBias: variant must be a CausalVariant, but is {variant!r}.")
        shift = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        ones = ops.ones(seq_len_q, seq_len_kv, dtype=_core.bool)
        made: Any = ops.tril(ones, diagonal=shift).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and shift:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )
        result: CausalBias = made
        return result

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None: ...

    def _materialize(self, device: Any = None) -> Tensor:
        plain: Tensor = self.as_subclass(Tensor).to(device=device)
        return plain


def causal_upper_left(*size: int) -> CausalBias:
    """The mask (L, S) of which the first query sees the first key alone.

    Example:
        >>> causal_upper_left(2, 3).tolist()
        [[True, False, False], [True, True, False]]
    """
    return _made(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask (L, S) of which the last query sees all keys.

    Example:
        >>> causal_lower_right(1, 3).tolist()
        [[True, True, True]]
    """
    return _made(CausalVariant.LOWER_RIGHT, size)


def _made(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise RuntimeError(f"causal masks only support 2D tensors, got size {size}")
    return CausalBias(variant, *size)
