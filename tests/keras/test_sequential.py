"""Sequential: the mission's first lines, and `fit` against real Keras."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras, same_fit
from pyburn import keras as ours
from pyburn import nn
from pyburn.keras import Dense, Input, Sequential


def test_the_missions_lines():
    """M26, M27: a model line by line, and its weights."""
    model = Sequential()
    assert len(model.weights) == 0
    with pytest.raises(ValueError, match=r"not been built yet.*Input"):
        model.summary()
    model.add(Input(shape=(16,)))
    model.add(Dense(8))
    assert len(model.weights) == 2
    assert [tuple(weight.shape) for weight in model.weights] == [(16, 8), (8,)]


def test_layers_print_readably():
    """M28."""
    model = Sequential([Input((4,)), Dense(8, activation="relu", name="hidden"), Dense(3, name="out")], name="net")
    assert repr(model).splitlines() == [
        "Sequential(",
        "  name='net'",
        "  (hidden): Dense(8, activation='relu', name='hidden')",
        "  (out): Dense(3, name='out')",
        ")",
    ]
    assert all(layer.trainable for layer in model.layers)


def test_backends_by_string_and_enum():
    """M29, M30, M31, on what every machine has."""
    model = Sequential([Input((4,)), Dense(2)], backend="NdArray")
    assert model.backend is pyburn.Backend.NDARRAY
    model.backend = pyburn.Backend.NDARRAY
    assert model.weights[0].device.type == "cpu"
    with pytest.raises(pyburn.DeviceError, match=r"(?i)pytorch|libtorch"):
        model.backend = pyburn.Backend.PYTORCH


@pytest.mark.parametrize("backend", ["Wgpu", pyburn.Backend.WGPUDEVICE, pyburn.Backend.FUSIONJITBACKEND])
def test_wgpu(backend):
    """M29, M30: made there, or moved there with its trained weights."""
    if not any(each.kind == "wgpu" for each in pyburn.devices()):
        pytest.skip("there is no Vulkan driver")
    made = Sequential([Input((4,)), Dense(2)], backend=backend)
    assert {weight.device.type for weight in made.weights} == {"wgpu"}
    model = Sequential([Input((4,)), Dense(8, activation="relu"), Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = array((64, 4)), array((64,), 1, 0, 3)
    model.fit(x, y, epochs=1, verbose=0)
    before = model.predict(x, verbose=0)
    model.backend = backend
    assert model.backend is pyburn.Backend.WGPUDEVICE
    np.testing.assert_allclose(model.predict(x, verbose=0), before, rtol=1e-4, atol=1e-5)
    history = model.fit(x, y, epochs=2, verbose=0, shuffle=False)
    assert history.history["loss"][1] < history.history["loss"][0]


@pytest.mark.gpu
def test_images_and_sequences_on_wgpu():
    if not any(each.kind == "wgpu" for each in pyburn.devices()):
        pytest.skip("there is no Vulkan driver")
    layers = ours.layers
    images = Sequential([Input((9, 8, 3)), layers.Conv2D(4, 3, strides=2, padding="same"), layers.BatchNormalization()])
    images.add(layers.AveragePooling2D(2, padding="same"))
    images.add(layers.Conv2DTranspose(2, 3, strides=2, padding="same"))
    steps = Sequential([Input((5, 3)), layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.GRU(3)])
    for model in (images, steps):
        x = array((2, *model.input_shape[1:]))
        before = model.predict(x, verbose=0)
        model.backend = "Wgpu"
        np.testing.assert_allclose(model.predict(x, verbose=0), before, rtol=1e-3, atol=1e-4)


def test_train_is_torchs_and_the_missions():
    """M32: `train(bool)` keeps torch's meaning, `train(data, config)` trains."""
    model = Sequential([Input((3,)), Dense(1)])
    assert model.train(True) is model and model.layers[0].training
    assert model.train(False) is model and not model.layers[0].training
    x = array((64, 3))
    history = model.train((x, x.sum(1)), {"loss": "mse", "epochs": 3, "lr": 0.05, "batch_size": 8, "verbose": 0})
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.optimizer.learning_rate == pytest.approx(0.05)

    class Settings(pyburn.train.Config):
        loss: str = "mae"
        epochs: int = 2
        verbose: int = 0

    assert len(model.train((x, x.sum(1)), Settings()).history["loss"]) == 2
    with pytest.raises(ValueError, match=r"unknown settings.*speed"):
        model.train((x, x.sum(1)), {"speed": 3})


def both(build):
    forget_names()
    return build(keras), build(ours)


def dense_net(k):
    return k.Sequential(
        [
            k.Input((4,)),
            k.layers.Dense(8, activation="relu", kernel_regularizer="l2"),
            k.layers.Dense(3, activation="softmax"),
        ]
    )


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "adamw", "adagrad", "nadam", "adamax", "lion"])
def test_fit_is_keras_fit(optimizer):
    theirs, mine = both(dense_net)
    x, y = array((50, 4)), array((50,), 1, 0, 3)
    compile = {"optimizer": optimizer, "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    same_fit(theirs, mine, x, y, compile, validation_split=0.2)
    for one, two in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)
    found, expected = mine.evaluate(x, y, verbose=0), theirs.evaluate(x, y, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(mine.predict(x, verbose=0), theirs.predict(x, verbose=0), rtol=1e-3, atol=1e-3)


def test_weights_of_samples_and_classes():
    theirs, mine = both(dense_net)
    x, y, weight = array((50, 4)), array((50,), 1, 0, 3), np.abs(array((50,), 2))
    compile = {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy", "weighted_metrics": ["accuracy"]}
    same_fit(theirs, mine, x, y, compile, sample_weight=weight)
    theirs, mine = both(dense_net)
    same_fit(theirs, mine, x, y, compile, class_weight={0: 1.0, 1: 3.0, 2: 0.5})


def test_a_model_without_an_input_is_built_by_data():
    model = Sequential([Dense(3), Dense(2)])
    assert model(pyburn.zeros(5, 4)).shape == (5, 2)
    assert len(model.weights) == 4
    assert Sequential([Dense(3, input_shape=(4,))]).count_params() == 15


def test_add_and_pop():
    model = Sequential([Input((4,)), Dense(3), Dense(2)])
    last = model.pop()
    assert last.units == 2 and model.output_shape == (None, 3)
    model.add(Dense(5))
    assert model.output_shape == (None, 5)
    with pytest.raises(ValueError, match="already has a layer called 'twin'"):
        Sequential([Input((4,)), Dense(1, name="twin"), Dense(1, name="twin")])


def test_a_module_is_a_layer():
    model = Sequential([Input((4,)), nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), Dense(2)])
    assert len(model.weights) == 4 and model.output_shape == (None, 2)
    x = pyburn.randn(16, 4)
    assert bool((model(x) == model(x)).all())
    assert not bool((model(x, training=True) == model(x, training=True)).all())
    model.compile("sgd", "mse")
    before = [weight.detach().clone() for weight in model.weights]
    model.fit(x, x[:, :2], verbose=0)
    assert not any(bool((one == two).all()) for one, two in zip(before, model.weights, strict=True))


def test_a_model_is_a_module():
    model = Sequential([Input((4,)), Dense(8), Dense(2)])
    whole = nn.Sequential(nn.Linear(3, 4), model)
    assert len(list(whole.parameters())) == 6
    optimizer = pyburn.optim.SGD(whole.parameters(), 0.1)
    whole(pyburn.randn(5, 3)).sum().backward()
    optimizer.step()
    assert all(weight.grad is not None for weight in whole.parameters())
    again = Sequential([Input((4,)), Dense(8, name=model.layers[0].name), Dense(2, name=model.layers[1].name)])
    again.load_state_dict(model.state_dict())


def test_summary_has_keras_numbers():
    theirs, mine = both(dense_net)
    lines: list[str] = []
    mine.summary(print_fn=lines.append)
    expected: list[str] = []
    theirs.summary(print_fn=expected.append)
    for text in ("Total params: 67", "(None, 8)", "40", "27", "Trainable params: 67"):
        assert text in lines[0] and text in "\n".join(expected)


def test_wrong_data_says_what_and_where():
    model = Sequential([Input((4,), name="features"), Dense(2)], name="net")
    with pytest.raises(
        ValueError, match=r"net.*'features' must have shape \(None, 4\).*got \(3, 5\).*Input\(shape=\(5,\)\)"
    ):
        model(pyburn.zeros(3, 5))
    with pytest.raises(ValueError, match="must be compiled"):
        model.fit(array((3, 4)), array((3, 2)))
    model.compile(loss="sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match=r"labels go from 0 to 5.*2 classes"):
        model.fit(array((3, 4)), np.array([0, 5, 1]), verbose=0)
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(array((3, 4)), np.zeros(5, dtype="int64"), verbose=0)


def test_import_pyburn_does_not_load_keras():
    code = "import sys, pyburn; assert not any(m.startswith('pyburn.keras') for m in sys.modules); pyburn.keras.Dense"
    subprocess.run([sys.executable, "-c", code], check=True)
