"""Attention of several heads (Vaswani et al., 2017)."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class SDPBackend(enum.IntEnum):
    """Which kernel of torch computes attention; here there is one, and any name is accepted."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """A block in which attention is computed as everywhere else; accepted so that scripts run.

    Args:
        backends: One or several of `SDPBackend`.
        set_priority: Accepted for torch's sake.

    Example:
        >>> from pyburn.nn.attention import SDPBackend, sdpa_kernel
        >>> with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        ...     pass
    """
    listed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in listed):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield


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
        batched = query.dim() == 3
        if batched and self.batch_first:
            query, key, value = _batch_second(query, key, value)
        separate = not self._qkv_same_embed_dim
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            separate,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if batched and self.batch_first else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """One mask of both, and its kind: 0 for attention, 1 for padding, 2 for (N, heads, L, S) of both.

        Args:
            attn_mask: (L, L) or (N * heads, L, L).
            key_padding_mask: (N, L).
            query: (N, L, E).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        count, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.reshape(count, -1, length, length)
        else:
            merged = attn_mask.reshape(1, 1, length, length).expand(count, self.num_heads, length, length)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.reshape(count, 1, 1, length).expand(count, self.num_heads, 1, length)
        return merged, 2


def _batch_second(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(L, N, E) for each; what was one tensor stays one, so that it is projected once."""
    turned = key.transpose(0, 1)
    other = turned if value is key else value.transpose(0, 1)
    return (turned if query is key else query.transpose(0, 1)), turned, other
