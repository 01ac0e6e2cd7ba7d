"""LSTMs over sequences of pictures: their products are convolutions."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras._registry import serialize_keras_object
from pyburn.keras.layer import InputSpec
from pyburn.keras.layers import _images as images
from pyburn.keras.layers.cells import LSTMCell
from pyburn.keras.layers.core import last_size
from pyburn.keras.layers.rnn import LSTM, RNN, OfCell

__all__ = ["ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"]

_GEOMETRY = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate")


class ConvLSTMCell(LSTMCell):
    """The step of a convolutional LSTM; kernels are (sizes, channels, 4 * filters), gates as in an LSTM."""

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, **kwargs)
        name = f"ConvLSTM{rank}D"
        self.rank, self.filters = rank, filters
        self.kernel_size = images.sizes(kernel_size, rank, f"{name}: kernel_size")
        self.strides = images.sizes(strides, rank, f"{name}: strides")
        self.dilation_rate = images.sizes(dilation_rate, rank, f"{name}: dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{name}: strides={strides} and dilation_rate={dilation_rate} cannot both be larger than 1"
            )
        self.padding = images.padding_of(padding, ("valid", "same"), type(self).__name__)
        self.data_format = settings.data_format_of(data_format)

    def build(self, input_shape: Any) -> None:
        channels = last_size(self, input_shape, -1 if self.data_format == "channels_last" else 1)
        wide = 4 * self.filters
        self.kernel = self._add((*self.kernel_size, channels, wide), "kernel", "kernel")
        self.recurrent_kernel = self._add((*self.kernel_size, self.filters, wide), "recurrent", "recurrent_kernel")
        if self.use_bias:
            self.bias = self._add((wide,), "bias", "bias", self._first_bias())
        else:
            self.bias = None

    def get_initial_state(self, batch_size: int, like: Tensor | None = None) -> list[Tensor]:
        """Zeros of the size of a step's output, for a batch of sequences `like` these."""
        if like is None:
            raise ValueError("ConvLSTMCell: the size of the states follows from an input; give initial states")
        first = self.data_format == "channels_first"
        places = list(like.shape[3:] if first else like.shape[2:-1])
        for axis, (kernel, stride, spread) in enumerate(
            zip(self.kernel_size, self.strides, self.dilation_rate, strict=True)
        ):
            reach = 0 if self.padding == "same" else spread * (kernel - 1)
            places[axis] = (places[axis] - reach - 1) // stride + 1
        shape = [batch_size, self.filters, *places] if first else [batch_size, *places, self.filters]
        return [ops.zeros(shape, dtype=like.dtype, device=like.device) for _ in range(2)]

    def _convolved(self, x: Tensor, kernel: Tensor, bias: Any, same: bool, strides: Any, spread: Any) -> Tensor:
        """The convolution of `x` (channels first)."""
        if same:
            x = images.same_padded(x, self.kernel_size, strides, spread)
        images.check_fits(self, x, self.kernel_size, spread)
        weight = kernel.permute(self.rank + 1, self.rank, *range(self.rank))
        found: Tensor = images.FUNCTIONS["conv"][self.rank - 1](x, weight, bias, strides, 0, spread, 1)
        return found

    def call(self, sequence: Any, states: Any, training: bool | None = None) -> Any:
        ones = (1,) * self.rank
        hidden, cell = (images.channels_first(each, self.data_format) for each in states)
        x = images.channels_first(self._dropped(sequence, "input", self.dropout, training), self.data_format)
        x = self._convolved(x, self.kernel, self.bias, self.padding == "same", self.strides, self.dilation_rate)
        before = self._dropped(hidden, "state", self.recurrent_dropout, training)
        x = x + self._convolved(before, self.recurrent_kernel, None, True, ones, ones)
        i, f, c, o = x.chunk(4, 1)
        cell = self.recurrent_activation(f) * cell + self.recurrent_activation(i) * self.activation(c)
        hidden = self.recurrent_activation(o) * self.activation(cell)
        hidden, cell = (images.channels_back(each, self.data_format) for each in (hidden, cell))
        return hidden, [hidden, cell]


class _ConvLSTM(OfCell):
    """What convolutional LSTMs share: sequences (batch, steps, sizes, channels), Keras's arguments in their order."""

    _rank = 2
    _cell = ConvLSTMCell
    _cell_names = (*_GEOMETRY, *LSTM._cell_names)

    def __init__(self, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        names = ("strides", "padding", "data_format", "dilation_rate", "activation", "recurrent_activation", "use_bias")
        kwargs = {**dict(zip(names, args, strict=False)), "filters": filters, "kernel_size": kernel_size, **kwargs}
        cell_only = {name: kwargs.pop(name) for name in self._cell_names if name in kwargs}
        policy = {"dtype": kwargs.get("dtype"), "trainable": kwargs.get("trainable", True)}
        RNN.__init__(self, ConvLSTMCell(self._rank, **cell_only, **policy), **kwargs)
        self.input_spec = InputSpec(ndim=self._rank + 3)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["units"]
        return config | {name: serialize_keras_object(getattr(self.cell, name)) for name in _GEOMETRY}


class ConvLSTM1D(_ConvLSTM):
    """A convolutional LSTM over sequences of rows: (batch, steps, size, channels).

    Args:
        filters: The channels of the state.
        kernel_size: The size of both kernels.
        *args: Keras's further arguments in their order, from `strides` on.
        **kwargs: Arguments of `LSTM`.
    """

    _rank = 1


class ConvLSTM2D(_ConvLSTM):
    """A convolutional LSTM over sequences of pictures: (batch, steps, height, width, channels).

    Args:
        filters: The channels of the state.
        kernel_size: The size of both kernels.
        *args: Keras's further arguments in their order, from `strides` on.
        **kwargs: Arguments of `LSTM`.

    Example:
        >>> import pyburn
        >>> ConvLSTM2D(4, 3, padding="same")(pyburn.zeros(2, 5, 8, 8, 1)).shape
        pyburn.Size([2, 8, 8, 4])
    """


class ConvLSTM3D(_ConvLSTM):
    """A convolutional LSTM over sequences of volumes: (batch, steps, sizes, channels).

    Args:
        filters: The channels of the state.
        kernel_size: The size of both kernels.
        *args: Keras's further arguments in their order, from `strides` on.
        **kwargs: Arguments of `LSTM`.
    """

    _rank = 3
