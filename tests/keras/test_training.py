"""Histories of unusual runs against real Keras: masks in losses, schedules, frozen parts, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras, same_fit
from pyburn import keras as ours


def both(build):
    forget_names()
    return build(keras), build(ours)


def tagger(k):
    return k.Sequential(
        [
            k.Input((6,), dtype="int32"),
            k.layers.Embedding(10, 4, mask_zero=True),
            k.layers.LSTM(5, return_sequences=True),
            k.layers.TimeDistributed(k.layers.Dense(3, activation="softmax")),
        ]
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_padding_counts_neither_in_the_loss_nor_in_the_metrics(weighted):
    theirs, mine = both(tagger)
    x, y = array((20, 6), 0, 1, 10), array((20, 6), 1, 0, 3)
    x[:10, 4:] = 0
    options = {"sample_weight": np.abs(array((20, 6), 2))} if weighted else {}
    compile = {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    same_fit(theirs, mine, x, y, compile, **options)


def line(k):
    return k.Sequential([k.Input((4,)), k.layers.Dense(6, activation="tanh"), k.layers.Dense(2)])


def test_schedules_and_momentum():
    x, y = array((64, 4)), array((64, 2), 1)
    theirs, mine = both(line)
    mine.set_weights(theirs.get_weights())
    histories = []
    for k, model in ((keras, theirs), (ours, mine)):
        rate = k.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)
        model.compile(k.optimizers.SGD(rate, momentum=0.9), "mse")
        histories.append(model.fit(x, y, epochs=4, batch_size=8, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(histories[1], histories[0], rtol=1e-3)


def test_parts_that_are_frozen_and_freed():
    x, y = array((32, 4)), array((32, 2), 1)
    theirs, mine = both(line)
    mine.set_weights(theirs.get_weights())
    for model in (theirs, mine):
        model.layers[0].trainable = False
        model.compile("adam", "mse")
        model.fit(x, y, shuffle=False, verbose=0)
        model.layers[0].trainable = True
        model.compile("adam", "mse")
        model.fit(x, y, epochs=2, shuffle=False, verbose=0)
    for one, two in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)
    optimizer = ours.optimizers.SGD(0.1)
    model = line(ours)
    model.compile(optimizer, "mse")
    model.layers[0].trainable = False
    model.fit(x, y, verbose=0)
    model.layers[0].trainable = True
    before = model.get_weights()[0]
    model.fit(x, y, verbose=0)
    assert not np.array_equal(before, model.get_weights()[0])


def test_a_model_that_cannot_learn_is_only_measured():
    model = line(ours)
    model.trainable = False
    model.compile("sgd", "mse")
    x, y = array((32, 4)), array((32, 2), 1)
    before = model.get_weights()
    losses = model.fit(x, y, epochs=2, verbose=0).history["loss"]
    assert losses[0] == pytest.approx(losses[1])
    assert all(np.array_equal(one, two) for one, two in zip(before, model.get_weights(), strict=True))


def test_copies_and_pickles():
    model = line(ours)
    x = pyburn.tensor(array((3, 4)))
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        pyburn.testing.assert_close(again(x), model(x))
        again.compile("sgd", "mse")
        again.fit(x, pyburn.zeros(3, 2), verbose=0)
        assert not bool((again(x) == model(x)).all())


def test_a_loop_written_for_torch():
    model = ours.Sequential(
        [ours.Input((4,)), ours.Dense(8), ours.layers.BatchNormalization(), ours.layers.Dropout(0.5)]
    )
    x = pyburn.tensor(array((16, 4)))
    model.train()
    assert not bool((model(x) == model(x)).all()) and float(model.layers[1].moving_mean.abs().sum()) > 0
    model.eval()
    assert bool((model(x) == model(x)).all())
    learner = pyburn.train.Learner(line(ours), pyburn.nn.MSELoss(), "adam", folder=False, renderer=None)
    history = learner.fit((x, pyburn.zeros(16, 2)), epochs=5)
    assert history[-1]["train_loss"] < history[0]["train_loss"]


def test_double_precision():
    ours.config.set_floatx("float64")
    try:
        model = line(ours)
        model.compile("sgd", "mse")
        model.fit(array((8, 4)), array((8, 2)), verbose=0)
        assert model.weights[0].dtype == pyburn.float64
    finally:
        ours.config.set_floatx("float32")


@pytest.mark.parametrize("library", [keras, ours], ids=["keras", "ours"])
def test_steps_of_ones_own_are_given_what_keras_gives(library):
    """`x, y = data` is how most of them begin."""
    seen = []

    class Watched(library.Model):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            seen.append(("train", len(data)))
            return super().train_step(data)

        def test_step(self, data):
            seen.append(("test", len(data)))
            return super().test_step(data)

    model = Watched()
    model.compile("sgd", "mse")
    x, y = array((8, 3)), array((8, 1), 1)
    model.fit(x, y, batch_size=8, validation_data=(x, y), verbose=0)
    model.fit(x, y, batch_size=8, sample_weight=np.ones(8, "float32"), verbose=0)
    model.evaluate(x, y, batch_size=8, verbose=0)
    model.train_on_batch(x, y)
    model.test_on_batch(x, y)
    assert seen == [("train", 2), ("test", 2), ("train", 3), ("test", 2), ("train", 3), ("test", 3)]
