"""The steps of recurrent layers: from one step's input and the state to the next state."""

from __future__ import annotations

import inspect
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import activations, constraints, initializers, regularizers
from pyburn.keras import config as settings
from pyburn.keras.layer import Layer
from pyburn.keras.layers.core import last_size
from pyburn.nn import functional

__all__ = ["GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells"]


class Cell(Layer):
    """What the cells share: kernel (inputs, gates * units), recurrent kernel (units, gates * units), bias."""

    _gates = 1

    def _setup(self, units: int, use_bias: bool, kernel: Any, recurrent: Any, bias: Any, drops: Any, seed: Any) -> None:
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"{type(self).__name__}: units is {units!r}, but must be a positive whole number")
        self.units, self.use_bias = units, use_bias
        for word, (first, loss, limit) in (("kernel", kernel), ("recurrent", recurrent), ("bias", bias)):
            setattr(self, f"{word}_initializer", initializers.get(first))
            setattr(self, f"{word}_regularizer", regularizers.get(loss))
            setattr(self, f"{word}_constraint", constraints.get(limit))
        self.dropout, self.recurrent_dropout = (min(1.0, max(0.0, each)) for each in drops)
        self.seed = seed
        self.state_size: Any = units
        self.output_size = units
        self._masks: dict[str, Tensor] = {}

    def _add(self, shape: Any, word: str, name: str, initializer: Any = None) -> Any:
        return self.add_weight(
            shape,
            initializer or getattr(self, f"{word}_initializer"),
            regularizer=getattr(self, f"{word}_regularizer"),
            constraint=getattr(self, f"{word}_constraint"),
            name=name,
        )

    def _bias_shape(self) -> tuple[int, ...]:
        return (self._gates * self.units,)

    def _first_bias(self) -> Any:
        return None

    def build(self, input_shape: Any) -> None:
        wide = self._gates * self.units
        self.kernel = self._add((last_size(self, input_shape), wide), "kernel", "kernel")
        self.recurrent_kernel = self._add((self.units, wide), "recurrent", "recurrent_kernel")
        if self.use_bias:
            self.bias = self._add(self._bias_shape(), "bias", "bias", self._first_bias())
        else:
            self.bias = None

    def get_initial_state(self, batch_size: int, like: Tensor | None = None) -> list[Tensor]:
        """Zeros for a batch."""
        sizes = [self.state_size] if isinstance(self.state_size, int) else self.state_size
        place: dict[str, Any] = {} if like is None else {"dtype": like.dtype, "device": like.device}
        return [ops.zeros(batch_size, size, **place) for size in sizes]

    def forget_masks(self) -> None:
        """Nothing; the next sequence drops other numbers."""
        self._masks = {}

    def _dropped(self, x: Tensor, which: str, rate: float, training: bool | None) -> Tensor:
        """`x` with the same numbers dropped at each step of a sequence."""
        if not training or not rate:
            return x
        if which not in self._masks:
            self._masks[which] = functional.dropout(ops.ones_like(x.detach()), rate, True)
        return x * self._masks[which]


class SimpleRNNCell(Cell):
    """`activation(x @ kernel + h @ recurrent_kernel + bias)`."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._setup(
            units,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (recurrent_initializer, recurrent_regularizer, recurrent_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            (dropout, recurrent_dropout),
            seed,
        )
        self.activation = activations.get(activation)

    def call(self, sequence: Any, states: Any, training: bool | None = None) -> Any:
        before = states[0] if isinstance(states, (list, tuple)) else states
        x = self._dropped(sequence, "input", self.dropout, training) @ self.kernel
        x = x if self.bias is None else x + self.bias
        x = x + self._dropped(before, "state", self.recurrent_dropout, training) @ self.recurrent_kernel
        output = self.activation(x)
        return output, [output]


class LSTMCell(Cell):
    """The step of an LSTM; gates in Keras's order: input, forget, cell, output."""

    _gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._setup(
            units,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (recurrent_initializer, recurrent_regularizer, recurrent_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            (dropout, recurrent_dropout),
            seed,
        )
        self.activation, self.recurrent_activation = activations.get(activation), activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [units, units]

    def _first_bias(self) -> Any:
        if not self.unit_forget_bias:
            return None
        first, units = self.bias_initializer, self.units

        def values(shape: Any, dtype: Any = None) -> Tensor:
            parts = [
                first((units,), dtype=dtype),
                initializers.Ones()((units,), dtype),
                first((2 * units,), dtype=dtype),
            ]
            return ops.cat(parts)

        return values

    def call(self, sequence: Any, states: Any, training: bool | None = None) -> Any:
        hidden, cell = states
        x = self._dropped(sequence, "input", self.dropout, training) @ self.kernel
        x = x + self._dropped(hidden, "state", self.recurrent_dropout, training) @ self.recurrent_kernel
        x = x if self.bias is None else x + self.bias
        i, f, c, o = x.chunk(4, -1)
        cell = self.recurrent_activation(f) * cell + self.recurrent_activation(i) * self.activation(c)
        hidden = self.recurrent_activation(o) * self.activation(cell)
        return hidden, [hidden, cell]


class GRUCell(Cell):
    """The step of a GRU; gates in Keras's order: update, reset, candidate."""

    _gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._setup(
            units,
            use_bias,
            (kernel_initializer, kernel_regularizer, kernel_constraint),
            (recurrent_initializer, recurrent_regularizer, recurrent_constraint),
            (bias_initializer, bias_regularizer, bias_constraint),
            (dropout, recurrent_dropout),
            seed,
        )
        self.activation, self.recurrent_activation = activations.get(activation), activations.get(recurrent_activation)
        self.reset_after = reset_after

    def _bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, sequence: Any, states: Any, training: bool | None = None) -> Any:
        before = states[0] if isinstance(states, (list, tuple)) else states
        own, other = (None, None) if self.bias is None else (self.bias, None)
        if self.bias is not None and self.reset_after:
            own, other = self.bias[0], self.bias[1]
        x = self._dropped(sequence, "input", self.dropout, training) @ self.kernel
        x = x if own is None else x + own
        given = self._dropped(before, "state", self.recurrent_dropout, training)
        xz, xr, xh = x.chunk(3, -1)
        if self.reset_after:
            inner = given @ self.recurrent_kernel
            inner = inner if other is None else inner + other
            hz, hr, hh = inner.chunk(3, -1)
            z, r = self.recurrent_activation(xz + hz), self.recurrent_activation(xr + hr)
            candidate = self.activation(xh + r * hh)
        else:
            kz, kr, kh = self.recurrent_kernel.chunk(3, -1)
            z, r = self.recurrent_activation(xz + given @ kz), self.recurrent_activation(xr + given @ kr)
            candidate = self.activation(xh + (r * given) @ kh)
        output = z * before + (1 - z) * candidate
        return output, [output]


def first_state(cell: Any, sequences: Tensor) -> Any:
    """The states that a cell begins with: its own, or zeros in the sizes that it names."""
    if hasattr(cell, "get_initial_state"):
        known = "like" in inspect.signature(cell.get_initial_state).parameters  # a cell of ours
        return cell.get_initial_state(batch_size=sequences.shape[0], **({"like": sequences} if known else {}))
    kind = sequences.dtype if sequences.is_floating_point() else settings.as_dtype(cell.compute_dtype)
    sizes = cell.state_size if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]
    shapes = [[size] if isinstance(size, int) else list(size) for size in sizes]
    return [ops.zeros(sequences.shape[0], *shape, dtype=kind, device=sequences.device) for shape in shapes]


def _output_size(cell: Any) -> int:
    """What a cell says of its output, or the size of its first state."""
    first = cell.state_size[0] if isinstance(cell.state_size, (list, tuple)) else cell.state_size
    return int(getattr(cell, "output_size", None) or first)


class StackedRNNCells(Layer):
    """Several cells as one, each fed by the one before.

    Args:
        cells: The cells.
        **kwargs: See `Layer`.
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """The sizes of the cells' states."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> int:
        """The size of the last cell's output."""
        return _output_size(self.cells[-1])

    def get_initial_state(self, batch_size: int, like: Tensor | None = None) -> list[Any]:
        """Zeros for a batch, cell by cell."""
        if like is None:
            return [cell.get_initial_state(batch_size) for cell in self.cells]
        return [first_state(cell, like) for cell in self.cells]

    def forget_masks(self) -> None:
        """Nothing; the next sequence drops other numbers."""
        for cell in self.cells:
            if hasattr(cell, "forget_masks"):
                cell.forget_masks()

    def build(self, input_shape: Any) -> None:
        for cell in self.cells:
            if not cell.built:
                cell.build(input_shape)
            input_shape = (*input_shape[:-1], _output_size(cell))

    def call(self, inputs: Any, states: Any, training: bool | None = None) -> Any:
        made = []
        for cell, state in zip(self.cells, states, strict=True):
            state = [state] if isinstance(state, Tensor) else state
            inputs, state = cell(inputs, state, training=training)
            made.append(state)
        return inputs, made

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        from pyburn.keras._registry import deserialize_keras_object

        return cls(**{**config, "cells": deserialize_keras_object(config["cells"], None, "layers")})
