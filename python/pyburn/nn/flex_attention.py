"""torch.nn.attention.flex_attention: attention whose scores and mask a Python function decides.

Every function is called once with the numbers of all batches, heads, queries and keys; nothing is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypedDict

from pyburn._core import Tensor
from pyburn.ops import arange, where, zeros

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
Mod = Callable[..., Any]


class FlexKernelOptions(TypedDict, total=False):
    """How torch's GPU kernels cut their work up; accepted, as there are no such kernels here."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Tensor:
    """A mask that lets every query see every key."""
    everything: Tensor = (token_q == token_q) & (token_kv == token_kv)
    return everything


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask of what all of them let be seen."""

    def both(b: Any, h: Any, q: Any, kv: Any) -> Any:
        found = mask_mods[0](b, h, q, kv)
        for mask in mask_mods[1:]:
            found = found & mask(b, h, q, kv)
        return found

    return both


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask of what one of them lets be seen."""

    def either(b: Any, h: Any, q: Any, kv: Any) -> Any:
        found = mask_mods[0](b, h, q, kv)
        for mask in mask_mods[1:]:
            found = found | mask(b, h, q, kv)
        return found

    return either


def _places(B: int, H: int, Q: int, K: int, device: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The numbers of batch, head, query and key, each along a dimension of its own."""
    return (
        arange(B, device=device).view(B, 1, 1, 1),
        arange(H, device=device).view(1, H, 1, 1),
        arange(Q, device=device).view(1, 1, Q, 1),
        arange(K, device=device).view(1, 1, 1, K),
    )


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Which key each query sees: bools of shape (B, H, Q_LEN, KV_LEN).

    Example:
        >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    found: Tensor = mod_fn(*_places(*shape, device))
    return found.expand(shape).contiguous()


class BlockMask:
    """A mask, kept as the function that decides it and the sizes for which it was made."""

    def __init__(self, mask_mod: Mod, shape: tuple[int, int, int, int], block: tuple[int, int], device: Any) -> None:
        self.mask_mod, self.shape, self.BLOCK_SIZE, self._device = mask_mod, shape, block, device
        self.seq_lengths = shape[2:]

    def to_dense(self) -> Tensor:
        """Which blocks are seen in part or whole: ints of shape (B, H, blocks of queries, blocks of keys)."""
        B, H, Q, K = self.shape
        q, k = self.BLOCK_SIZE
        rows, columns = -(-Q // q), -(-K // k)
        whole = zeros(B, H, rows * q, columns * k, dtype=create_mask(noop_mask, 1, 1, 1, 1).dtype, device=self._device)
        whole[:, :, :Q, :K] = create_mask(self.mask_mod, B, H, Q, K, self._device)
        return whole.view(B, H, rows, q, columns, k).any(5).any(3).int()

    def sparsity(self) -> float:
        """How many of a hundred blocks are not seen at all."""
        dense = self.to_dense()
        return 100.0 * (1.0 - float(dense.sum()) / dense.numel())

    def numel(self) -> int:
        """The number of pairs of queries and keys."""
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """The mask for another device."""
        return BlockMask(self.mask_mod, self.shape, self.BLOCK_SIZE, device)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    **kwargs: Any,
) -> BlockMask:
    """The mask that `mask_mod(b, h, q_idx, kv_idx)` decides.

    Example:
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256).sparsity()
        25.0
    """
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else (BLOCK_SIZE[0], BLOCK_SIZE[1])
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), block, device)


class AuxRequest:
    """What `flex_attention` gives beside its result."""

    def __init__(self, lse: bool = False, max_scores: bool = False) -> None:
        self.lse, self.max_scores = lse, max_scores


class AuxOutput:
    """What was asked for by an `AuxRequest`; None where it was not."""

    def __init__(self, lse: Tensor | None = None, max_scores: Tensor | None = None) -> None:
        self.lse, self.max_scores = lse, max_scores


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Mod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with scores changed by `score_mod(score, b, h, q_idx, kv_idx)` and masked by `block_mask`.

    Args:
        query: (B, heads, queries, features).
        key: (B, heads, keys, features); fewer heads with `enable_gqa`.
        value: (B, heads, keys, features of the result).
        score_mod: Gives new scores.
        block_mask: From `create_block_mask`.
        scale: The factor of the scores; one by the root of the features if None.
        enable_gqa: Whether several heads of queries share one of keys.
        return_lse: Whether the logarithm of each row's sum comes too.
        kernel_options: Accepted for torch's sake.
        return_aux: What else is wanted.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(1, 1, 3, 2)
        >>> flex_attention(x, x, x).shape
        pyburn.Size([1, 1, 3, 2])
    """
    if enable_gqa and query.shape[1] != key.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).float() * factor  # (B, H, Q, K)
    B, H, Q, K = scores.shape
    places = _places(B, H, Q, K, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if block_mask is not None:
        seen = block_mask.mask_mod(*places)
        scores = where(seen, scores, -math.inf)
    lse = scores.logsumexp(-1)
    # A query that sees no key has no weights, and its result is zero.
    weights = (scores - where(lse == -math.inf, 0.0, lse).unsqueeze(-1)).exp()
    out = (weights.to(value.dtype) @ value).to(query.dtype)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out
