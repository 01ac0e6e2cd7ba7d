"""Attention: averages of values, weighted by how well queries and keys agree."""

from __future__ import annotations

import math

from pyburn._core import Tensor, _stand_for, float32
from pyburn._core import bool as bool_dtype
from pyburn.ops._layout import arranged

__all__: list[str] = []


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value` over the last two dimensions.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, V).
        attn_mask: Booleans (True takes part) or summands, broadcast to (..., L, S).
        dropout_p: The probability with which a weight is dropped; not only in training.
        is_causal: Whether a query sees only the keys up to its own place.
        scale: None is `1 / sqrt(E)`.
        enable_gqa: Whether several heads of `query` (dim -3) share one of `key` and `value`.

    Raises:
        RuntimeError: Shapes do not fit, or both a mask and `is_causal` are given.

    Differs from torch:
        With dropout too the CPU never holds all scores (float32 and less; a mask that learns needs them); the same seed
        drops the same weights. A mask of summands must then not be written to before backward, which says so.

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> q = pyburn.zeros(1, 1, 2)
        >>> nn.scaled_dot_product_attention(q, pyburn.ones(1, 2, 2), pyburn.tensor([[[1.0], [3.0]]]))
        tensor([[[2.]]])
    """
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    inputs = (query, key, value)
    if enable_gqa:
        key, value = _shared(query, key), _shared(query, value)
    factor = 1.0 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    one_op = _is_one_op(query, value, attn_mask, dropout_p)
    if one_op and _is_native(query, key, value, attn_mask):
        return query._attended(key, value, _summands(attn_mask, query), is_causal, factor)
    result = _attended(query, key, value, attn_mask, dropout_p, is_causal, factor)
    if not one_op:
        return result
    name = "ScaledDotProductFlashAttentionForCpuBackward0"
    # A mask of truths is turned into summands, so that it may be written to afterwards.
    summands = attn_mask is not None and attn_mask.dtype != bool_dtype
    return _stand_for(result, name, inputs, (*inputs, attn_mask) if summands else inputs, True)


def _is_one_op(query: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Whether torch's CPU has one op for it, which keeps more for backward than its parts do."""
    if dropout_p > 0.0 or query.dim() not in (3, 4) or query.size(-1) != value.size(-1):
        return False
    return attn_mask is None or not attn_mask.requires_grad


def _is_native(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> bool:
    """Whether the kernel, which never holds all scores, can do it."""
    if query.dtype != float32 or not (query.is_cpu and key.is_cpu and value.is_cpu):
        return False
    if not (query.numel() and key.numel() and value.numel()):
        return False
    # Plain tuples: a slice of a Size is one again, which takes longer than all the rest.
    own, keys, values = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if keys != (*own[:-2], keys[-2], own[-1]) or values[:-1] != keys[:-1]:
        return False
    if attn_mask is None:
        return True
    scores, sizes = (*own[:-1], keys[-2]), tuple(attn_mask.shape)
    if not attn_mask.is_cpu or len(sizes) > len(scores):
        return False
    return all(size in (1, score) for size, score in zip(sizes[::-1], scores[::-1], strict=False))


def _summands(attn_mask: Tensor | None, query: Tensor) -> Tensor | None:
    """The mask as the kernel takes it; one of truths becomes minus infinity where nothing is seen."""
    if attn_mask is None or attn_mask.dtype != bool_dtype:
        return None if attn_mask is None else attn_mask.to(float32)
    return query.detach().new_zeros(attn_mask.shape).masked_fill(attn_mask.logical_not(), -math.inf)


def _attended(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    factor: float,
) -> Tensor:
    """:func:`scaled_dot_product_attention` of checked arguments where torch computes it by its parts."""
    dtype = query.dtype
    q, k, v = (x.to(float32) if x.dtype.itemsize < 4 else x for x in (query, key, value))
    if factor > 0.0 and not _is_one_op(query, value, attn_mask, dropout_p):
        # As torch shares the factor out where it has no op of its own.
        q, k = q * math.sqrt(factor), k * math.sqrt(factor)
    else:
        q = q * factor
    if _is_native(q, k, v, attn_mask) and (attn_mask is None or not attn_mask.requires_grad):
        # Where all weights are dropped nothing is drawn, as in torch.
        dropped = dropout_p if dropout_p < 1.0 else 0.0
        out = q._attended(k, v, _summands(attn_mask, q), is_causal, 1.0, dropped, True)
        out = out if dropout_p < 1.0 else out * 0.0
    else:
        out = _weights(q, k, attn_mask, dropout_p, is_causal) @ v
    out = out.to(dtype)
    rows = query.dim() == 4 and query.stride(-1) == 1 and not query.is_contiguous()
    if not rows or dropout_p > 0.0 or out.shape != query.shape:
        return out
    # It lies as the query does, so that what was transposed before can be viewed with its heads joined afterwards.
    return arranged(out, sorted(range(4), key=lambda dim: -query.stride(dim)))


def _weights(q: Tensor, k: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool) -> Tensor:
    """How much each query takes of each key, all at once."""
    scores = q @ k.transpose(-2, -1)  # (..., L, S)
    if attn_mask is None and is_causal:
        scores = scores + _later(scores)
    elif attn_mask is not None and attn_mask.dtype == bool_dtype:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    if attn_mask is None:
        weights = scores.softmax(-1)
    else:
        # A query that may see nothing, which no causal one is, gets zeros rather than NaN, and so do its gradients.
        unseen = (scores == -math.inf).all(-1, keepdim=True)
        weights = scores.masked_fill(unseen, 0.0).softmax(-1).masked_fill(unseen, 0.0)
    if dropout_p == 0.0:
        return weights
    if dropout_p == 1.0:
        return weights * 0.0
    return weights * weights.detach().new_empty(weights.shape).bernoulli_(1.0 - dropout_p).div_(1.0 - dropout_p)


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool
) -> None:
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value need at least 2 dimensions, got "
            f"{query.dim()}, {key.dim()} and {value.dim()}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "scaled_dot_product_attention: expected query, key, and value to have the same dtype, but got "
            f"{query.dtype}, {key.dtype} and {value.dtype}"
        )
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError("scaled_dot_product_attention: explicit attn_mask should not be set when is_causal=True")
    if attn_mask.dtype not in (bool_dtype, query.dtype, float32):
        raise RuntimeError(
            "scaled_dot_product_attention: expected attn_mask dtype to be bool or float or to match query dtype, but "
            f"got attn_mask.dtype: {attn_mask.dtype} and query.dtype: {query.dtype}"
        )


def _later(scores: Tensor) -> Tensor:
    """Minus infinity where a key stands after the query, else zero; to add it is faster than to choose."""
    return scores.detach().new_full(scores.shape[-2:], -math.inf).triu(1)


def _shared(query: Tensor, x: Tensor) -> Tensor:
    """Each head of `x` as often as heads of `query` share it."""
    heads, own = query.shape[-3], x.shape[-3]
    if own == 0 or heads % own:
        raise RuntimeError(
            f"scaled_dot_product_attention: the heads of key and value ({own}) must divide those of query ({heads})"
        )
    return x.repeat_interleave(heads // own, dim=-3)
