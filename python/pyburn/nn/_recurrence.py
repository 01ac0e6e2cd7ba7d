"""The steps of recurrent layers over packed time, and the gradient of a whole sequence at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor, float32, is_grad_enabled
from pyburn.autograd import Function, grad
from pyburn.nn.functional.dropout import dropout
from pyburn.nn.functional.linear import linear
from pyburn.ops import cat, stack

State = tuple[Tensor, ...]
Step = Callable[[int, State], State]
Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]  # ih, hh, bias ih, bias hh, projection


def lstm_step(gates: Tensor, cell: Tensor) -> State:
    """The hidden and cell state after gates (N, 4 H), which stand in torch's order: in, forget, cell, out."""
    enter, forget, new, leave = gates.chunk(4, -1)
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def gru_step(given: Tensor, own: Tensor, hidden: Tensor) -> Tensor:
    """The hidden state after both projections (N, 3 H), which stand in torch's order: reset, update, new."""
    reset_x, update_x, new_x = given.chunk(3, -1)
    reset_h, update_h, new_h = own.chunk(3, -1)
    update = (update_x + update_h).sigmoid()
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    return new + update * (hidden - new)


def walk(step: Step, order: Sequence[int], sizes: list[int], first: State) -> State:
    """The last state of every sequence after `step(time, state)` was called for each time of `order`.

    Only the first `sizes[time]` sequences exist at a time: where that number falls along the way the
    last sequences keep the state they have, where it grows they begin with theirs in `first`.
    """
    current = sizes[order[0]]
    state = first if current == first[0].shape[0] else tuple(part[:current] for part in first)
    ended: list[State] = []
    for time in order:
        size = sizes[time]
        if size < current:
            ended.append(tuple(part[size:] for part in state))
            state = tuple(part[:size] for part in state)
        elif size > current:
            state = tuple(cat([part, begun[current:size]]) for part, begun in zip(state, first, strict=True))
        current = size
        state = step(time, state)
    if ended:
        parts = [state, *reversed(ended)]
        return tuple(cat([part[i] for part in parts]) for i in range(len(state)))
    return state


class _Cell:
    """One layer in one direction: the recurrent weights, and the pieces of the input's projection."""

    def __init__(self, weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> None:
        self.weight, self.bias, self.projection = weight, bias, projection
        self.transposed = weight.t().contiguous()

    def step(self, given: Tensor, state: State) -> State:
        """The state after one time whose input gives `given` to the gates."""
        raise NotImplementedError

    def prepare(self, given: Tensor, before: State, sizes: list[int]) -> None:
        """Nothing; from all states before the times, all factors of the gradient are worked out at once."""
        raise NotImplementedError

    def step_back(self, time: int, grad_output: Tensor, state: State) -> State:
        """The gradient of the state before a time from that of the state after it."""
        raise NotImplementedError

    def gradients(self, steps: int, before: State) -> tuple[Tensor | None, ...]:
        """The gradients of the input's projection, weight, bias and projection, after all steps back."""
        raise NotImplementedError


class _Lstm(_Cell):
    def step(self, given: Tensor, state: State) -> State:
        hidden, cell = lstm_step(given + state[0] @ self.transposed, state[1])
        return (hidden if self.projection is None else linear(hidden, self.projection)), cell

    def prepare(self, given: Tensor, before: State, sizes: list[int]) -> None:
        hidden, old = before
        enter, forget, new, leave = (given + hidden @ self.transposed).chunk(4, 1)
        enter, forget, new, leave = enter.sigmoid(), forget.sigmoid(), new.tanh(), leave.sigmoid()
        shown = (forget * old + enter * new).tanh()
        factors = [
            new * enter * (1 - enter),
            old * forget * (1 - forget),
            enter * (1 - new * new),
            shown * leave * (1 - leave),
        ]
        self.factors: Any = cat(factors, 1).split(sizes)
        self.to_cell: Any = (leave * (1 - shown * shown)).split(sizes)
        self.kept: Any = forget.split(sizes)
        self.unprojected = leave * shown if self.projection is not None else None
        self.grad_gates: dict[int, Tensor] = {}
        self.grad_hidden: dict[int, Tensor] = {}

    def step_back(self, time: int, grad_output: Tensor, state: State) -> State:
        hidden = grad_output + state[0]
        if self.projection is not None:
            self.grad_hidden[time] = hidden
            hidden = hidden @ self.projection
        cell = state[1] + hidden * self.to_cell[time]
        gates = cat([cell, cell, cell, hidden], 1) * self.factors[time]
        self.grad_gates[time] = gates
        return gates @ self.weight, cell * self.kept[time]

    def gradients(self, steps: int, before: State) -> tuple[Tensor | None, ...]:
        gates = cat([self.grad_gates[time] for time in range(steps)])
        grad_projection = None
        if self.unprojected is not None:
            grad_projection = cat([self.grad_hidden[time] for time in range(steps)]).t() @ self.unprojected
        return gates, gates.t() @ before[0], None, grad_projection


class _Gru(_Cell):
    def step(self, given: Tensor, state: State) -> State:
        return (gru_step(given, linear(state[0], self.weight, self.bias), state[0]),)

    def prepare(self, given: Tensor, before: State, sizes: list[int]) -> None:
        reset_x, update_x, new_x = given.chunk(3, 1)
        reset_h, update_h, new_h = linear(before[0], self.weight, self.bias).chunk(3, 1)
        reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
        new = (new_x + reset * new_h).tanh()
        to_new = (1 - update) * (1 - new * new)
        to_reset = to_new * new_h * reset * (1 - reset)
        to_update = (before[0] - new) * update * (1 - update)
        self.to_given = cat([to_reset, to_update, to_new], 1)
        self.to_own = cat([to_reset, to_update, to_new * reset], 1)
        self.factors: Any = self.to_own.split(sizes)
        self.kept: Any = update.split(sizes)
        self.grad_hidden: dict[int, Tensor] = {}

    def step_back(self, time: int, grad_output: Tensor, state: State) -> State:
        hidden = grad_output + state[0]
        self.grad_hidden[time] = hidden
        own = cat([hidden, hidden, hidden], 1) * self.factors[time]
        return (hidden * self.kept[time] + own @ self.weight,)

    def gradients(self, steps: int, before: State) -> tuple[Tensor | None, ...]:
        hidden = cat([self.grad_hidden[time] for time in range(steps)]).repeat(1, 3)
        own = hidden * self.to_own
        return hidden * self.to_given, own.t() @ before[0], None if self.bias is None else own.sum(0), None


class _Plain(_Cell):
    def __init__(self, weight: Tensor, bias: Tensor | None, projection: Tensor | None, relu: bool) -> None:
        super().__init__(weight, bias, projection)
        self.relu = relu

    def step(self, given: Tensor, state: State) -> State:
        total = given + state[0] @ self.transposed
        return (total.relu() if self.relu else total.tanh(),)

    def prepare(self, given: Tensor, before: State, sizes: list[int]) -> None:
        after = self.step(given, before)[0]
        slope = (after > 0).to(after.dtype) if self.relu else 1 - after * after
        self.factors: Any = slope.split(sizes)
        self.grad_total: dict[int, Tensor] = {}

    def step_back(self, time: int, grad_output: Tensor, state: State) -> State:
        total = (grad_output + state[0]) * self.factors[time]
        self.grad_total[time] = total
        return (total @ self.weight,)

    def gradients(self, steps: int, before: State) -> tuple[Tensor | None, ...]:
        total = cat([self.grad_total[time] for time in range(steps)])
        return total, total.t() @ before[0], None, None


def _cell(mode: str, weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> _Cell:
    if mode == "LSTM":
        return _Lstm(weight, bias, projection)
    if mode == "GRU":
        return _Gru(weight, bias, projection)
    return _Plain(weight, bias, projection, mode == "RNN_RELU")


def _run(
    cell: _Cell, given: Tensor, sizes: list[int], first: State, reverse: bool, before: dict[int, State] | None
) -> tuple[Tensor, State]:
    """All hidden states and the last state; `before` receives the state before each time."""
    inputs: Any = given.split(sizes)
    outputs: dict[int, Tensor] = {}

    def step(time: int, state: State) -> State:
        if before is not None:
            before[time] = state
        after = cell.step(inputs[time], state)
        outputs[time] = after[0]
        return after

    times = range(len(sizes))
    last = walk(step, times[::-1] if reverse else times, sizes, first)
    return cat([outputs[time] for time in times]), last


class _WholeLstm(Function):
    """One direction of an LSTM layer whose sequences are all equally long, in one native call each way."""

    @staticmethod
    def forward(ctx: Any, reverse: bool, given: Tensor, weight: Tensor, *first: Tensor) -> tuple[Tensor, ...]:
        outputs, cells, gates = _core._lstm(given, weight, first[0], first[1], reverse, True)
        ctx.reverse = reverse
        ctx.save_for_backward(given, weight, *first, outputs, cells, gates)
        return outputs, *_last(reverse, first[0].shape[0], outputs, cells)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        given, weight, hidden, cell, outputs, cells, gates = ctx.saved_tensors
        if is_grad_enabled():
            sizes = [hidden.shape[0]] * (given.shape[0] // hidden.shape[0])
            found = _recorded("LSTM", sizes, ctx.reverse, (given, weight, None, None), (hidden, cell), grads)
            return (None, found[0], found[1], *found[4:])
        back = _core._lstm_back(gates, weight, cell, cells, (grads[0], grads[1], grads[2]), ctx.reverse)
        before = _before(ctx.reverse, hidden, outputs)
        return (None, back[0], back[0].t() @ before, *back[1:])


class _WholeGru(Function):
    """One direction of a GRU layer whose sequences are all equally long, in one native call each way."""

    @staticmethod
    def forward(
        ctx: Any, reverse: bool, given: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor
    ) -> tuple[Tensor, ...]:
        outputs, gates, own = _core._gru(given, bias, weight, first, reverse, True)
        ctx.reverse = reverse
        ctx.save_for_backward(given, weight, bias, first, outputs, gates, own)
        return outputs, *_last(reverse, first.shape[0], outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        given, weight, bias, first, outputs, gates, own = ctx.saved_tensors
        if is_grad_enabled():
            sizes = [first.shape[0]] * (given.shape[0] // first.shape[0])
            found = _recorded("GRU", sizes, ctx.reverse, (given, weight, bias, None), (first,), grads)
            return (None, *found[:3], found[4])
        to_given, to_own, to_first = _core._gru_back(
            gates, own, weight, first, outputs, (grads[0], grads[1]), ctx.reverse
        )
        to_bias = None if bias is None else to_own.sum(0)
        return None, to_given, to_own.t() @ _before(ctx.reverse, first, outputs), to_bias, to_first


def _last(reverse: bool, batch: int, *states: Tensor) -> list[Tensor]:
    """The states of the time that came last."""
    return [(state[:batch] if reverse else state[-batch:]).clone() for state in states]


def _before(reverse: bool, first: Tensor, states: Tensor) -> Tensor:
    """The state before each time."""
    batch = first.shape[0]
    return cat([states[batch:], first]) if reverse else cat([first, states[:-batch]])


def _is_whole(mode: str, sizes: list[int], tensors: Sequence[Tensor | None]) -> bool:
    """Whether the native sequences take these: equally long, float32, on the CPU, and without a projection."""
    if mode not in ("LSTM", "GRU") or tensors[3] is not None or sizes[0] != sizes[-1] or sizes[0] == 0:
        return False
    return all(t is None or (t.dtype == float32 and t.device.type == "cpu" and t.numel() > 0) for t in tensors)


def _run_whole(mode: str, reverse: bool, tensors: Sequence[Any]) -> tuple[Tensor, State]:
    """All hidden states and the last state, by the native sequences."""
    given, weight, bias, _, *first = tensors
    recorded = is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    if mode == "LSTM":
        if recorded:
            output, *last = _WholeLstm.apply(reverse, given, weight, *first)
            return output, tuple(last)
        output, cells, _ = _core._lstm(given, weight, first[0], first[1], reverse, False)
        return output, tuple(_last(reverse, first[0].shape[0], output, cells))
    if recorded:
        output, *last = _WholeGru.apply(reverse, given, weight, bias, *first)
        return output, tuple(last)
    output = _core._gru(given, bias, weight, first[0], reverse, False)[0]
    return output, tuple(_last(reverse, first[0].shape[0], output))


class _Recurrence(Function):
    """One direction of one layer, with the gradient of the weights in one product over all times."""

    @staticmethod
    def forward(
        ctx: Any,
        mode: str,
        sizes: list[int],
        reverse: bool,
        given: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        projection: Tensor | None,
        *first: Tensor,
    ) -> tuple[Tensor, ...]:
        states: dict[int, State] = {}
        output, last = _run(_cell(mode, weight, bias, projection), given, sizes, first, reverse, states)
        before = tuple(cat([states[time][i] for time in range(len(sizes))]) for i in range(len(first)))
        ctx.settings = mode, sizes, reverse, len(first)
        ctx.save_for_backward(given, weight, bias, projection, *first, *before)
        return output, *last

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        mode, sizes, reverse, parts = ctx.settings
        given, weight, bias, projection, *states = ctx.saved_tensors
        first, before = tuple(states[:parts]), tuple(states[parts:])
        if is_grad_enabled():
            # Somebody differentiates the gradient: it must be made of recorded operations.
            return (None, None, None, *_recorded(mode, sizes, reverse, (given, weight, bias, projection), first, grads))
        cell = _cell(mode, weight, bias, projection)
        cell.prepare(given, before, sizes)
        grad_outputs: Any = grads[0].split(sizes)
        times = range(len(sizes))
        order = times if reverse else times[::-1]
        grad_first = walk(lambda time, state: cell.step_back(time, grad_outputs[time], state), order, sizes, grads[1:])
        return (None, None, None, *cell.gradients(len(sizes), before), *grad_first)


def _recorded(
    mode: str, sizes: list[int], reverse: bool, inputs: tuple[Any, ...], first: State, grads: State
) -> list[Tensor | None]:
    given, weight, bias, projection = inputs
    output, last = _run(_cell(mode, weight, bias, projection), given, sizes, first, reverse, None)
    every = [*inputs, *first]
    wanted = [value for value in every if value is not None and value.requires_grad]
    found = iter(grad((output, *last), wanted, grads, create_graph=True, allow_unused=True))
    return [next(found) if value is not None and value.requires_grad else None for value in every]


def run_direction(
    mode: str, weights: Weights, data: Tensor, sizes: list[int], state: State, reverse: bool
) -> tuple[Tensor, State]:
    """The hidden state at each time, packed as `data`, and the last state of each sequence.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        weights: Those of one layer in one direction.
        data: (sum of sizes, D): the inputs of time 0, then those of time 1, ...
        sizes: How many sequences are still there at each time; they never grow.
        state: The first state of each sequence.
        reverse: Whether time runs backwards.
    """
    weight, recurrent, bias, other, projection = weights
    if mode != "GRU":  # only a GRU needs the second bias apart from the first
        bias, other = (bias if other is None or bias is None else bias + other), None
    given = linear(data, weight, bias)
    tensors = (given, recurrent, other, projection, *state)
    if _is_whole(mode, sizes, tensors):
        return _run_whole(mode, reverse, tensors)
    if is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        output, *last = _Recurrence.apply(mode, sizes, reverse, *tensors)
        return output, tuple(last)
    return _run(_cell(mode, recurrent, other, projection), given, sizes, state, reverse, None)


def run_layers(
    mode: str,
    weights: Sequence[Weights],
    data: Tensor,
    sizes: list[int],
    states: State,
    bidirectional: bool,
    drop: float = 0.0,
    training: bool = False,
) -> tuple[Tensor, State]:
    """The last layer's hidden state at each time and the last states of all, for layers over each other.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        weights: Those of each layer and direction, a layer's backward direction after its forward one.
        data: Packed inputs, as for `run_direction`.
        sizes: How many sequences there are at each time.
        states: The first states, (layers times directions, N, H).
        bidirectional: Whether each layer has two directions.
        drop: The probability with which an output of all layers but the last is dropped.
        training: Whether it is.
    """
    directions = 2 if bidirectional else 1
    firsts = list(zip(*(part.unbind(0) for part in states), strict=True))
    lasts: list[State] = []
    for start in range(0, len(weights), directions):
        outputs = []
        for index in range(start, start + directions):
            output, last = run_direction(mode, weights[index], data, sizes, firsts[index], index > start)
            outputs.append(output)
            lasts.append(last)
        data = outputs[0] if directions == 1 else cat(outputs, 1)
        if drop > 0 and start + directions < len(weights):
            data = dropout(data, drop, training)
    return data, tuple(stack(parts) for parts in zip(*lasts, strict=True))
