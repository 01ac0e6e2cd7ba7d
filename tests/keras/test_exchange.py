"""Models in files that go from Keras to pyburn and back, with what their optimizers remember."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours

X, Y = array((48, 8)), array((48, 1), 1)
FIT = {"shuffle": False, "verbose": 0, "epochs": 2, "batch_size": 16}
DIRECTIONS = pytest.mark.parametrize(("one", "two"), [(keras, ours), (ours, keras), (ours, ours)])


def row(k):
    inner = [k.layers.Dense(6, activation="relu", kernel_regularizer="l2"), k.layers.BatchNormalization()]
    return k.Sequential([k.Input((8,)), *inner, k.layers.Dropout(0.0), k.layers.Dense(1)], name="row")


def functional(k):
    start = k.Input((8,), name="start")
    hidden = k.layers.Dense(6, activation="gelu")(start)
    read = k.layers.Bidirectional(k.layers.LSTM(3))(k.layers.Reshape((3, 2))(hidden))
    return k.Model(start, k.layers.Dense(1)(k.layers.concatenate([read, hidden[:, :2], k.ops.exp(hidden)])))


def functions(k):
    x, o = k.Input((8,)), k.ops
    parts = [o.reshape(x, (-1, 8)), o.relu(x) - 1, o.softmax(x), x[:, 2:4], o.where(x > 0.5, x, 0.0), o.power(x, 2)]
    parts += [
        o.einsum("ij,ij->ij", x, x),
        o.clip(x, 0.2, 0.5),
        o.cast(x > 0.5, "float32"),
        o.max(x, axis=-1, keepdims=True),
    ]
    parts += [o.expand_dims(o.sum(x, axis=1), 1), o.transpose(o.transpose(x, (1, 0))), o.norm(x, axis=1, keepdims=True)]
    return k.Model(x, k.layers.Dense(1)(o.concatenate(parts, axis=1)))


def nested(k):
    start = k.Input((8,))
    base = k.Sequential([k.Input((8,)), k.layers.Dense(4)], name="base")
    seen = k.layers.Reshape((2, 2))(base(start))
    return k.Model(start, k.layers.Dense(1)(k.layers.MultiHeadAttention(2, 3)(seen, seen)[:, 0]))


@DIRECTIONS
def test_functions_of_ops_are_written_as_keras_writes_them(one, two, tmp_path):
    forget_names()
    model = functions(one)
    model.save(tmp_path / "model.keras")
    forget_names()
    again = two.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(X, verbose=0), model.predict(X, verbose=0), atol=1e-5)


def trained(k, make, optimizer):
    forget_names()
    model = make(k)
    model.compile(optimizer, loss=k.losses.MeanSquaredError(), metrics=[k.metrics.MeanAbsoluteError()])
    model.fit(X, Y, **FIT)
    return model


@DIRECTIONS
@pytest.mark.parametrize("end", [".keras", ".h5"])
@pytest.mark.parametrize("make", [row, functional, nested])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_goes_from_one_to_the_other_and_trains_on(make, end, one, two, tmp_path):
    model = trained(one, make, "adam")
    model.save(tmp_path / f"model{end}")
    forget_names()
    again = two.models.load_model(tmp_path / f"model{end}")
    np.testing.assert_allclose(again.predict(X, verbose=0), model.predict(X, verbose=0), atol=1e-5)
    if end == ".h5" and two is keras:
        return  # Keras itself does not train on with what it reads of an .h5 file
    expected, found = model.fit(X, Y, **FIT).history, again.fit(X, Y, **FIT).history
    assert list(found) == list(expected)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-3)


OPTIMIZERS = [
    ("Adam", {"learning_rate": 0.01, "amsgrad": True}),
    ("SGD", {"learning_rate": 0.01, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.01}),
    ("RMSprop", {"learning_rate": 0.01, "momentum": 0.5, "centered": True}),
    ("Adagrad", {"learning_rate": 0.1}),
    ("Adadelta", {"learning_rate": 1.0}),
    ("Adamax", {"learning_rate": 0.01}),
    ("Nadam", {"learning_rate": 0.01}),
    ("Lion", {"learning_rate": 0.001}),
    ("Lamb", {"learning_rate": 0.01}),
    ("Ftrl", {"learning_rate": 0.01}),
]


@DIRECTIONS
@pytest.mark.parametrize(("name", "settings"), OPTIMIZERS)
def test_what_optimizers_remember_is_in_the_file(name, settings, one, two, tmp_path):
    def small(k):
        return k.Sequential([k.Input((8,)), k.layers.Dense(3, activation="tanh"), k.layers.Dense(1)])

    model = trained(one, small, getattr(one.optimizers, name)(**settings))
    model.save(tmp_path / "model.keras")
    again = two.models.load_model(tmp_path / "model.keras")
    assert int(again.optimizer.iterations) == 6
    expected, found = model.fit(X, Y, **FIT).history, again.fit(X, Y, **FIT).history
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-3)


def test_what_keras_has_no_place_for_is_kept_in_a_file_of_ours(tmp_path, monkeypatch):
    model = trained(ours, row, ours.optimizers.Adafactor())
    model.save(tmp_path / "model.keras")
    assert (tmp_path / "model.keras").read_bytes()[:2] != b"PK"
    again = ours.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        again.fit(X, Y, **FIT).history["loss"], model.fit(X, Y, **FIT).history["loss"], rtol=1e-5
    )
    monkeypatch.setitem(sys.modules, "h5py", None)
    plain = trained(ours, row, "adam")
    plain.save(tmp_path / "plain.keras")
    assert int(ours.models.load_model(tmp_path / "plain.keras").optimizer.iterations) == 6
    with pytest.raises(ImportError, match="pip install h5py"):
        plain.save(tmp_path / "plain.h5")
