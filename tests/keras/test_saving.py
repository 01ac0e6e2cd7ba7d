"""Models in files: ours, and those that real Keras writes."""

from __future__ import annotations

import json
import os
import sys
import zipfile

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours
from pyburn.keras import layers


def functional(k):
    a, b = k.Input((6,), name="a", dtype="int32"), k.Input((8, 8, 2), name="b")
    x = k.layers.Bidirectional(k.layers.LSTM(3))(k.layers.Embedding(9, 4)(a))
    y = k.layers.Conv2D(3, 3, activation="relu")(b)
    y = k.layers.GlobalAveragePooling2D()(k.layers.BatchNormalization()(y))
    y = k.layers.SeparableConv1D(2, 1)(k.layers.Reshape((3, 1))(y))
    merged = k.layers.Concatenate()([x, k.layers.Flatten()(y)])
    inner = k.Sequential([k.Input((12,)), k.layers.Dense(5, activation="gelu"), k.layers.Dropout(0.2)], name="inner")
    out = k.layers.Dense(2, kernel_regularizer="l2", name="out")(inner(merged))
    return k.Model([a, b], [out, k.layers.Dense(1)(merged)])


def attention(k):
    x = k.Input((5, 6))
    y = k.layers.MultiHeadAttention(2, 3)(x, x)
    y = k.layers.LayerNormalization()(k.layers.Add()([x, y]))
    return k.Model(x, k.layers.TimeDistributed(k.layers.Dense(2))(y))


def inputs_of(model, count=3):
    made = []
    for seed, each in enumerate(model.inputs):
        shape = (count, *each.shape[1:])
        made.append(array(shape, seed, 0, 9) if "int" in str(each.dtype) else array(shape, seed))
    return made[0] if len(made) == 1 else made


def same_outputs(one, two, given):
    found, expected = one.predict(given, verbose=0), two.predict(given, verbose=0)
    for a, b in zip(*(each if isinstance(each, list) else [each] for each in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("build", [functional, attention])
def test_files_of_real_keras(build, tmp_path):
    forget_names()
    theirs = build(keras)
    theirs.set_weights([array(tuple(w.shape), seed) * 0.1 + 0.2 for seed, w in enumerate(theirs.weights)])
    theirs.compile("adam", "mse")
    theirs.save(tmp_path / "model.keras")
    given = inputs_of(theirs)
    same_outputs(ours.models.load_model(tmp_path / "model.keras"), theirs, given)
    theirs.save_weights(tmp_path / "model.weights.h5")
    forget_names()
    mine = build(ours)
    mine.load_weights(tmp_path / "model.weights.h5")
    same_outputs(mine, theirs, given)
    mine.set_weights([0 * weight for weight in mine.get_weights()])
    mine.load_weights(tmp_path / "model.keras")
    same_outputs(mine, theirs, given)


@pytest.mark.filterwarnings("ignore")
def test_older_files_of_real_keras(tmp_path):
    forget_names()
    theirs = keras.Sequential(
        [
            keras.Input((6, 3)),
            keras.layers.Bidirectional(keras.layers.GRU(3)),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(2),
        ]
    )
    theirs.set_weights([array(tuple(w.shape), seed) * 0.1 + 0.2 for seed, w in enumerate(theirs.weights)])
    theirs.save(tmp_path / "model.h5")
    same_outputs(ours.models.load_model(tmp_path / "model.h5"), theirs, inputs_of(theirs))


class TheirNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.front = keras.layers.Dense(4)
        self.tail = [keras.layers.Dense(3), keras.layers.Dense(2)]

    def call(self, x):
        x = self.front(x)
        for layer in self.tail:
            x = layer(x)
        return x


class OurNet(ours.Model):
    def __init__(self):
        super().__init__()
        self.front = layers.Dense(4)
        self.tail = [layers.Dense(3), layers.Dense(2)]

    def call(self, x):
        x = self.front(x)
        for layer in self.tail:
            x = layer(x)
        return x


def test_weights_of_a_subclassed_model_of_real_keras(tmp_path):
    theirs, mine = TheirNet(), OurNet()
    x = array((3, 5))
    theirs(x)
    mine(pyburn.tensor(x))
    theirs.save_weights(tmp_path / "net.weights.h5")
    mine.load_weights(tmp_path / "net.weights.h5")
    same_outputs(mine, theirs, x)


@pytest.mark.parametrize("build", [functional, attention])
def test_our_own_file(build, tmp_path):
    model = build(ours)
    path = tmp_path / "model.keras"
    model.save(path)
    again = ours.models.load_model(path)
    same_outputs(again, model, inputs_of(model))
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    with pytest.raises(FileExistsError):
        model.save(path, overwrite=False)
    assert os.listdir(tmp_path) == ["model.keras"]


def test_training_goes_on_from_a_file(tmp_path):
    def make():
        model = ours.Sequential([ours.Input((4,)), ours.Dense(8, activation="relu"), ours.Dense(1)])
        model.compile(ours.optimizers.Adam(0.01), "mse", metrics=["mae"])
        return model

    x, y = array((32, 4)), array((32, 1), 1)
    whole = make()
    start = whole.get_weights()
    expected = whole.fit(x, y, epochs=4, verbose=0, shuffle=False).history["loss"]
    half = make()
    half.set_weights(start)
    half.fit(x, y, epochs=2, verbose=0, shuffle=False)
    half.save(tmp_path / "half.keras")
    again = ours.models.load_model(tmp_path / "half.keras")
    assert again.optimizer.iterations == 2 and again.optimizer.learning_rate == pytest.approx(0.01)
    found = again.fit(x, y, epochs=2, verbose=0, shuffle=False).history
    np.testing.assert_allclose(found["loss"], expected[2:], rtol=1e-6)
    assert "mae" in found


@ours.utils.register_keras_serializable(package="tests")
class Half(ours.Layer):
    def __init__(self, by=2.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def call(self, x):
        return x / self.by


class Unknown(Half):
    pass


def test_layers_of_ones_own_in_a_file(tmp_path):
    model = ours.Sequential([ours.Input((4,)), Half(by=4.0)])
    model.save(tmp_path / "m.keras")
    assert ours.models.load_model(tmp_path / "m.keras").layers[0].by == 4.0
    ours.Sequential([ours.Input((4,)), Unknown()]).save(tmp_path / "u.keras")
    with pytest.raises(ValueError, match=r"Unknown.*custom_objects"):
        ours.models.load_model(tmp_path / "u.keras")
    found = ours.models.load_model(tmp_path / "u.keras", custom_objects={"Unknown": Unknown})
    assert isinstance(found.layers[0], Unknown)


def test_code_in_a_file_is_refused(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2)])
    model.save(tmp_path / "lambda.keras")
    with pytest.raises(ValueError, match="never executed"):
        ours.models.load_model(tmp_path / "lambda.keras", safe_mode=False)


def test_a_file_cannot_name_anything_but_layers(tmp_path):
    entry = {"module": "os", "class_name": "system", "config": {"command": "true"}, "registered_name": "system"}
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [entry]}}
    path = tmp_path / "evil.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", b"")
    with pytest.raises(ValueError, match="not known here"):
        ours.models.load_model(path)


def test_weights_alone(tmp_path):
    model = ours.Sequential([ours.Input((4,)), ours.Dense(3, name="d")])
    model.save_weights(tmp_path / "w.safetensors")
    other = ours.Sequential([ours.Input((4,)), ours.Dense(3, name="d")])
    other.load_weights(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
    wrong = ours.Sequential([ours.Input((5,)), ours.Dense(3, name="d")])
    with pytest.raises(RuntimeError, match="size mismatch"):
        wrong.load_weights(tmp_path / "w.safetensors")
    wrong.load_weights(tmp_path / "w.safetensors", skip_mismatch=True)
    np.testing.assert_array_equal(wrong.get_weights()[1], model.get_weights()[1])
    with pytest.raises(ValueError, match="no architecture"):
        ours.models.load_model(tmp_path / "w.safetensors")
    model.save_weights(tmp_path / "w.h5")
    other = ours.Sequential([ours.Input((4,)), ours.Dense(3, name="d")])
    other.load_weights(tmp_path / "w.h5")
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])


def test_h5py_is_only_needed_for_files_of_real_keras(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.save(tmp_path / "m.keras")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        ours.models.load_model(tmp_path / "m.keras")
