"""Callbacks: when they are called, and what they do, as in real Keras."""

from __future__ import annotations

import csv
import math
import os

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours
from pyburn.train import events

X, Y = array((32, 4)), array((32, 1), 1)


def model_of(k, optimizer="sgd"):
    made = k.Sequential([k.Input((4,)), k.layers.Dense(1)])
    made.compile(optimizer, "mse", metrics=["mae"])
    return made


def both(optimizer="sgd"):
    forget_names()
    theirs, mine = model_of(keras, optimizer), model_of(ours, optimizer)
    mine.set_weights(theirs.get_weights())
    return theirs, mine


def recorder(k):
    class Recorder(k.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.calls = []

        def on_train_begin(self, logs=None):
            self.calls.append("train begin")

        def on_train_end(self, logs=None):
            self.calls.append("train end " + " ".join(logs))

        def on_epoch_begin(self, epoch, logs=None):
            self.calls.append(f"epoch {epoch} begin")

        def on_epoch_end(self, epoch, logs=None):
            self.calls.append(f"epoch {epoch} end {' '.join(logs)}")

        def on_train_batch_begin(self, batch, logs=None):
            self.calls.append(f"batch {batch} begin")

        def on_train_batch_end(self, batch, logs=None):
            self.calls.append(f"batch {batch} end {' '.join(sorted(logs))}")

        def on_test_begin(self, logs=None):
            self.calls.append("test begin")

        def on_test_batch_end(self, batch, logs=None):
            self.calls.append(f"test batch {batch} end")

        def on_test_end(self, logs=None):
            self.calls.append("test end")

    return Recorder()


def test_every_moment_comes_when_keras_has_it():
    theirs, mine = both()
    one, two = recorder(ours), recorder(keras)
    mine.fit(X, Y, epochs=2, validation_split=0.5, batch_size=8, verbose=0, callbacks=[one])
    theirs.fit(X, Y, epochs=2, validation_split=0.5, batch_size=8, verbose=0, callbacks=[two])
    assert one.calls == two.calls


@pytest.mark.parametrize(
    "kwargs", [{"patience": 1, "min_delta": 0.02}, {"patience": 2, "min_delta": 0.05, "restore_best_weights": True}]
)
def test_early_stopping(kwargs):
    theirs, mine = both()
    for model, k in ((theirs, keras), (mine, ours)):
        model.optimizer.learning_rate = 0.4
        callback = k.callbacks.EarlyStopping("val_loss", **kwargs)
        model.fit(X, Y, epochs=40, validation_split=0.5, shuffle=False, verbose=0, callbacks=[callback])
    assert mine.history.epoch == theirs.history.epoch and len(mine.history.epoch) < 40
    np.testing.assert_allclose(mine.get_weights()[0], theirs.get_weights()[0], rtol=1e-3, atol=1e-4)


def test_reduce_on_plateau_and_schedules():
    histories = []
    for k, model in zip((keras, ours), both(), strict=True):
        model.optimizer.learning_rate = 0.3
        callback = k.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=0.02)
        histories.append(model.fit(X, Y, epochs=8, shuffle=False, verbose=0, callbacks=[callback]).history)
    np.testing.assert_allclose(histories[1]["learning_rate"], histories[0]["learning_rate"], rtol=1e-6)
    assert len(set(histories[1]["learning_rate"])) > 1
    model = model_of(ours)
    rates = ours.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[rates]).history
    assert history["learning_rate"] == pytest.approx([0.005, 0.0025, 0.00125])


def test_checkpoints(tmp_path):
    model = model_of(ours)
    path = str(tmp_path / "at" / "{epoch:02d}-{loss:.1f}.keras")
    best = ours.callbacks.ModelCheckpoint(tmp_path / "best.keras", monitor="loss", save_best_only=True)
    every = ours.callbacks.ModelCheckpoint(path, save_weights_only=True)
    losses = model.fit(X, Y, epochs=3, verbose=0, callbacks=[best, every]).history["loss"]
    assert len(os.listdir(tmp_path / "at")) == 3
    kept = ours.models.load_model(tmp_path / "best.keras")
    assert kept.evaluate(X, Y, verbose=0)[0] <= min(losses)
    with pytest.raises(KeyError, match="val_acc"):
        model.fit(X, Y, verbose=0, callbacks=[ours.callbacks.ModelCheckpoint(str(tmp_path / "{val_acc}.keras"))])


def test_tables_and_tensorboard(tmp_path):
    model = model_of(ours)
    callbacks = [
        ours.callbacks.CSVLogger(tmp_path / "log.csv"),
        ours.callbacks.TensorBoard(tmp_path / "board", update_freq="batch"),
    ]
    history = model.fit(X, Y, epochs=2, validation_split=0.5, verbose=0, callbacks=callbacks).history
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_loss"]) for row in rows] == pytest.approx(history["val_loss"])
    assert sorted(os.listdir(tmp_path / "board")) == ["train", "validation"]


def test_functions_and_events():
    seen = []
    model = model_of(ours)

    class Count(events.Callback):
        def after_batch(self, learner):
            seen.append("event")

    call = ours.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    model.fit(X, Y, epochs=2, batch_size=16, verbose=0, callbacks=[call, Count()])
    assert seen == ["event", "event", 0, "event", "event", 1]
    with pytest.raises(ValueError, match="no moment 'on_lunch'"):
        ours.callbacks.LambdaCallback(on_lunch=print)


def test_nan_ends_training(capsys):
    model = model_of(ours)
    bad = Y.copy()
    bad[20] = math.nan
    history = model.fit(
        X, bad, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=[ours.callbacks.TerminateOnNaN()]
    )
    assert len(history.epoch) == 1 and "Invalid loss" in capsys.readouterr().out


def test_a_broken_run_goes_on(tmp_path):
    whole = model_of(ours, "adam")
    start = whole.get_weights()
    expected = whole.fit(X, Y, epochs=4, shuffle=False, verbose=0).history["loss"]

    def explode(epoch, logs):
        if epoch == 2:
            raise OSError("power cut")

    backup = ours.callbacks.BackupAndRestore(tmp_path / "backup")
    broken = model_of(ours, "adam")
    broken.set_weights(start)
    with pytest.raises(OSError, match="power cut"):
        broken.fit(
            X,
            Y,
            epochs=4,
            shuffle=False,
            verbose=0,
            callbacks=[ours.callbacks.LambdaCallback(on_epoch_begin=explode), backup],
        )
    again = ours.Sequential([ours.Input((4,)), ours.layers.Dense(1, name=broken.layers[0].name)])
    again.compile("adam", "mse", metrics=["mae"])
    history = again.fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[backup])
    assert history.epoch == [2, 3]
    np.testing.assert_allclose(history.history["loss"], expected[2:], rtol=1e-6)
    assert not (tmp_path / "backup").exists()


def test_progress_is_shown(capsys):
    model = model_of(ours)
    model.fit(X, Y, epochs=2, batch_size=8)
    text = capsys.readouterr().out
    assert "Epoch 2/2" in text and "4/4" in text and "loss: " in text
    model.fit(X, Y, verbose=0)
    model.predict(X, verbose=0)
    assert capsys.readouterr().out == ""


def test_weights_keep_to_their_constraints_and_averages():
    model = ours.Sequential([ours.Input((4,)), ours.Dense(3, kernel_constraint="non_neg")])
    model.compile("sgd", "mse")
    model.fit(pyburn.tensor(X), pyburn.zeros(32, 3), epochs=2, verbose=0)
    assert float(model.weights[0].min()) >= 0
    averaged = [model_of(k, k.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.8)) for k in (keras, ours)]
    averaged[1].set_weights(averaged[0].get_weights())
    for each in averaged:
        each.fit(X, Y, epochs=3, shuffle=False, verbose=0)
    np.testing.assert_allclose(averaged[1].get_weights()[0], averaged[0].get_weights()[0], rtol=1e-4)
