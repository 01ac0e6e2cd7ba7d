"""Attention of several heads as one function, with the weights as arguments."""

from __future__ import annotations

import math

from pyburn._core import Tensor
from pyburn._core import bool as bool_dtype
from pyburn.nn.functional.dropout import dropout
from pyburn.nn.functional.linear import linear
from pyburn.ops import cat
from pyburn.ops.attention import scaled_dot_product_attention
from pyburn.ops.padding import pad


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The gathered values, and how much each query took of each key.

    Args:
        query: (L, N, E), or (L, E) without a batch.
        key: (S, N, E) likewise; of another size with separate weights.
        value: (S, N, E) likewise.
        embed_dim_to_check: E.
        num_heads: How many heads; it must divide E.
        in_proj_weight: (3 E, E): the weights of query, key and value under each other.
        in_proj_bias: (3 E).
        bias_k: (1, 1, E): a key that is added to every sequence.
        bias_v: (1, 1, E): its value.
        add_zero_attn: Whether a key and value of zeros are added too.
        dropout_p: The probability with which a weight is dropped.
        out_proj_weight: (E, E).
        out_proj_bias: (E).
        training: Whether weights are dropped at all.
        key_padding_mask: (N, S): True, or minus infinity, where a key is not to be seen.
        need_weights: Whether the second result is wanted; None otherwise.
        attn_mask: (L, S) or (N * heads, L, S): True, or minus infinity, where a query may not see a key.
        use_separate_proj_weight: Whether the next three are used instead of `in_proj_weight`.
        q_proj_weight: (E, E).
        k_proj_weight: (E, size of keys).
        v_proj_weight: (E, size of values).
        static_k: (N * heads, S, E / heads): used as the projected keys.
        static_v: Likewise for the values.
        average_attn_weights: Whether the weights are the mean over the heads, or come for each.
        is_causal: Says that `attn_mask` is causal; it must be given all the same.

    Example:
        >>> import pyburn
        >>> x, w = pyburn.ones(2, 1, 2), pyburn.cat([pyburn.eye(2)] * 3)
        >>> pyburn.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 2, 1, w, None, None, None, False, 0.0, pyburn.eye(2), None
        ... )[1]
        tensor([[[0.5000, 0.5000],
                 [0.5000, 0.5000]]])
    """
    _check_ranks(query, key, value, key_padding_mask, attn_mask)
    batched = query.dim() == 3
    if not batched:
        same = key is value, query is key
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key, value = query if same[1] else key, value
        value = key if same[0] else value
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(query, key, value, in_proj_weight, separate, in_proj_bias)
    length, count, width = q.shape
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = cat([k, bias_k.expand(1, count, width)]), cat([v, bias_v.expand(1, count, width)])
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))  # (N, heads, L or S, D)
    k = k if static_k is None else static_k.reshape(count, num_heads, *static_k.shape[1:])
    v = v if static_v is None else static_v.reshape(count, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
    source = key.shape[0] if static_k is None else static_k.shape[1]
    mask = _joined_mask(attn_mask, key_padding_mask, q, num_heads, source, k.shape[2] - source)
    gathered, weights = _attend(q, k, v, mask, dropout_p if training else 0.0, need_weights)
    output = linear(gathered.permute(2, 0, 1, 3).reshape(length, count, width), out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None
) -> None:
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    kind = "batched" if query.dim() == 3 else "unbatched"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {kind} ({query.dim()}-D) `query`, expected `key` and `value` to be {query.dim()}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} ({query.dim()}-D) `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D "
            f"but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} ({query.dim()}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, separate: bool) -> None:
    if query.shape[2] != width:
        raise AssertionError(f"was expecting embedding dimension of {width}, but got {query.shape[2]}")
    if width % heads != 0:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate and tuple(key.shape[:2]) != tuple(value.shape[:2]):
        raise AssertionError(
            f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's {tuple(value.shape[:2])}"
        )
    if not separate and tuple(key.shape) != tuple(value.shape):
        raise AssertionError(f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}")
    if key.shape[1] != query.shape[1]:
        raise RuntimeError(f"key has a batch of {key.shape[1]} but query one of {query.shape[1]}; give them the same.")


def _project(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    if separate is None:
        if weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        if query is key and key is value:
            q, k, v = linear(query, weight, bias).chunk(3, -1)
            return q, k, v
        weights = weight.chunk(3)
    else:
        if separate[0] is None or separate[1] is None or separate[2] is None:
            raise AssertionError("use_separate_proj_weight is True but q_, k_ or v_proj_weight is None")
        weights = (separate[0], separate[1], separate[2])
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    return q, k, v


def _heads(x: Tensor, heads: int) -> Tensor:
    size, count, width = x.shape
    return x.reshape(size, count, heads, width // heads).permute(1, 2, 0, 3)


def _joined_mask(
    attn_mask: Tensor | None, padding: Tensor | None, query: Tensor, heads: int, source: int, added: int
) -> Tensor | None:
    """What is added to the scores (N, heads, L, S): both masks, and nothing for added keys."""
    count, _, length, _ = query.shape
    total: Tensor | None = None
    if attn_mask is not None:
        wanted = (length, source) if attn_mask.dim() == 2 else (count * heads, length, source)
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {tuple(attn_mask.shape)}, but should be {wanted}."
            )
        total = _additive(attn_mask, query)
        total = total if attn_mask.dim() == 2 else total.reshape(count, heads, length, source)
    if padding is not None:
        if tuple(padding.shape) != (count, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(count, source)}, but got {tuple(padding.shape)}"
            )
        hidden = _additive(padding, query).reshape(count, 1, 1, source)
        total = hidden if total is None else total + hidden
    return total if total is None or added == 0 else pad(total, (0, added))


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask to add to scores: True becomes minus infinity."""
    if mask.is_floating_point():
        return mask.to(like.dtype)
    if mask.dtype != bool_dtype:
        raise AssertionError(f"only bool and floating types of masks are supported, got {mask.dtype}")
    return like.detach().new_zeros(mask.shape).masked_fill(mask, -math.inf)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """(N, heads, L, D) and, if wanted, (N, heads, L, S)."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, dropout_p), None
    scores = (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return weights @ v, weights
