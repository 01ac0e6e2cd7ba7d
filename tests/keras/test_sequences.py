"""Recurrent layers, attention and masks against real Keras."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, check_layer, compare, forget_names, keras
from pyburn import keras as ours

RECURRENT = [
    ("SimpleRNN", {}),
    ("SimpleRNN", {"return_sequences": True, "activation": "relu", "use_bias": False}),
    ("LSTM", {}),
    ("LSTM", {"return_sequences": True, "return_state": True}),
    ("LSTM", {"go_backwards": True, "return_sequences": True}),
    ("LSTM", {"activation": "relu", "recurrent_activation": "hard_sigmoid"}),
    ("LSTM", {"use_bias": False, "unit_forget_bias": False}),
    ("GRU", {}),
    ("GRU", {"return_sequences": True, "return_state": True, "go_backwards": True}),
    ("GRU", {"reset_after": False}),
    ("GRU", {"use_bias": False}),
]


@pytest.mark.parametrize(("name", "kwargs"), RECURRENT)
def test_recurrent(name, kwargs):
    check_layer(name, (2, 5, 3), 4, **kwargs)


@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize("sequences", [False, True])
def test_masked_steps_are_left_out(name, sequences):
    mask = np.array([[True, True, False, True, False], [True, False, False, True, True]])
    check_layer(name, (2, 5, 3), 4, return_sequences=sequences, call={"mask": mask}, tolerance=1e-4)


@pytest.mark.parametrize("mode", ["concat", "sum", "ave", "mul"])
def test_bidirectional(mode):
    forget_names()
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True), merge_mode=mode)
    mine = ours.layers.Bidirectional(ours.layers.LSTM(3, return_sequences=True), merge_mode=mode)
    compare(theirs, mine, (2, 5, 4))


def test_bidirectional_with_states():
    forget_names()
    theirs = keras.layers.Bidirectional(keras.layers.GRU(3, return_state=True))
    mine = ours.layers.Bidirectional(ours.layers.GRU(3, return_state=True))
    compare(theirs, mine, (2, 5, 4))


def test_time_distributed():
    forget_names()
    compare(keras.layers.TimeDistributed(keras.layers.Dense(3)), ours.layers.TimeDistributed(ours.Dense(3)), (2, 5, 4))
    forget_names()
    theirs = keras.layers.TimeDistributed(keras.layers.Conv2D(2, 3))
    compare(theirs, ours.layers.TimeDistributed(ours.layers.Conv2D(2, 3)), (2, 3, 5, 5, 1))


def test_cells_in_an_rnn():
    forget_names()
    theirs = keras.layers.RNN([keras.layers.LSTMCell(3), keras.layers.GRUCell(2)], return_sequences=True)
    mine = ours.layers.RNN([ours.layers.LSTMCell(3), ours.layers.GRUCell(2)], return_sequences=True)
    compare(theirs, mine, (2, 5, 4))


def test_initial_states():
    state = [pyburn.randn(2, 4), pyburn.randn(2, 4)]
    layer = ours.layers.LSTM(4)
    x = pyburn.randn(2, 5, 3)
    theirs = keras.layers.LSTM(4)
    theirs.build((2, 5, 3))
    layer(x)
    layer.set_weights(theirs.get_weights())
    expected = theirs(x.numpy(), initial_state=[each.numpy() for each in state])
    found = layer(x, initial_state=state)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().cpu().numpy(), atol=1e-5)


def test_a_stateful_layer_goes_on():
    layer = ours.layers.GRU(4, stateful=True)
    x = pyburn.randn(2, 6, 3)
    layer(x[:, :3])
    halves = layer(x[:, 3:])
    layer.reset_states()
    assert bool(pyburn.allclose(layer(x), halves, atol=1e-6))


def test_dropout_of_inputs_and_states_happens_in_training_only():
    layer = ours.layers.LSTM(4, dropout=0.5, recurrent_dropout=0.5)
    x = pyburn.randn(2, 6, 3)
    assert bool((layer(x) == layer(x)).all())
    assert not bool((layer(x, training=True) == layer(x, training=True)).all())


@pytest.mark.parametrize("kwargs", [{}, {"value_dim": 5, "output_shape": 7, "use_bias": False}, {"num_heads": 1}])
@pytest.mark.parametrize("call", [{}, {"use_causal_mask": True}])
def test_multi_head_attention(kwargs, call):
    settings = {"num_heads": 2, "key_dim": 3} | kwargs
    value = array((2, 4, 6), 3)
    check_layer("MultiHeadAttention", (2, 4, 6), call={"value": value, **call}, **settings)


def test_attention_masks_and_scores():
    mask = np.array([[[True, False, True, True]] * 3, [[True, True, True, False]] * 3])
    call = {"value": array((2, 4, 6), 3), "attention_mask": mask, "return_attention_scores": True}
    check_layer("MultiHeadAttention", (2, 3, 6), num_heads=2, key_dim=3, call=call)


def test_group_query_attention():
    call = {"value": array((2, 4, 6), 3)}
    check_layer("GroupQueryAttention", (2, 4, 6), head_dim=3, num_query_heads=4, num_key_value_heads=2, call=call)


@pytest.mark.parametrize("kwargs", [{}, {"use_scale": True}, {"score_mode": "concat"}])
def test_attention(kwargs):
    check_layer("Attention", [(2, 3, 4), (2, 5, 4)], **kwargs)


def test_additive_attention():
    check_layer("AdditiveAttention", [(2, 3, 4), (2, 5, 4)])


def both(build):
    forget_names()
    theirs, mine = build(keras), build(ours)
    mine.set_weights(theirs.get_weights())
    return theirs, mine


def text_model(k):
    return k.Sequential(
        [
            k.Input((6,), dtype="int32"),
            k.layers.Embedding(10, 4, mask_zero=True),
            k.layers.LSTM(5, return_sequences=True),
            k.layers.Dropout(0.5),
            k.layers.Bidirectional(k.layers.GRU(3)),
            k.layers.Dense(2),
        ]
    )


def test_masks_travel_through_a_model():
    theirs, mine = both(text_model)
    x = array((3, 6), 0, 0, 10)
    x[:, 4:] = 0
    np.testing.assert_allclose(mine.predict(x, verbose=0), theirs.predict(x, verbose=0), atol=1e-5)
    other = x.copy()
    assert other[0, 4] == 0
    longer = np.concatenate([x, np.zeros((3, 0), dtype=x.dtype)], axis=1)
    np.testing.assert_allclose(mine.predict(longer, verbose=0), mine.predict(x, verbose=0))


def test_masking_layer_and_global_average():
    def build(k):
        return k.Sequential([k.Input((5, 3)), k.layers.Masking(), k.layers.Dense(4), k.layers.GlobalAveragePooling1D()])

    theirs, mine = both(build)
    x = array((2, 5, 3))
    x[0, 3:] = 0
    np.testing.assert_allclose(mine.predict(x, verbose=0), theirs.predict(x, verbose=0), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "shape", "args", "kwargs"),
    [
        ("ConvLSTM1D", (2, 4, 7, 3), (2, 3), {}),
        ("ConvLSTM1D", (2, 4, 8, 3), (2, 3, 2, "same"), {"return_sequences": True}),
        ("ConvLSTM2D", (2, 3, 6, 5, 2), (3, (2, 3)), {"return_state": True}),
        ("ConvLSTM2D", (2, 3, 6, 6, 2), (3, 3), {"padding": "same", "dilation_rate": 2, "return_sequences": True}),
        ("ConvLSTM2D", (2, 3, 7, 6, 2), (3, 2), {"strides": 2, "go_backwards": True, "use_bias": False}),
        (
            "ConvLSTM2D",
            (2, 3, 5, 5, 1),
            (2, 3),
            {"activation": "relu", "recurrent_activation": "hard_sigmoid", "unit_forget_bias": False},
        ),
        ("ConvLSTM3D", (1, 2, 4, 4, 4, 2), (2, 2), {"padding": "same"}),
    ],
)
def test_convolutional_lstms(name, shape, args, kwargs):
    check_layer(name, shape, *args, tolerance=1e-4, **kwargs)


def test_a_convolutional_lstm_trains():
    frames = pyburn.rand(8, 4, 6, 6, 1)
    model = ours.Sequential([ours.Input((4, 6, 6, 1)), ours.layers.ConvLSTM2D(4, 3, padding="same")])
    model.add(ours.layers.Conv2D(1, 3, padding="same"))
    model.compile("adam", "mse")
    model.fit(frames, frames[:, -1], epochs=3, verbose=0)
    assert model.predict(frames, verbose=0).shape == (8, 6, 6, 1)
    again = ours.Sequential.from_config(model.get_config())
    again.set_weights(model.get_weights())
    pyburn.testing.assert_close(again(frames), model(frames))
