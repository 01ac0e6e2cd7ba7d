"""burn's attention to a context of another size, its feedforward network and its masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyburn._core import Tensor, int64
from pyburn._core import bool as bool_dtype
from pyburn.nn.activation import GELU
from pyburn.nn.dropout import Dropout
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.ops import ones, tensor


class PaddingMask(NamedTuple):
    """Padded tokens, and True where they are padding."""

    tensor: Tensor
    mask: Tensor


def generate_autoregressive_mask(batch_size: int, seq_length: int, device: Any = None) -> Tensor:
    """(batch_size, seq_length, seq_length): True where a position would look ahead.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.generate_autoregressive_mask(1, 2)
        tensor([[[False,  True],
                 [False, False]]])
    """
    mask = ones(seq_length, seq_length, dtype=bool_dtype, device=device).triu(1)
    return mask.expand(batch_size, seq_length, seq_length)


def generate_padding_mask(
    pad_token: int,
    tokens_list: Sequence[Sequence[int]],
    max_seq_length: int | None = None,
    fixed_seq_length: int | None = None,
    device: Any = None,
) -> PaddingMask:
    """The token lists as one padded tensor, and True where it is padding.

    Args:
        pad_token: The token that fills up.
        tokens_list: The lists.
        max_seq_length: Longer lists are cut.
        fixed_seq_length: All lists are cut or filled up to this length.
        device: Where the results are.

    Example:
        >>> import pyburn
        >>> pyburn.nn.burn.generate_padding_mask(0, [[3, 4], [5]]).mask
        tensor([[False, False],
                [False,  True]])
    """
    longest = max((len(tokens) for tokens in tokens_list), default=1)
    size = longest if max_seq_length is None else min(longest, max_seq_length)
    size = size if fixed_seq_length is None else fixed_seq_length
    rows = [[*tokens[:size], *[pad_token] * (size - len(tokens))] for tokens in tokens_list]
    made = tensor(rows, dtype=int64, device=device).reshape(len(rows), size)
    return PaddingMask(made, made == pad_token)


class PositionWiseFeedForward(Module):
    """Two linear maps with an activation between, at each position.

    Args:
        d_model: The size of input and output.
        d_ff: The size between.
        dropout: The probability of being dropped between.
        activation: The activation; GELU when left out.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.burn.PositionWiseFeedForward(4, 8)(pyburn.zeros(2, 3, 4)).shape)
        (2, 3, 4)
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: Module | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.linear_inner = Linear(d_model, d_ff, device=device, dtype=dtype)
        self.linear_outer = Linear(d_ff, d_model, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.activation = GELU() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:
        """The input's shape."""
        result: Tensor = self.linear_outer(self.dropout(self.activation(self.linear_inner(input))))
        return result


class CrossAttention(Module):
    """Attention to a context of another size, in which several query heads may share keys and values.

    Args:
        d_model: The size of queries and results.
        d_context: The size of the context's vectors.
        n_heads: How many heads.
        n_heads_kv: How many heads of keys and values; it must divide `n_heads`.
        d_head: The size of one head.
        dropout: The probability with which an attention weight is dropped in training.
        min_float: What hidden scores are set to.
        quiet_softmax: Whether a head may attend to nothing: 1 is added to the sum of exponentials.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.burn.CrossAttention(8, 6, 4, 2, 2)
        >>> tuple(layer(pyburn.zeros(1, 3, 8), pyburn.zeros(1, 5, 6)).shape)
        (1, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        d_context: int,
        n_heads: int,
        n_heads_kv: int,
        d_head: int,
        dropout: float = 0.1,
        min_float: float = -1.0e4,
        quiet_softmax: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if n_heads_kv <= 0 or n_heads % n_heads_kv:
            raise ValueError(f"CrossAttention: n_heads_kv {n_heads_kv} must divide n_heads {n_heads}.")
        self.n_heads, self.n_heads_kv, self.d_head = n_heads, n_heads_kv, d_head
        self.min_float, self.quiet_softmax = min_float, quiet_softmax
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.query = Linear(d_model, n_heads * d_head, **made)
        self.key = Linear(d_context, n_heads_kv * d_head, **made)
        self.value = Linear(d_context, n_heads_kv * d_head, **made)
        self.output = Linear(n_heads * d_head, d_model, **made)
        self.dropout = Dropout(dropout)

    def forward(self, query: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        """(N, L, d_model).

        Args:
            query: (N, L, d_model).
            context: (N, S, d_context).
            mask: (N, S): True where the context is not to be seen.
        """
        q = self._heads(self.query(query), self.n_heads)  # (N, heads, L, D)
        k, v = (self._heads(part(context), self.n_heads_kv) for part in (self.key, self.value))
        shared = self.n_heads // self.n_heads_kv
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        scores = (q @ k.transpose(-2, -1)) * self.d_head**-0.5  # (N, heads, L, S)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1).unsqueeze(1), self.min_float)
        weights = self.dropout(self._softmax(scores))
        gathered = (weights @ v).transpose(1, 2).flatten(2)  # (N, L, heads * D)
        result: Tensor = self.output(gathered)
        return result

    def _heads(self, x: Tensor, heads: int) -> Tensor:
        return x.reshape(*x.shape[:2], heads, self.d_head).transpose(1, 2)

    def _softmax(self, scores: Tensor) -> Tensor:
        if not self.quiet_softmax:
            return scores.softmax(-1)
        highest = scores.detach().amax(-1, keepdim=True).clamp_min(0.0)
        raised = (scores - highest).exp()
        return raised / ((-highest).exp() + raised.sum(-1, keepdim=True))
