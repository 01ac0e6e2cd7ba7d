"""Recurrent layers over sequences, and layers around them."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import activations
from pyburn.keras._naming import snake_case
from pyburn.keras._registry import deserialize_keras_object, serialize_keras_object
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers.cells import Cell, GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells, first_state
from pyburn.keras.layers.core import Wrapper
from pyburn.keras.symbolic import flatten, map_structure
from pyburn.nn import native

__all__ = ["GRU", "LSTM", "RNN", "Bidirectional", "SimpleRNN", "TimeDistributed"]


class RNN(Layer):
    """A cell run along a sequence (batch, steps, features).

    Args:
        cell: The cell, or a list of them.
        return_sequences: Whether every step's output is given, not only the last.
        return_state: Whether the last states are given too.
        go_backwards: Whether the sequence is run from its end.
        stateful: Whether the next batch goes on where this one ended.
        unroll: Accepted for Keras's sake.
        zero_output_for_mask: Whether the outputs of masked steps are 0, not those of the step before.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("use_cudnn", None)
        kwargs.pop("implementation", None)
        super().__init__(**kwargs)
        self.cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.zero_output_for_mask = stateful, unroll, zero_output_for_mask
        self.supports_masking = True
        self.input_spec = InputSpec(ndim=3)
        self.states: Any = None

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        if not self.cell.built:
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))
            self.cell.built = True

    def reset_states(self) -> None:
        """Nothing; a stateful layer begins anew."""
        self.states = None

    reset_state = reset_states

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool | None = None) -> Any:
        if isinstance(mask, (list, tuple)):
            mask = mask[0]
        state = initial_state if initial_state is not None else self.states if self.stateful else None
        if state is None:
            state = first_state(self.cell, sequences)
        state = [state] if isinstance(state, Tensor) else list(state)
        outputs, last, states = self._run(sequences, state, mask, training)
        # A trial call, which only finds out shapes, leaves no state.
        if self.stateful and not sequences.is_meta:
            self.states = map_structure(lambda each: each.detach(), states)
        found = outputs if self.return_sequences else last
        return [found, *_unwrapped(states)] if self.return_state else found

    def _run(self, x: Tensor, state: list[Any], mask: Any, training: bool | None) -> tuple[Any, Any, list[Any]]:
        """Every step's output (or None where only the last is wanted), the last one, and the last states."""
        if hasattr(self.cell, "forget_masks"):
            self.cell.forget_masks()
        order = range(x.shape[1] - 1, -1, -1) if self.go_backwards else range(x.shape[1])
        outputs: list[Tensor] = []
        output: Any = None
        for place in order:
            new, moved = self.cell(x[:, place], state, training=training)
            if mask is not None:
                keep = mask[:, place].reshape(-1, *[1] * (new.dim() - 1))
                before = output if output is not None and not self.zero_output_for_mask else ops.zeros_like(new)
                shown = ops.where(keep, new, before)
                moved = _where(keep, moved, state)
                output = ops.where(keep, new, output if output is not None else ops.zeros_like(new))
                outputs.append(shown)
            else:
                output = new
                outputs.append(new)
            state = list(moved) if isinstance(moved, (list, tuple)) else [moved]
        return ops.stack(outputs, 1) if self.return_sequences else None, output, state

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        mask = previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask
        first = mask if self.return_sequences else None
        return [first, *[None] * len(flatten(self.cell.state_size))] if self.return_state else first

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        if "cell" in config:
            config = {**config, "cell": deserialize_keras_object(config["cell"], None, "layers")}
        return cls(**config)


def _unwrapped(states: list[Any]) -> list[Any]:
    """The states as Keras gives them: those of several cells in lists, but for cells that have only one."""
    return [each[0] if isinstance(each, (list, tuple)) and len(each) == 1 else each for each in states]


def _where(keep: Tensor, new: Any, old: Any) -> Any:
    if isinstance(new, (list, tuple)):
        return [_where(keep, a, b) for a, b in zip(new, old, strict=True)]
    return ops.where(keep, new, old)


class OfCell(RNN):
    """A recurrent layer that makes its cell out of its own arguments."""

    _cell: Any = Cell
    _cell_names: tuple[str, ...] = ()

    def __init__(self, units: int, **kwargs: Any) -> None:
        cell_only = {name: kwargs.pop(name) for name in self._cell_names if name in kwargs}
        policy = {"dtype": kwargs.get("dtype"), "trainable": kwargs.get("trainable", True)}
        policy["name"] = snake_case(self._cell.__name__)
        super().__init__(self._cell(units, **cell_only, **policy), **kwargs)

    def __getattr__(self, name: str) -> Any:
        # Keras's recurrent layers show the settings of their cells as their own.
        if name in type(self)._cell_names or name == "units":
            return getattr(super().__getattr__("cell"), name)
        return super().__getattr__(name)

    def get_config(self) -> dict[str, Any]:
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask")
        config = Layer.get_config(self)
        config.pop("kwargs", None)
        config |= {name: getattr(self, name) for name in names}
        return config | {
            name: serialize_keras_object(getattr(self.cell, name)) for name in ("units", *self._cell_names)
        }

    def extra_repr(self) -> str:
        """The units and the name."""
        more = "".join(f", {name}=True" for name in ("return_sequences", "return_state") if getattr(self, name))
        return f"{self.cell.units}{more}, name={self.name!r}"

    def _fast(self, mask: Any, training: bool | None) -> bool:
        """Whether the engine's own recurrence computes the same."""
        cell = self.cell
        drops = training and (cell.dropout or cell.recurrent_dropout)
        return mask is None and not drops and cell.activation is activations.tanh


_SHARED = (
    "use_bias",
    "kernel_initializer",
    "recurrent_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "recurrent_regularizer",
    "bias_regularizer",
    "kernel_constraint",
    "recurrent_constraint",
    "bias_constraint",
    "dropout",
    "recurrent_dropout",
    "seed",
)


def _positional(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(names, args, strict=False)), **kwargs}


class SimpleRNN(OfCell):
    """The plain recurrent layer: `activation(x @ kernel + h @ recurrent_kernel + bias)` at each step.

    Args:
        units: The size of the state.
        *args: Keras's further arguments in their order, from `activation` on.
        **kwargs: Arguments of `SimpleRNNCell` and of `RNN`.
    """

    _cell = SimpleRNNCell
    _cell_names = ("activation", *_SHARED)

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, **_positional(("activation", "use_bias"), args, kwargs))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("seed", None)
        return config


class LSTM(OfCell):
    """A long short-term memory; gates in Keras's order: input, forget, cell, output.

    Args:
        units: The size of the state.
        *args: Keras's further arguments in their order, from `activation` on.
        **kwargs: Arguments of `LSTMCell` and of `RNN`.

    Example:
        >>> import pyburn
        >>> LSTM(4, return_sequences=True)(pyburn.zeros(2, 5, 3)).shape
        pyburn.Size([2, 5, 4])
    """

    _cell = LSTMCell
    _cell_names = ("activation", "recurrent_activation", "unit_forget_bias", *_SHARED)

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, **_positional(("activation", "recurrent_activation", "use_bias"), args, kwargs))

    def _run(self, x: Tensor, state: list[Any], mask: Any, training: bool | None) -> tuple[Any, Any, list[Any]]:
        cell = self.cell
        if not self._fast(mask, training) or cell.recurrent_activation is not activations.sigmoid:
            return super()._run(x, state, mask, training)
        x = x.flip(1) if self.go_backwards else x
        weights = [cell.kernel.T, cell.recurrent_kernel.T]
        if cell.bias is not None:
            weights += [cell.bias, ops.zeros_like(cell.bias)]
        start = (state[0].unsqueeze(0), state[1].unsqueeze(0))
        outputs, hidden, memory = native.lstm(
            x, start, weights, cell.bias is not None, 1, 0.0, bool(training), False, True
        )
        return outputs, outputs[:, -1], [hidden[0], memory[0]]


class GRU(OfCell):
    """A gated recurrent unit; gates in Keras's order: update, reset, candidate.

    Args:
        units: The size of the state.
        *args: Keras's further arguments in their order, from `activation` on.
        **kwargs: Arguments of `GRUCell` and of `RNN`.
    """

    _cell = GRUCell
    _cell_names = ("activation", "recurrent_activation", "reset_after", *_SHARED)

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, **_positional(("activation", "recurrent_activation", "use_bias"), args, kwargs))

    def _run(self, x: Tensor, state: list[Any], mask: Any, training: bool | None) -> tuple[Any, Any, list[Any]]:
        cell = self.cell
        fast = self._fast(mask, training) and cell.recurrent_activation is activations.sigmoid and cell.reset_after
        if not fast:
            return super()._run(x, state, mask, training)
        x = x.flip(1) if self.go_backwards else x
        weights = [_swapped(cell.kernel).T, _swapped(cell.recurrent_kernel).T]
        if cell.bias is not None:
            weights += [_swapped(cell.bias[0]), _swapped(cell.bias[1])]
        outputs, hidden = native.gru(
            x, state[0].unsqueeze(0), weights, cell.bias is not None, 1, 0.0, bool(training), False, True
        )
        return outputs, outputs[:, -1], [hidden[0]]


def _swapped(weight: Tensor) -> Tensor:
    """Keras's gates (update, reset, candidate) in the engine's order (reset, update, candidate)."""
    z, r, h = weight.chunk(3, -1)
    return ops.cat([r, z, h], -1)


class TimeDistributed(Wrapper):
    """A layer applied to each step of a sequence.

    Args:
        layer: The layer.
        **kwargs: See `Layer`.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any = None) -> None:
        super().build((input_shape[0], *input_shape[2:]))
        self.input_spec = InputSpec(min_ndim=3)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        batch, steps = inputs.shape[:2]
        x = self.layer(inputs.reshape(batch * steps, *inputs.shape[2:]), training=training)
        return x.reshape(batch, steps, *x.shape[1:])


class Bidirectional(Layer):
    """A recurrent layer run in both directions.

    Args:
        layer: The recurrent layer.
        merge_mode: "concat", "sum", "mul", "ave", or None for both outputs.
        weights: First values of the weights.
        backward_layer: The layer that runs from the end; without it, one like `layer`.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(f"Bidirectional: merge_mode is {merge_mode!r}, but must be sum, mul, ave, concat or None")
        if not isinstance(layer, Layer):
            raise ValueError(f"Bidirectional: layer is a {type(layer).__name__}, but must be a recurrent layer")
        config = serialize_keras_object(layer)
        self.forward_layer = deserialize_keras_object(config)
        if backward_layer is None:
            back = {**config["config"], "go_backwards": not layer.go_backwards, "name": f"backward_{layer.name}"}
            self.backward_layer = deserialize_keras_object({**config, "config": back})
        else:
            self.backward_layer = backward_layer
        self.forward_layer.name = f"forward_{layer.name.removeprefix('forward_')}"
        self.backward_layer.name = (
            f"backward_{layer.name.removeprefix('forward_')}" if backward_layer is None else (backward_layer.name)
        )
        if self.forward_layer.go_backwards == self.backward_layer.go_backwards:
            raise ValueError("Bidirectional: both layers run in the same direction; give one of them go_backwards=True")
        self.merge_mode, self._first_values = merge_mode, weights
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.stateful = layer.stateful
        self.supports_masking = True
        self.input_spec = layer.input_spec

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(sequences_shape)
        if self._first_values is not None:
            self.set_weights(self._first_values)

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool | None = None) -> Any:
        first = second = None
        if initial_state is not None:
            half = len(initial_state) // 2
            first, second = initial_state[:half], initial_state[half:]
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        one = self.forward_layer(sequences, initial_state=first, mask=mask, training=training)
        two = self.backward_layer(sequences, initial_state=second, mask=mask, training=training)
        states: list[Any] = []
        if self.return_state:
            states = [*one[1:], *two[1:]]
            one, two = one[0], two[0]
        if self.return_sequences:
            two = two.flip(1)
        found = self._merged(one, two)
        if not self.return_state:
            return found
        return [*found, *states] if isinstance(found, (list, tuple)) else [found, *states]

    def _merged(self, one: Tensor, two: Tensor) -> Any:
        if self.merge_mode == "concat":
            return ops.cat([one, two], -1)
        if self.merge_mode == "sum":
            return one + two
        if self.merge_mode == "ave":
            return (one + two) / 2
        return one * two if self.merge_mode == "mul" else (one, two)

    def reset_states(self) -> None:
        """Nothing; stateful layers begin anew."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        mask = previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask
        return mask if self.return_sequences and not self.return_state else None

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("weights", None)
        config["layer"] = serialize_keras_object(self.forward_layer)
        config["backward_layer"] = serialize_keras_object(self.backward_layer)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        config = dict(config)
        config["layer"] = deserialize_keras_object(config["layer"], None, "layers")
        if config.get("backward_layer") is not None:
            config["backward_layer"] = deserialize_keras_object(config["backward_layer"], None, "layers")
        return cls(**config)

    def extra_repr(self) -> str:
        """How both are merged, and the name."""
        return f"merge_mode={self.merge_mode!r}, name={self.name!r}"
