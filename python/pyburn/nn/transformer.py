"""The transformer of Vaswani et al. (2017): encoder, decoder and their layers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.attention import MultiheadAttention
from pyburn.nn.container import ModuleList
from pyburn.nn.dropout import Dropout
from pyburn.nn.functional.attention import _additive
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.nn.normalization import LayerNorm
from pyburn.ops import full

Activation = str | Callable[[Tensor], Tensor]


def _activation_of(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _copies(module: Module, count: int) -> ModuleList:
    if not isinstance(module, Module):
        # Before as many copies are made of something else.
        raise TypeError(f"{type(module).__name__} is not a Module subclass")
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return full((size, size), -math.inf, device=device, dtype=dtype).triu(1)


def _is_causal(mask: Tensor | None, is_causal: bool | None, size: int) -> bool:
    """What was said, or else whether the mask is a causal one."""
    if is_causal is not None or mask is None:
        return is_causal is True
    if tuple(mask.shape[-2:]) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _length(input: Tensor, batch_first: bool) -> int:
    return int(input.shape[0 if input.dim() == 2 or not batch_first else 1])


def _attend(
    attention: MultiheadAttention,
    x: Tensor,
    source: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    is_causal: bool,
) -> Tensor:
    result: Tensor = attention(
        x, source, source, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
    )[0]
    return result


class TransformerEncoderLayer(Module):
    """Self-attention and a feedforward network, each with a residual and a norm.

    Args:
        d_model: The size E of inputs and results.
        nhead: How many heads.
        dim_feedforward: The width of the feedforward network.
        dropout: The probability of being dropped, in attention and after each part.
        activation: "relu", "gelu" or a function of one tensor.
        layer_norm_eps: Added to the variance by the norms.
        batch_first: Whether inputs are (N, L, E) instead of (L, N, E).
        norm_first: Whether each norm comes before its part instead of after the residual.
        bias: Whether linear maps and norms have biases.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> tuple(layer(pyburn.zeros(5, 3, 8)).shape)
        (5, 3, 8)
    """

    activation: Callable[[Tensor], Tensor]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation_of(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The encoded sequence, of the input's shape.

        Args:
            src: (L, N, E), with `batch_first` (N, L, E), or (L, E).
            src_mask: (L, L) or (N * heads, L, L): True, or minus infinity, where attention is forbidden.
            src_key_padding_mask: (N, L): True, or minus infinity, where a position is padding.
            is_causal: Says that `src_mask` is causal.
        """
        padding = None if src_key_padding_mask is None else _additive(src_key_padding_mask, src)
        mask = None if src_mask is None else _additive(src_mask, src)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        encoded: Tensor = self.norm2(src + self._ff_block(src))
        return encoded

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended: Tensor = self.dropout1(_attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))
        return attended

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerDecoderLayer(Module):
    """Self-attention, attention to an encoder's output and a feedforward network, with residuals and norms.

    Args:
        d_model: The size E of inputs and results.
        nhead: How many heads.
        dim_feedforward: The width of the feedforward network.
        dropout: The probability of being dropped, in attention and after each part.
        activation: "relu", "gelu" or a function of one tensor.
        layer_norm_eps: Added to the variance by the norms.
        batch_first: Whether inputs are (N, L, E) instead of (L, N, E).
        norm_first: Whether each norm comes before its part instead of after the residual.
        bias: Whether linear maps and norms have biases.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> tuple(layer(pyburn.zeros(5, 3, 8), pyburn.zeros(4, 3, 8)).shape)
        (5, 3, 8)
    """

    activation: Callable[[Tensor], Tensor]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation_of(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded sequence, of `tgt`'s shape.

        Args:
            tgt: (T, N, E), with `batch_first` (N, T, E), or (T, E).
            memory: What the encoder gave, (S, N, E) likewise.
            tgt_mask: (T, T) or (N * heads, T, T): where attention within `tgt` is forbidden.
            memory_mask: (T, S) likewise: where attention to `memory` is.
            tgt_key_padding_mask: (N, T): where `tgt` is padding.
            memory_key_padding_mask: (N, S): where `memory` is.
            tgt_is_causal: Says that `tgt_mask` is causal.
            memory_is_causal: Says that `memory_mask` is causal.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            tgt = tgt + self._sa_block(self.norm1(tgt), *own)
            tgt = tgt + self._mha_block(self.norm2(tgt), memory, *other)
            return tgt + self._ff_block(self.norm3(tgt))
        tgt = self.norm1(tgt + self._sa_block(tgt, *own))
        tgt = self.norm2(tgt + self._mha_block(tgt, memory, *other))
        decoded: Tensor = self.norm3(tgt + self._ff_block(tgt))
        return decoded

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended: Tensor = self.dropout1(_attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))
        return attended

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended: Tensor = self.dropout2(_attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))
        return attended

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: A layer that is copied, weights and all.
        num_layers: How often.
        norm: A module for the end.
        enable_nested_tensor: Accepted for torch's sake; padding is computed and ignored.
        mask_check: Accepted for torch's sake.

    Differs from torch:
        In evaluation with a padding mask torch may give zeros at padded positions; here they hold what
        was computed for them.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.TransformerEncoderLayer(8, 2, 16)
        >>> tuple(pyburn.nn.TransformerEncoder(layer, 2)(pyburn.zeros(5, 3, 8)).shape)
        (5, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The encoded sequence, of the input's shape.

        Args:
            src: (L, N, E), with `batch_first` (N, L, E), or (L, E).
            mask: (L, L) or (N * heads, L, L): True, or minus infinity, where attention is forbidden.
            src_key_padding_mask: (N, L): True, or minus infinity, where a position is padding.
            is_causal: Says that `mask` is causal; worked out when left out.
        """
        padding = None if src_key_padding_mask is None else _additive(src_key_padding_mask, src)
        mask = None if mask is None else _additive(mask, src)
        batch_first = bool(getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False))
        causal = _is_causal(mask, is_causal, _length(src, batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Args:
        decoder_layer: A layer that is copied, weights and all.
        num_layers: How often.
        norm: A module for the end.

    Example:
        >>> import pyburn
        >>> decoder = pyburn.nn.TransformerDecoder(pyburn.nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> tuple(decoder(pyburn.zeros(5, 3, 8), pyburn.zeros(4, 3, 8)).shape)
        (5, 3, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded sequence, of `tgt`'s shape; the arguments are those of the layer."""
        batch_first = bool(getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False))
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    Args:
        d_model: The size E of inputs and results.
        nhead: How many heads.
        num_encoder_layers: How many encoder layers.
        num_decoder_layers: How many decoder layers.
        dim_feedforward: The width of the feedforward networks.
        dropout: The probability of being dropped.
        activation: "relu", "gelu" or a function of one tensor.
        custom_encoder: Another encoder.
        custom_decoder: Another decoder.
        layer_norm_eps: Added to the variance by the norms.
        batch_first: Whether inputs are (N, L, E) instead of (L, N, E).
        norm_first: Whether each norm comes before its part instead of after the residual.
        bias: Whether linear maps and norms have biases.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> model = pyburn.nn.Transformer(8, 2, 1, 1, 16)
        >>> tuple(model(pyburn.zeros(4, 3, 8), pyburn.zeros(5, 3, 8)).shape)
        (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*layer, **made)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*layer, **made)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded sequence, of `tgt`'s shape; the masks are those of encoder and decoder.

        Raises:
            RuntimeError: The batches differ, or the features are not `d_model`.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        decoded: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return decoded

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz): 0 on and below the diagonal, minus infinity above.

        Example:
            >>> import pyburn
            >>> pyburn.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)
