"""Recurrent layers against torch's: same weights from one seed, outputs, states, gradients, packing."""

import copy
import pickle

import numpy as np
import pyburn
import pytest
import torch

from nn.compare import _load, ours, same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def pair(name, *args, **kwargs):
    pyburn.manual_seed(5), torch.manual_seed(5)
    mine, theirs = getattr(pyburn.nn, name)(*args, **kwargs), getattr(torch.nn, name)(*args, **kwargs)
    assert repr(mine) == repr(theirs)
    for (key, a), (other, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert key == other
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6, atol=1e-7)
    _load(mine, theirs)
    return mine, theirs


def tensors(value):
    if isinstance(value, (torch.Tensor, pyburn.Tensor)):
        return [value]
    return [t for item in value if item is not None for t in tensors(item)]


def check(mine, theirs, *inputs):
    """Both agree in outputs, states and the gradient of every parameter and float input."""
    given = [ours(value) for value in inputs]
    result, expected = mine(*given), theirs(*inputs)
    same(tensors(result), tensors(expected))
    for outputs in (tensors(result), tensors(expected)):
        loss = sum((t * (i + 1)).square().sum() for i, t in enumerate(outputs) if t.is_floating_point())
        loss.backward()
    for (name, a), (_, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(a.grad.tolist(), b.grad.tolist(), rtol=1e-4, atol=1e-4, err_msg=name)
    for a, b in zip(tensors(given), tensors(inputs), strict=True):
        if b.requires_grad:
            same(a.grad, b.grad, atol=1e-4)


SETTINGS = [
    {},
    {"num_layers": 3},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
    {"bias": False},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_layers(name, settings):
    mine, theirs = pair(name, 4, 3, **settings)
    check(mine, theirs, x(5, 2, 4).requires_grad_())
    check(mine, theirs, x(5, 4).requires_grad_())
    mine.flatten_parameters()
    assert [[tuple(w.shape) for w in ws] for ws in mine.all_weights] == [
        [tuple(w.shape) for w in ws] for ws in theirs.all_weights
    ]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
def test_relu_and_projection():
    check(*pair("RNN", 4, 3, 2, "relu"), x(5, 2, 4).requires_grad_())
    mine, theirs = pair("LSTM", 4, 5, 2, proj_size=3, bidirectional=True)
    state = (x(4, 2, 3).requires_grad_(), x(4, 2, 5).requires_grad_())
    check(mine, theirs, x(6, 2, 4).requires_grad_(), state)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_given_first_states(name):
    mine, theirs = pair(name, 4, 3, 2, batch_first=True)
    state = x(2, 5, 3).requires_grad_()
    check(mine, theirs, x(5, 6, 4), (state, x(2, 5, 3).mul(2).requires_grad_()) if name == "LSTM" else state)
    state = x(2, 3)
    check(mine, theirs, x(6, 4), (state, state * 2) if name == "LSTM" else state)


def packed(lib, values, lengths, **kwargs):
    return lib.nn.utils.rnn.pack_padded_sequence(values, lengths, **kwargs)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [2, 5, 1, 4]], ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_packed_sequences(name, lengths, bidirectional):
    mine, theirs = pair(name, 4, 3, 2, bidirectional=bidirectional)
    values = x(5, 4, 4).requires_grad_()
    own = ours(values)
    first = x(4 if bidirectional else 2, 4, 3)
    state = (first, first * 2) if name == "LSTM" else first
    ordered = lengths == sorted(lengths, reverse=True)
    result = mine(packed(pyburn, own, lengths, enforce_sorted=ordered), ours(state))
    expected = theirs(packed(torch, values, lengths, enforce_sorted=ordered), state)
    same(tensors(result), tensors(expected))
    padded, found = pyburn.nn.utils.rnn.pad_packed_sequence(result[0], True, -1.0, 7)
    wanted, expected_lengths = torch.nn.utils.rnn.pad_packed_sequence(expected[0], True, -1.0, 7)
    same((padded, found), (wanted, expected_lengths))
    padded.square().sum().backward(), wanted.square().sum().backward()
    same(own.grad, values.grad, atol=1e-4)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.tolist(), b.grad.tolist(), rtol=1e-4, atol=1e-4)


def test_dropout_between_layers_only_in_training():
    mine, theirs = pair("LSTM", 4, 3, 2, dropout=0.5)
    values = x(5, 2, 4)
    assert mine(ours(values))[0].tolist() != mine(ours(values))[0].tolist()
    mine.eval(), theirs.eval()
    same(tensors(mine(ours(values))), tensors(theirs(values)))
    ones = pyburn.nn.RNN(1, 1, 2, dropout=1.0)
    assert float(ones(pyburn.ones(3, 1, 1))[1][0, 0, 0]) != 0.0  # only what goes to the second layer is dropped


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_copies(name):
    mine, theirs = pair(name, 4, 3, bidirectional=True)
    expected = tensors(theirs(x(5, 2, 4)))
    for twin in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        same(tensors(twin(ours(x(5, 2, 4)))), expected)


def test_second_derivatives():
    mine, theirs = pair("LSTM", 3, 2)
    values = x(4, 2, 3).requires_grad_()
    own = ours(values)
    for module, given, lib in ((mine, own, pyburn), (theirs, values, torch)):
        (grad,) = lib.autograd.grad(module(given)[0].square().sum(), given, create_graph=True)
        grad.square().sum().backward()
    same(own.grad, values.grad, atol=1e-4)
    same(mine.weight_hh_l0.grad, theirs.weight_hh_l0.grad, atol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells(name, bias):
    mine, theirs = pair(name, 4, 3, bias=bias)
    check(mine, theirs, x(2, 4).requires_grad_())
    check(mine, theirs, x(4).requires_grad_())
    state = x(2, 3).requires_grad_()
    check(mine, theirs, x(2, 4), (state, x(2, 3) * 2) if name == "LSTMCell" else state)
    assert repr(pyburn.nn.RNNCell(1, 2, False, "relu")) == repr(torch.nn.RNNCell(1, 2, False, "relu"))


MISTAKES = {
    "settings": lambda lib: lib.nn.LSTM(2, 0),
    "type": lambda lib: lib.nn.GRU(2, 3.0),
    "projection": lambda lib: lib.nn.LSTM(2, 3, proj_size=3),
    "nonlinearity": lambda lib: lib.nn.RNN(2, 3, nonlinearity="sigmoid"),
    "rank": lambda lib: lib.nn.LSTM(2, 3)(lib.zeros(1, 1, 1, 2)),
    "features": lambda lib: lib.nn.GRU(2, 3)(lib.zeros(4, 1, 3)),
    "dtype": lambda lib: lib.nn.GRU(2, 3)(lib.zeros(4, 1, 2).double()),
    "state": lambda lib: lib.nn.GRU(2, 3)(lib.zeros(4, 1, 2), lib.zeros(1, 2, 3)),
    "states": lambda lib: lib.nn.LSTM(2, 3)(lib.zeros(4, 1, 2), (lib.zeros(1, 1, 3), lib.zeros(1, 1, 2))),
    "unbatched": lambda lib: lib.nn.LSTM(2, 3)(lib.zeros(4, 2), (lib.zeros(1, 1, 3), lib.zeros(1, 1, 3))),
    "empty": lambda lib: lib.nn.GRU(2, 3)(lib.zeros(0, 1, 2)),
    "cell": lambda lib: lib.nn.GRUCell(2, 3)(lib.zeros(1, 1, 2)),
    "cell features": lambda lib: lib.nn.GRUCell(2, 3)(lib.zeros(1, 3)),
    "cell batch": lambda lib: lib.nn.GRUCell(2, 3)(lib.zeros(4, 2), lib.zeros(3, 3)),
    "unsorted": lambda lib: packed(lib, lib.zeros(3, 2, 1), [1, 3]),
    "no length": lambda lib: packed(lib, lib.zeros(3, 2, 1), [3, 0]),
    "one length": lambda lib: packed(lib, lib.zeros(3, 2, 1), [3]),
    "total": lambda lib: lib.nn.utils.rnn.pad_packed_sequence(packed(lib, lib.zeros(3, 1, 1), [3]), total_length=2),
    "nothing": lambda lib: lib.nn.utils.rnn.pad_sequence([]),
    "side": lambda lib: lib.nn.utils.rnn.pad_sequence([lib.zeros(1)], padding_side="up"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - torch decides which
        MISTAKES[name](torch)
    with pytest.raises(Exception) as mine:  # noqa: PT011
        MISTAKES[name](pyburn)
    assert isinstance(mine.value, type(theirs.value))
    assert "the engine failed" not in str(mine.value)


def test_a_length_beyond_the_input_is_refused():
    with pytest.raises(RuntimeError, match="which has 3 steps"):  # torch reads past the end
        packed(pyburn, pyburn.zeros(3, 2, 1), [4, 1])


@LIBRARIES
def test_dropout_in_one_layer_warns(lib):
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        lib.nn.GRU(2, 3, dropout=0.5)


@LIBRARIES
def test_padding_and_packing(lib):
    rnn = lib.nn.utils.rnn
    sequences = [lib.tensor([[1.0, 2.0], [3.0, 4.0]]), lib.tensor([[5.0, 6.0]])]
    assert rnn.pad_sequence(sequences).tolist() == [[[1, 2], [5, 6]], [[3, 4], [0, 0]]]
    assert rnn.pad_sequence(sequences, True, 9.0, "left").tolist() == [[[1, 2], [3, 4]], [[9, 9], [5, 6]]]
    whole = rnn.pack_sequence(sequences[::-1], enforce_sorted=False)
    assert whole.data.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert (whole.batch_sizes.tolist(), whole.sorted_indices.tolist()) == ([2, 1], [1, 0])
    assert [t.tolist() for t in rnn.unpack_sequence(whole)] == [[[5, 6]], [[1, 2], [3, 4]]]
    padded = rnn.pad_sequence(sequences, batch_first=True)
    assert [t.tolist() for t in rnn.unpad_sequence(padded, lib.tensor([2, 1]), True)] == [t.tolist() for t in sequences]
    cut = rnn.unpad_sequence(padded, lib.tensor([2, 1]), True)
    padded.zero_()
    assert cut[1].tolist() == [[5, 6]] and all(part.is_contiguous() for part in cut)
    assert whole.to(lib.float64).data.dtype == lib.float64
    assert whole.cpu() is whole or whole.cpu().data.tolist() == whole.data.tolist()
    assert whole.long().data.dtype == lib.int64
    assert isinstance(whole, tuple)
    assert whole._fields == ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
