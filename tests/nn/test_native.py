"""torch's top-level functions of layers and losses, with reductions as numbers and weights as lists."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


SIGNS = np.array([1.0, -1.0, 1.0], dtype=np.float32)
LOSSES = {
    "binary_cross_entropy_with_logits": (normal(3, 2), abs(normal(3, 2)), abs(normal(2)), abs(normal(2))),
    "cosine_embedding_loss": (normal(3, 4), normal(3, 4), SIGNS, 0.1),
    "hinge_embedding_loss": (normal(3), SIGNS, 0.7),
    "kl_div": (normal(3, 2), abs(normal(3, 2))),
    "margin_ranking_loss": (normal(3), normal(3), SIGNS, 0.2),
    "triplet_margin_loss": (normal(3, 4), normal(3, 4), normal(3, 4), 0.5, 2.0, 1e-6, True),
}


def both(name, arguments, **options):
    ours = getattr(pyburn, name)(*(pyburn.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments), **options)
    theirs = getattr(torch, name)(*(torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments), **options)
    return ours, theirs


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    ours, theirs = both(name, LOSSES[name], reduction=reduction)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, atol=1e-6)


def test_losses_with_their_own_arguments():
    ours, theirs = both("poisson_nll_loss", (normal(3), abs(normal(3)), True, True, 1e-8, 2))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    probabilities = torch.log_softmax(torch.tensor(normal(5, 2, 4)), 2).numpy()
    targets = np.array([[1, 2], [3, 1]])
    ours, theirs = both("ctc_loss", (probabilities, targets, [5, 5], [2, 2], 0, 1, False))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="reduction must be"):
        pyburn.kl_div(pyburn.ones(1), pyburn.ones(1), 3)


def test_dropouts_follow_train():
    x = pyburn.ones(2, 3, 4)
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "feature_dropout"):
        assert getattr(pyburn, name)(x, 0.5, False).equal(x)
    assert pyburn.dropout_(x, 1.0, True) is x and x.sum() == 0
    assert pyburn.feature_dropout(pyburn.ones(4, 6, 5), 0.5, True).sum(2).unique().tolist() == [0.0, 10.0]


CELLS = {"lstm_cell": 4, "gru_cell": 3, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_cells(name, biases):
    gates = CELLS[name]
    arrays = [normal(5, 3), normal(5, 2), normal(gates * 2, 3), normal(gates * 2, 2)]
    arrays += [normal(gates * 2), normal(gates * 2)] if biases else []
    results = []
    for library in (pyburn, torch):
        x, h, *weights = (library.tensor(array) for array in arrays)
        state = (h, h * 0.5) if name == "lstm_cell" else h
        made = getattr(library, name)(x, state, *weights)
        results.append(made if isinstance(made, tuple) else (made,))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "layer"), [("lstm", "LSTM"), ("gru", "GRU"), ("rnn_tanh", "RNN")])
def test_layers_with_weights_as_lists(name, layer, packed):
    torch.manual_seed(0)
    module = getattr(torch.nn, layer)(3, 2, num_layers=2, bidirectional=True)
    weights = [weight.detach().numpy() for weight in module.parameters()]
    x, h = normal(4, 2, 3), normal(4, 2, 2)
    results = []
    for library in (pyburn, torch):
        state = library.tensor(h)
        state = (state, state * 0.5) if name == "lstm" else state
        tail = ([library.tensor(weight) for weight in weights], True, 2, 0.0, False, True)
        if packed:
            head = (library.tensor(x.reshape(8, 3)[:7]), library.tensor([2, 2, 2, 1]), state)
            results.append(getattr(library, name)(*head, *tail))
        else:
            results.append(getattr(library, name)(library.tensor(x), state, *tail, False))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_batch_first_and_no_biases():
    x, weights = normal(2, 4, 3), [normal(2, 3), normal(2, 2)]
    results = []
    for library in (pyburn, torch):
        params = [library.tensor(weight) for weight in weights]
        h = library.zeros(1, 2, 2)
        results.append(library.rnn_relu(library.tensor(x), h, params, False, 1, 0.0, False, False, True))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="9 arguments"):
        pyburn.lstm(pyburn.ones(1))


def test_affine_grid_generator():
    theta = normal(2, 2, 3)
    ours, theirs = both("affine_grid_generator", (theta, [2, 1, 3, 4], True))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("settings", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1)])
def test_gradients_of_convolutions(dims, settings):
    x, weight = normal(2, 4, *[6] * dims), normal(4, 4 // settings[3], *[3] * dims)
    conv = getattr(torch.nn.functional, f"conv{dims}d")
    upstream = normal(*conv(torch.tensor(x), torch.tensor(weight), None, *settings).shape)
    for kind in ("input", "weight"):
        results = []
        for library in (pyburn, torch):
            function = getattr(library.nn.grad, f"conv{dims}d_{kind}")
            first = (x.shape, library.tensor(weight)) if kind == "input" else (library.tensor(x), weight.shape)
            results.append(function(*first, library.tensor(upstream), *settings))
        np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=2e-4, atol=2e-4)


def test_reductions_as_numbers():
    ours, theirs = pyburn.nn._reduction, torch.nn._reduction
    assert [ours.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    for size_average in (None, True, False):
        for reduce in (None, True, False):
            given = (size_average, reduce, False)
            assert ours.legacy_get_string(*given) == theirs.legacy_get_string(*given)
            assert ours.legacy_get_enum(*given) == theirs.legacy_get_enum(*given)
    with pytest.raises(ValueError, match="not a valid value"):
        ours.get_enum("none_at_all")
