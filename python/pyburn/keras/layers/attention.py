"""Attention: which parts of a sequence matter to which."""

from __future__ import annotations

import math
from typing import Any

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.keras import constraints, initializers, regularizers
from pyburn.keras.layer import Layer
from pyburn.keras.layers.core import EinsumDense
from pyburn.nn import functional

__all__ = ["AdditiveAttention", "Attention", "GroupQueryAttention", "GroupedQueryAttention", "MultiHeadAttention"]

_FAR = -3e4


class Attention(Layer):
    """Sums of values, weighted by how well their keys fit the queries (Luong's).

    Args:
        use_scale: Whether the scores are multiplied by a learned number.
        score_mode: "dot", or "concat" for the sums of tanh.
        dropout: The share of weights that is dropped while it trains.
        seed: Accepted for Keras's sake.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"Attention: score_mode is {score_mode!r}, but must be 'dot' or 'concat'")
        self.use_scale, self.score_mode, self.dropout, self.seed = use_scale, score_mode, dropout, seed
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list) or len(input_shape) not in (2, 3):
            raise ValueError(f"{self.name} takes a list [query, value] or [query, value, key], but got {input_shape}")
        self.scale = self.add_weight((), "ones", name="scale") if self.use_scale else None
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")
        else:
            self.concat_score_weight = None

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score_mode == "dot":
            scores = query @ key.transpose(1, 2)
            return scores if self.scale is None else scores * self.scale
        total = query.unsqueeze(-2) + key.unsqueeze(-3)
        inner = total if self.scale is None else self.scale * total
        found: Tensor = self.concat_score_weight * ops.tanh(inner).sum(-1)
        return found

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._scores(query, key)
        allowed = _causal(scores) if use_causal_mask else None
        value_mask = mask[1] if isinstance(mask, (list, tuple)) and len(mask) > 1 else None
        if value_mask is not None:
            given = value_mask.bool().unsqueeze(-2)
            allowed = given if allowed is None else allowed & given
        if allowed is not None:
            scores = scores + (~allowed).to(scores.dtype) * -1e9
        weights = functional.softmax(scores, -1)
        if training and self.dropout > 0:
            weights = functional.dropout(weights, self.dropout, True)
        found = weights @ value
        query_mask = mask[0] if isinstance(mask, (list, tuple)) and mask else None
        if query_mask is not None:
            found = found * query_mask.unsqueeze(-1).to(found.dtype)
        return (found, weights) if return_attention_scores else found

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return previous_mask[0] if isinstance(previous_mask, (list, tuple)) else None


class AdditiveAttention(Attention):
    """Attention whose scores are sums of `tanh(query + key)` (Bahdanau's).

    Args:
        use_scale: Whether the tanh is weighted by learned numbers.
        dropout: The share of weights that is dropped while it trains.
        **kwargs: See `Layer`.
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        size = input_shape[0][-1]
        self.scale = self.add_weight((size,), "glorot_uniform", name="scale") if self.use_scale else None

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        total = ops.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))
        return (total if self.scale is None else self.scale * total).sum(-1)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"seed": self.seed}


def _causal(scores: Tensor) -> Tensor:
    rows, columns = scores.shape[-2:]
    return ops.tril(ops.ones(rows, columns, device=scores.device)).bool()


class _Heads(Layer):
    """What attentions of several heads share."""

    def _common(self, kernel: Any, bias: Any, dropout: float, use_bias: bool, seed: Any) -> None:
        self.kernel_initializer, self.kernel_regularizer = initializers.get(kernel[0]), regularizers.get(kernel[1])
        self.kernel_constraint = constraints.get(kernel[2])
        self.bias_initializer, self.bias_regularizer = initializers.get(bias[0]), regularizers.get(bias[1])
        self.bias_constraint = constraints.get(bias[2])
        self.dropout, self.use_bias, self.seed = dropout, use_bias, seed
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("flash_attention", None)
        return config

    def _dense(self, equation: str, shape: Any, bias_axes: str, name: str) -> EinsumDense:
        return EinsumDense(
            equation,
            shape,
            bias_axes=bias_axes if self.use_bias else None,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            dtype=self.dtype_policy,
            name=name,
        )

    def _allowed(self, query: Tensor, value: Tensor, masks: dict[str, Any], given: Any, causal: bool) -> Any:
        """Which query may look at which value: (batch, queries, values), or None for all."""
        found = None if given is None else given.bool()
        for mask, axis in ((masks["query"], -1), (masks["value"], -2), (masks["key"], -2)):
            if mask is not None:
                own = mask.bool().unsqueeze(axis)
                found = own if found is None else found & own
        if causal:
            own = ops.tril(ops.ones(query.shape[1], value.shape[1], device=query.device)).bool().unsqueeze(0)
            found = own if found is None else found & own
        return found


class MultiHeadAttention(_Heads):
    """Attention of several heads (query, value, and key, which is the value when left out).

    Args:
        num_heads: The number of heads.
        key_dim: The size of queries and keys of each head.
        value_dim: The size of values of each head; `key_dim` when left out.
        dropout: The share of weights that is dropped while it trains.
        use_bias: Whether the projections have biases.
        output_shape: The size of the result; the query's when left out.
        attention_axes: The axes along which attention goes; all but the first and last when left out.
        sliding_window: Not there: raises when given.
        flash_attention: Accepted for Keras's sake.
        kernel_initializer: The first values of the kernels.
        bias_initializer: The first values of the biases.
        kernel_regularizer: A loss of the kernels.
        bias_regularizer: A loss of the biases.
        activity_regularizer: A loss of the result.
        kernel_constraint: What the kernels must keep to.
        bias_constraint: What the biases must keep to.
        use_gate: Not there: raises when given.
        seed: Accepted for Keras's sake.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> x = pyburn.zeros(2, 5, 8)
        >>> MultiHeadAttention(num_heads=2, key_dim=4)(x, x).shape
        pyburn.Size([2, 5, 8])
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: Any = None,
        attention_axes: Any = None,
        sliding_window: int | None = None,
        flash_attention: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        _not_there("MultiHeadAttention", sliding_window, use_gate)
        for name, number in (("num_heads", num_heads), ("key_dim", key_dim)):
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"MultiHeadAttention: {name} is {number!r}, but must be a positive whole number")
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim or key_dim
        self.output_shape = (output_shape,) if isinstance(output_shape, int) else output_shape
        self.attention_axes = (attention_axes,) if isinstance(attention_axes, int) else attention_axes
        self.sliding_window, self.use_gate = sliding_window, use_gate
        self._common(
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            dropout,
            use_bias,
            seed,
        )

    def build(  # type: ignore[override]
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> None:
        if value_shape is None:
            raise ValueError(
                f"{self.name} (MultiHeadAttention) needs a query and a value, but got the query alone; for attention "
                "of a sequence to itself call layer(x, x)"
            )
        key_shape = key_shape or value_shape
        if len(query_shape) != 3 or len(value_shape) != 3:
            raise NotImplementedError(
                f"{self.name} (MultiHeadAttention) takes inputs (batch, steps, features), but got {query_shape} and "
                f"{value_shape}; reshape the other axes into steps"
            )
        if key_shape[1] != value_shape[1] and None not in (key_shape[1], value_shape[1]):
            raise ShapeError(
                f"{self.name} (MultiHeadAttention): keys {tuple(key_shape)} and values {tuple(value_shape)} must have "
                "the "
                "same number of steps"
            )
        self.attention_axes = self.attention_axes or (1,)
        heads, key, value = self.num_heads, self.key_dim, self.value_dim
        self._query_dense = self._dense("abc,cde->abde", (None, heads, key), "de", "query")
        self._key_dense = self._dense("abc,cde->abde", (None, heads, key), "de", "key")
        self._value_dense = self._dense("abc,cde->abde", (None, heads, value), "de", "value")
        out = query_shape[-1] if self.output_shape is None else self.output_shape
        out = tuple(out)[-1] if isinstance(out, (tuple, list)) else out
        self._output_dense = self._dense("abcd,cde->abe", (None, out), "e", "attention_output")
        self._query_dense.build(query_shape)
        self._key_dense.build(key_shape)
        self._value_dense.build(value_shape)
        self._output_dense.build((query_shape[0], query_shape[1], heads, value))

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        key = value if key is None else key
        masks = {"query": query_mask, "value": value_mask, "key": key_mask}
        allowed = self._allowed(query, value, masks, attention_mask, use_causal_mask)
        q = self._query_dense(query).transpose(1, 2)  # (B, heads, T, key_dim)
        k = self._key_dense(key).transpose(1, 2)
        v = self._value_dense(value).transpose(1, 2)
        scores = (q / math.sqrt(self.key_dim)) @ k.transpose(-1, -2)
        weights = _masked_softmax(scores, allowed)
        used = functional.dropout(weights, self.dropout, True) if training and self.dropout > 0 else weights
        found = self._output_dense((used @ v).transpose(1, 2))
        return (found, weights) if return_attention_scores else found

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return previous_mask if isinstance(previous_mask, Tensor) else None


def _masked_softmax(scores: Tensor, allowed: Any) -> Tensor:
    if allowed is None:
        return functional.softmax(scores, -1)
    allowed = allowed if allowed.dim() == scores.dim() else allowed.unsqueeze(1)
    masked = ops.where(allowed, scores, ops.full_like(scores, _FAR))
    found: Tensor = functional.softmax(masked, -1) * allowed.to(scores.dtype)
    return found


def _not_there(name: str, sliding_window: Any, use_gate: bool) -> None:
    if sliding_window is not None or use_gate:
        raise NotImplementedError(f"{name}: sliding_window and use_gate are not there; give an attention_mask instead")


class GroupedQueryAttention(_Heads):
    """Attention whose queries share keys and values in groups.

    Args:
        head_dim: The size of each head.
        num_query_heads: The number of queries' heads.
        num_key_value_heads: The number of keys' and values' heads, which divides the one before.
        dropout: The share of weights that is dropped while it trains.
        use_bias: Whether the projections have biases.
        sliding_window: Not there: raises when given.
        flash_attention: Accepted for Keras's sake.
        kernel_initializer: The first values of the kernels.
        bias_initializer: The first values of the biases.
        kernel_regularizer: A loss of the kernels.
        bias_regularizer: A loss of the biases.
        activity_regularizer: A loss of the result.
        kernel_constraint: What the kernels must keep to.
        bias_constraint: What the biases must keep to.
        use_gate: Not there: raises when given.
        seed: Accepted for Keras's sake.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        _not_there("GroupQueryAttention", sliding_window, use_gate)
        if num_query_heads % num_key_value_heads:
            raise ValueError(
                f"GroupQueryAttention: num_query_heads={num_query_heads} must be a multiple of "
                f"num_key_value_heads={num_key_value_heads}"
            )
        self.head_dim, self.num_query_heads, self.num_key_value_heads = head_dim, num_query_heads, num_key_value_heads
        self.sliding_window, self.use_gate = sliding_window, use_gate
        self._common(
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            dropout,
            use_bias,
            seed,
        )

    def build(  # type: ignore[override]
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> None:
        key_shape = key_shape or value_shape
        many, few, size = self.num_query_heads, self.num_key_value_heads, self.head_dim
        self._query_dense = self._dense("bqm,muh->bquh", (None, many, size), "uh", "query")
        self._key_dense = self._dense("bkm,mvh->bkvh", (None, few, size), "vh", "key")
        self._value_dense = self._dense("bkm,mvh->bkvh", (None, few, size), "vh", "value")
        self._output_dense = self._dense("bquh,uhm->bqm", (None, query_shape[-1]), "m", "attention_output")
        self._query_dense.build(query_shape)
        self._key_dense.build(key_shape)
        self._value_dense.build(value_shape)
        self._output_dense.build((query_shape[0], query_shape[1], many, size))

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        key = value if key is None else key
        masks = {"query": query_mask, "value": value_mask, "key": key_mask}
        allowed = self._allowed(query, value, masks, attention_mask, use_causal_mask)
        each = self.num_query_heads // self.num_key_value_heads
        q = self._query_dense(query).transpose(1, 2)
        k = ops.repeat_interleave(self._key_dense(key), each, 2).transpose(1, 2)
        v = ops.repeat_interleave(self._value_dense(value), each, 2).transpose(1, 2)
        weights = _masked_softmax((q / math.sqrt(self.head_dim)) @ k.transpose(-1, -2), allowed)
        used = functional.dropout(weights, self.dropout, True) if training and self.dropout > 0 else weights
        found = self._output_dense((used @ v).transpose(1, 2))
        return (found, weights) if return_attention_scores else found

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return previous_mask if isinstance(previous_mask, Tensor) else None


GroupQueryAttention = GroupedQueryAttention
