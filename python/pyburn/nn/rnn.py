"""Recurrent layers: RNN, LSTM (Hochreiter & Schmidhuber, 1997) and GRU (Cho et al., 2014)."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.nn import init
from pyburn.nn._recurrence import State, run_layers
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.nn.utils.rnn import PackedSequence
from pyburn.ops import empty

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _integer(name: str, value: Any) -> None:
    if not is_integer(value):
        raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"{name} must be greater than zero")


class RNNBase(Module):
    """The weights of all layers and directions, and the walk over them; `mode` says which cell is used.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        num_layers: How many layers stand on each other.
        bias: Whether the layers have biases.
        batch_first: Whether inputs and outputs are (N, T, D) instead of (T, N, D).
        dropout: The probability with which the output of all layers but the last is dropped.
        bidirectional: Whether a second run goes backwards in time.
        proj_size: LSTM only: to how many features the hidden state is projected; 0 for not at all.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> [name for name, _ in pyburn.nn.GRU(2, 3).named_parameters()]
        ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout) if isinstance(dropout, numbers.Number) else dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings()
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_weights(layer, suffix, device, dtype)
        self.reset_parameters()

    def _check_settings(self) -> None:
        p = self.dropout
        if not isinstance(p, float) or isinstance(p, bool) or not 0 <= p <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if p > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={p:g} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(getattr(self, name)).__name__}")
        _integer("input_size", self.input_size)
        _integer("hidden_size", self.hidden_size)
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _add_weights(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        real = self.proj_size or self.hidden_size
        before = self.input_size if layer == 0 else real * (2 if self.bidirectional else 1)
        shapes = {"weight_ih": (rows, before), "weight_hh": (rows, real)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            setattr(self, names[-1], Parameter(empty(shape, device=device, dtype=dtype)))
        self._all_weights.append(names)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing; accepted so that scripts written for cuDNN run."""

    def reset_parameters(self) -> None:
        """Nothing; all weights are drawn anew from within `1 / sqrt(hidden_size)` of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights_at(self, index: int) -> tuple[Any, ...]:
        weights: list[Any] = [getattr(self, name) for name in self._all_weights[index]]
        projection = weights.pop() if self.proj_size else None
        biases = weights[2:] if self.bias else [None, None]
        return (*weights[:2], *biases, projection)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Nothing; raises when `input` does not fit the weights."""
        first = self._flat_weights[0]
        if input.dtype != first.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({first.dtype}). "
                f"Convert input: input.to({first.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, N, features of the hidden state)."""
        count = int(batch_sizes[0]) if batch_sizes is not None else input.shape[0 if self.batch_first else 1]
        return len(self._all_weights), count, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Nothing; raises when the state has another shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Nothing; raises when input or state do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _states(self, hx: Any) -> State:
        """The parts of a state as a tuple."""
        return (hx,)

    def _zero_state(self, shape: tuple[int, int, int], input: Tensor) -> Any:
        return input.detach().new_zeros(shape)

    def _check_unbatched(self, hx: Any, dims: int) -> None:
        if hx.dim() != dims:
            kind = "unbatched 2-D" if dims == 2 else "batched 3-D"
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    def _from_states(self, states: State) -> Any:
        return states[0]

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The hidden state of the last layer at each time, and the last state of every layer.

        Args:
            input: (T, N, D), with `batch_first` (N, T, D), without a batch (T, D), or a PackedSequence.
            hx: The first state, (layers times directions, N, H); zeros when left out. For an LSTM a pair of
                hidden and cell state.

        Returns:
            The outputs in the form of the input, with directions side by side in the last dimension,
            and the last states in the form of `hx`.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = self.mode.partition("_")[0]
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if hx is not None:
            self._check_unbatched(hx, input.dim())
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = None if hx is None else self._map(hx, lambda part: part.unsqueeze(1))
        if hx is None:
            hx = self._zero_state(self.get_expected_hidden_size(input, None), input)
        self.check_forward_args(input, hx, None)
        if self.batch_first:
            input = input.transpose(0, 1)
        steps, count, _ = input.shape
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        data, last = self._run(input.reshape(steps * count, self.input_size), [count] * steps, self._states(hx))
        output = data.reshape(steps, count, data.shape[1])
        output = output.transpose(0, 1) if self.batch_first else output
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            last = tuple(part.squeeze(1) for part in last)
        return output, self._from_states(last)

    def _map(self, hx: Any, function: Any) -> Any:
        return self._from_states(tuple(function(part) for part in self._states(hx)))

    def _forward_packed(self, sequence: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        input, batch_sizes, sorted_indices, unsorted_indices = sequence
        if hx is None:
            hx = self._zero_state(self.get_expected_hidden_size(input, batch_sizes), input)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        data, last = self._run(input, batch_sizes.tolist(), self._states(hx))
        output = PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(self._from_states(last), unsorted_indices)

    def _run(self, data: Tensor, sizes: list[int], states: State) -> tuple[Tensor, State]:
        """All layers and directions over packed data."""
        weights: Any = [self._weights_at(index) for index in range(len(self._all_weights))]
        layout = (self.bidirectional, self.dropout, self.training)
        return run_layers(self.mode, weights, data, sizes, states, *layout)

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        for name, default in {**defaults, "bidirectional": False}.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """`h = tanh(W x + b + U h + c)` over time, in one or more layers.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        num_layers: How many layers stand on each other.
        nonlinearity: "tanh" or "relu".
        bias: Whether the layers have biases.
        batch_first: Whether inputs and outputs are (N, T, D) instead of (T, N, D).
        dropout: The probability with which the output of all layers but the last is dropped.
        bidirectional: Whether a second run goes backwards in time.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> output, hidden = pyburn.nn.RNN(2, 3, num_layers=2)(pyburn.zeros(5, 1, 2))
        >>> tuple(output.shape), tuple(hidden.shape)
        ((5, 1, 3), (2, 1, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over time, in one or more layers.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the cell state.
        num_layers: How many layers stand on each other.
        bias: Whether the layers have biases.
        batch_first: Whether inputs and outputs are (N, T, D) instead of (T, N, D).
        dropout: The probability with which the output of all layers but the last is dropped.
        bidirectional: Whether a second run goes backwards in time.
        proj_size: To how many features the hidden state is projected; 0 for not at all.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> lstm = pyburn.nn.LSTM(2, 3, bidirectional=True, batch_first=True)
        >>> output, (hidden, cell) = lstm(pyburn.zeros(4, 5, 2))
        >>> tuple(output.shape), tuple(hidden.shape), tuple(cell.shape)
        ((4, 5, 6), (2, 4, 3), (2, 4, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, N, hidden_size)."""
        layers, count, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, count, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Nothing; raises when input or states do not fit."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states with their sequences in another order."""
        return hx if permutation is None else tuple(part.index_select(1, permutation) for part in hx)

    def _states(self, hx: Any) -> State:
        return tuple(hx)

    def _zero_state(self, shape: tuple[int, int, int], input: Tensor) -> Any:
        plain = input.detach()
        return plain.new_zeros(shape), plain.new_zeros((*shape[:2], self.hidden_size))

    def _check_unbatched(self, hx: Any, dims: int) -> None:
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "unbatched 2-D" if dims == 2 else "batched 3-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _from_states(self, states: State) -> Any:
        return states


class GRU(RNNBase):
    """Gated recurrent units over time, in one or more layers.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        num_layers: How many layers stand on each other.
        bias: Whether the layers have biases.
        batch_first: Whether inputs and outputs are (N, T, D) instead of (T, N, D).
        dropout: The probability with which the output of all layers but the last is dropped.
        bidirectional: Whether a second run goes backwards in time.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> output, hidden = pyburn.nn.GRU(2, 3)(pyburn.zeros(5, 2))
        >>> tuple(output.shape), tuple(hidden.shape)
        ((5, 3), (1, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
