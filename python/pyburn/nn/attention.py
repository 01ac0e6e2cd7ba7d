"""Attention of several heads (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import cat, empty


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that torch prints for an attention's output projection.

    Example:
        >>> import pyburn
        >>> pyburn.nn.MultiheadAttention(2, 1).out_proj
        NonDynamicallyQuantizableLinear(in_features=2, out_features=2, bias=True)
    """


class MultiheadAttention(Module):
    """Lets each query gather the values whose keys fit it, in several heads at once.

    Args:
        embed_dim: The size E of queries and results.
        num_heads: How many heads; it must divide `embed_dim`.
        dropout: The probability with which an attention weight is dropped in training.
        bias: Whether the projections have biases.
        add_bias_kv: Whether a learned key and value are added to every sequence.
        add_zero_attn: Whether a key and value of zeros are added to every sequence.
        kdim: The size of keys; E when left out.
        vdim: The size of values; E when left out.
        batch_first: Whether the batch is the first dimension: (N, L, E) instead of (L, N, E).
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> attention = pyburn.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = pyburn.zeros(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> tuple(output.shape), tuple(weights.shape)
        ((3, 5, 8), (3, 5, 5))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        if embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def made(present: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(shape, device=device, dtype=dtype)) if present else None

        same, e = self._qkv_same_embed_dim, embed_dim
        self.register_parameter("in_proj_weight", made(same, 3 * e, e))
        self.register_parameter("q_proj_weight", made(not same, e, e))
        self.register_parameter("k_proj_weight", made(not same, e, self.kdim))
        self.register_parameter("v_proj_weight", made(not same, e, self.vdim))
        self.register_parameter("in_proj_bias", made(bias, 3 * e))
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias=bias, device=device, dtype=dtype)
        self.register_parameter("bias_k", made(add_bias_kv, 1, 1, e))
        self.register_parameter("bias_v", made(add_bias_kv, 1, 1, e))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The gathered values, and how much each query took of each key.

        Args:
            query: (L, N, E), with `batch_first` (N, L, E), or without a batch (L, E).
            key: (S, N, kdim), likewise.
            value: (S, N, vdim), likewise.
            key_padding_mask: (N, S): True, or minus infinity, where a key is not to be seen.
            need_weights: Whether the second result is wanted; None otherwise.
            attn_mask: (L, S) or (N * heads, L, S): True, or minus infinity, where a query may not see a key.
            average_attn_weights: Whether the weights are the mean over the heads, or come for each.
            is_causal: Says that `attn_mask` is causal; it must be given all the same.
        """
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.dim() == 3
        if not batched:
            query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        output, weights = self._attend(query, key, value, key_padding_mask, attn_mask)
        if batched and self.batch_first:
            output = output.transpose(0, 1)
        elif not batched:
            output, weights = output.squeeze(1), weights.squeeze(0)
        if not need_weights:
            return output, None
        return output, weights.mean(-3) if average_attn_weights else weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        biases: Any = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
        return q, k, v

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(L, N, E) and (N, heads, L, S)."""
        q, k, v = self._project(query, key, value)
        length, count, _ = q.shape
        if self.bias_k is not None and self.bias_v is not None:
            k = cat([k, self.bias_k.expand(1, count, self.embed_dim)])
            v = cat([v, self.bias_v.expand(1, count, self.embed_dim)])
        if self.add_zero_attn:
            k, v = (cat([t, t.new_zeros((1, count, self.embed_dim))]) for t in (k, v))
        added = k.shape[0] - key.shape[0]
        q, k, v = (self._heads(t) for t in (q, k, v))  # (N, heads, L or S, D)
        scores = (q * (1.0 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)  # (N, heads, L, S)
        for hidden in (self._attention_mask(mask, count), self._padding_mask(padding)):
            if hidden is not None:
                scores = scores + F.pad(_additive(hidden, scores), (0, added))
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        gathered = (weights @ v).permute(2, 0, 1, 3).reshape(length, count, self.embed_dim)
        return self.out_proj(gathered), weights

    def _heads(self, x: Tensor) -> Tensor:
        size, count, _ = x.shape
        return x.reshape(size, count, self.num_heads, self.head_dim).permute(1, 2, 0, 3)

    def _attention_mask(self, mask: Tensor | None, count: int) -> Tensor | None:
        if mask is None or mask.dim() == 2:
            return mask
        if mask.dim() != 3 or mask.shape[0] != count * self.num_heads:
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {tuple(mask.shape)}, but should be ({count * self.num_heads}, L, S)."
            )
        return mask.reshape(count, self.num_heads, *mask.shape[1:])

    def _padding_mask(self, padding: Tensor | None) -> Tensor | None:
        return None if padding is None else padding.unsqueeze(1).unsqueeze(1)  # (N, 1, 1, S)


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask to add to scores: True becomes minus infinity."""
    if mask.is_floating_point():
        return mask.to(like.dtype)
    return like.detach().new_zeros(mask.shape).masked_fill(mask, -math.inf)
