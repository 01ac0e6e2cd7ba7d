"""One step of the recurrent layers, as layers of their own."""

from __future__ import annotations

import math
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn._recurrence import gru_step, lstm_step
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class RNNCellBase(Module):
    """The weights of one step: `num_chunks` gates of `hidden_size` features.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        bias: Whether there are biases.
        num_chunks: How many gates.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> pyburn.nn.LSTMCell(2, 3).weight_ih.shape
        pyburn.Size([12, 2])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty((rows,), device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; all weights are drawn anew from within `1 / sqrt(hidden_size)` of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, what: str, value: Tensor, size: int) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {value.dim()}D instead")
        if value.shape[-1] != size:
            raise RuntimeError(
                f"{type(self).__name__}: {what} has inconsistent size: got {value.shape[-1]}, expected {size}"
            )

    def _projections(self, input: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        if input.shape[0] != hidden.shape[0]:
            raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden batch size {hidden.shape[0]}")
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(hidden, self.weight_hh, self.bias_hh)

    def _state(self, input: Tensor, given: Tensor | None, what: str = "hidden") -> Tensor:
        """The state with a batch; zeros when none is given."""
        if given is None:
            return input.detach().new_zeros((input.shape[0], self.hidden_size))
        self._check(what, given, self.hidden_size)
        return given if given.dim() == 2 else given.unsqueeze(0)

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """`tanh(W x + b + U h + c)`.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        bias: Whether there are biases.
        nonlinearity: "tanh" or "relu".
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.RNNCell(2, 3)(pyburn.zeros(4, 2)).shape)
        (4, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state, (N, hidden_size), or (hidden_size) without a batch."""
        self._check("input", input, self.input_size)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        batch = input if input.dim() == 2 else input.unsqueeze(0)
        given, own = self._projections(batch, self._state(batch, hx))
        total = given + own
        output = total.tanh() if self.nonlinearity == "tanh" else total.relu()
        return output if input.dim() == 2 else output.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; the arguments are those of `RNNCell`.

    Example:
        >>> import pyburn
        >>> hidden, cell = pyburn.nn.LSTMCell(2, 3)(pyburn.zeros(4, 2))
        >>> tuple(hidden.shape), tuple(cell.shape)
        ((4, 3), (4, 3))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden state and cell state."""
        self._check("input", input, self.input_size)
        batch = input if input.dim() == 2 else input.unsqueeze(0)
        first, second = (None, None) if hx is None else hx
        hidden, cell = self._state(batch, first, "hx[0]"), self._state(batch, second, "hx[1]")
        given, own = self._projections(batch, hidden)
        hidden, cell = lstm_step(given + own, cell)
        return (hidden, cell) if input.dim() == 2 else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of gated recurrent units; the arguments are those of `RNNCell`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.GRUCell(2, 3)(pyburn.zeros(2)).shape)
        (3,)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        self._check("input", input, self.input_size)
        batch = input if input.dim() == 2 else input.unsqueeze(0)
        hidden = self._state(batch, hx)
        output = gru_step(*self._projections(batch, hidden), hidden)
        return output if input.dim() == 2 else output.squeeze(0)
