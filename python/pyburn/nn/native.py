"""Functions that torch has at its top level beside those of `nn.functional`: reductions are numbers here.

`torch.lstm` and its like take a list of weights in the order of a layer's parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn._recurrence import State, gru_step, lstm_step, run_layers
from pyburn.nn._reduction import get_string
from pyburn.ops._arguments import publish

__all__ = [
    "affine_grid_generator",
    "alpha_dropout",
    "alpha_dropout_",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "dropout",
    "dropout_",
    "feature_alpha_dropout",
    "feature_dropout",
    "gru",
    "gru_cell",
    "hinge_embedding_loss",
    "kl_div",
    "lstm",
    "lstm_cell",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "triplet_margin_loss",
]


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`input` with some elements dropped when `train` says so.

    Example:
        >>> import pyburn
        >>> pyburn.dropout(pyburn.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`input`, some of whose elements were dropped when `train` says so.

    Example:
        >>> import pyburn
        >>> pyburn.dropout_(pyburn.ones(2), 1.0, True)
        tensor([0., 0.])
    """
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`input` with dropout that keeps mean and variance when `train` says so.

    Example:
        >>> import pyburn
        >>> pyburn.alpha_dropout(pyburn.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`input`, some of whose elements were dropped so that mean and variance stay.

    Example:
        >>> import pyburn
        >>> pyburn.alpha_dropout_(pyburn.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`input` (N, C, ...) with whole channels dropped when `train` says so.

    Example:
        >>> import pyburn
        >>> pyburn.feature_dropout(pyburn.ones(1, 1, 2), 1.0, True)
        tensor([[[0., 0.]]])
    """
    drop = {3: F.dropout1d, 4: F.dropout2d, 5: F.dropout3d}.get(input.dim(), F.dropout2d)
    return drop(input, p, train)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`input` (N, C, ...) with whole channels dropped so that mean and variance stay.

    Example:
        >>> import pyburn
        >>> pyburn.feature_alpha_dropout(pyburn.ones(1, 1, 2), 0.5, False)
        tensor([[[1., 1.]]])
    """
    return F.feature_alpha_dropout(input, p, train)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """The cross entropy of logits and probabilities; `reduction` is 0 for none, 1 for mean, 2 for sum.

    Example:
        >>> import pyburn
        >>> pyburn.binary_cross_entropy_with_logits(pyburn.zeros(2), pyburn.ones(2), reduction=0)
        tensor([0.6931, 0.6931])
    """
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=get_string(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """How far pairs of vectors are from pointing the same way (target 1) or elsewhere (target -1).

    Example:
        >>> import pyburn
        >>> pyburn.cosine_embedding_loss(pyburn.eye(2), pyburn.eye(2), pyburn.tensor([1, -1]))
        tensor(0.5000)
    """
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=get_string(reduction))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of sequences without alignment; `reduction` is a number.

    Example:
        >>> import pyburn
        >>> pyburn.ctc_loss(pyburn.zeros(2, 1, 2), pyburn.tensor([[1]]), [2], [1]).shape
        pyburn.Size([])
    """
    name = get_string(reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`input` where the target is 1, and how far it is below the margin where it is -1.

    Example:
        >>> import pyburn
        >>> pyburn.hinge_embedding_loss(pyburn.tensor([0.25, 0.5]), pyburn.tensor([1, -1]), reduction=0)
        tensor([0.2500, 0.5000])
    """
    return F.hinge_embedding_loss(input, target, margin, reduction=get_string(reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """The divergence of probabilities from those whose logarithm is `input`.

    Example:
        >>> import pyburn
        >>> pyburn.kl_div(pyburn.zeros(2), pyburn.ones(2), 2)
        tensor(0.)
    """
    return F.kl_div(input, target, reduction=get_string(reduction), log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """How far pairs of numbers are from the order that the target asks for.

    Example:
        >>> import pyburn
        >>> pyburn.margin_ranking_loss(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))
        tensor(1.)
    """
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=get_string(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The negative log likelihood of counts; `reduction` is a number.

    Example:
        >>> import pyburn
        >>> pyburn.poisson_nll_loss(pyburn.zeros(1), pyburn.ones(1), True, False, 1e-8, 1)
        tensor(1.)
    """
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=get_string(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """How far the negative is from being `margin` further from the anchor than the positive.

    Example:
        >>> import pyburn
        >>> pyburn.triplet_margin_loss(pyburn.eye(2), pyburn.eye(2), pyburn.eye(2))
        tensor(1.)
    """
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=get_string(reduction))


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Where each pixel of an image of `size` comes from under the affine maps `theta`.

    Example:
        >>> import pyburn
        >>> pyburn.affine_grid_generator(pyburn.zeros(1, 2, 3), (1, 1, 2, 2), False).shape
        pyburn.Size([1, 2, 2, 2])
    """
    return F.affine_grid(theta, list(size), align_corners)


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The hidden state and the cell state after one step of an LSTM.

    Example:
        >>> import pyburn
        >>> zeros = pyburn.zeros(1, 1)
        >>> pyburn.lstm_cell(zeros, (zeros, zeros), pyburn.ones(4, 1), pyburn.ones(4, 1))
        (tensor([[0.]]), tensor([[0.]]))
    """
    hidden, cell = hx
    hidden, cell = lstm_step(F.linear(input, w_ih, b_ih) + F.linear(hidden, w_hh, b_hh), cell)
    return hidden, cell


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The hidden state after one step of a GRU.

    Example:
        >>> import pyburn
        >>> pyburn.gru_cell(pyburn.zeros(1, 1), pyburn.ones(1, 1), pyburn.ones(3, 1), pyburn.zeros(3, 1))
        tensor([[0.5000]])
    """
    return gru_step(F.linear(input, w_ih, b_ih), F.linear(hx, w_hh, b_hh), hx)


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The hidden state after one step of a plain recurrence with tanh.

    Example:
        >>> import pyburn
        >>> pyburn.rnn_tanh_cell(pyburn.zeros(1, 1), pyburn.zeros(1, 1), pyburn.ones(1, 1), pyburn.ones(1, 1))
        tensor([[0.]])
    """
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The hidden state after one step of a plain recurrence with relu.

    Example:
        >>> import pyburn
        >>> pyburn.rnn_relu_cell(pyburn.ones(1, 1), pyburn.ones(1, 1), pyburn.ones(1, 1), pyburn.ones(1, 1))
        tensor([[2.]])
    """
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).relu()


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, last hidden and last cell states of an LSTM whose weights are given as a list.

    Args:
        *args: ``(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or for a
            packed sequence ``(data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train,
            bidirectional)``.

    Example:
        >>> import pyburn
        >>> state = pyburn.zeros(1, 1, 1)
        >>> weights = [pyburn.ones(4, 1), pyburn.ones(4, 1)]
        >>> pyburn.lstm(pyburn.zeros(2, 1, 1), (state, state), weights, False, 1, 0.0, False, False, False)[0].shape
        pyburn.Size([2, 1, 1])
    """
    output, (hidden, cell) = _layers("LSTM", args)
    return output, hidden, cell


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """Outputs and last hidden states of a GRU whose weights are given as a list; the arguments are those of `lstm`.

    Example:
        >>> import pyburn
        >>> weights = [pyburn.ones(3, 1), pyburn.ones(3, 1)]
        >>> pyburn.gru(pyburn.zeros(2, 1, 1), pyburn.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)[1]
        tensor([[[0.]]])
    """
    output, (hidden,) = _layers("GRU", args)
    return output, hidden


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Outputs and last hidden states of a plain recurrence with tanh; the arguments are those of `lstm`.

    Example:
        >>> import pyburn
        >>> weights = [pyburn.ones(1, 1), pyburn.ones(1, 1)]
        >>> zeros = pyburn.zeros(1, 1, 1)
        >>> pyburn.rnn_tanh(zeros, zeros, weights, False, 1, 0.0, False, False, False)[1]
        tensor([[[0.]]])
    """
    output, (hidden,) = _layers("RNN_TANH", args)
    return output, hidden


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Outputs and last hidden states of a plain recurrence with relu; the arguments are those of `lstm`.

    Example:
        >>> import pyburn
        >>> weights = [pyburn.ones(1, 1), pyburn.ones(1, 1)]
        >>> pyburn.rnn_relu(pyburn.ones(2, 1, 1), pyburn.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)[1]
        tensor([[[2.]]])
    """
    output, (hidden,) = _layers("RNN_RELU", args)
    return output, hidden


def _layers(mode: str, args: tuple[Any, ...]) -> tuple[Tensor, State]:
    if len(args) != 9:
        raise TypeError(f"{mode.lower()} takes 9 arguments, {len(args)} were given; see pyburn.lstm")
    packed = isinstance(args[-1], bool) and isinstance(args[1], Tensor) and not isinstance(args[3], bool)
    if packed:
        data, batch_sizes, hx, params, has_biases, num_layers, drop, train, bidirectional = args
        sizes: list[int] = batch_sizes.tolist()
        states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        weights = _weights(params, has_biases, num_layers * (2 if bidirectional else 1))
        return run_layers(mode, weights, data, sizes, states, bidirectional, drop, train)
    input, hx, params, has_biases, num_layers, drop, train, bidirectional, batch_first = args
    states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    given = input.transpose(0, 1) if batch_first else input
    steps, count, width = given.shape
    weights = _weights(params, has_biases, num_layers * (2 if bidirectional else 1))
    rows = given.reshape(steps * count, width)
    data, last = run_layers(mode, weights, rows, [count] * steps, states, bidirectional, drop, train)
    output = data.reshape(steps, count, data.shape[1])
    return output.transpose(0, 1) if batch_first else output, last


def _weights(params: Sequence[Tensor], has_biases: bool, count: int) -> list[Any]:
    """The flat list of weights as one tuple for each layer and direction: ih, hh, bias ih, bias hh, projection."""
    each = len(params) // count
    found = []
    for start in range(0, each * count, each):
        own = list(params[start : start + each])
        biases = own[2:4] if has_biases else [None, None]
        projection = own[-1] if each == (5 if has_biases else 3) else None
        found.append((*own[:2], *biases, projection))
    return found


publish(globals(), __all__)
