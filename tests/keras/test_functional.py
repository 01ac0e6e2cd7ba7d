"""Functional and subclassed models against real Keras."""

from __future__ import annotations

import json

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras, same_fit
from pyburn import keras as ours
from pyburn import nn
from pyburn.keras.training.feeding import batches_of


def both(build):
    forget_names()
    theirs, mine = build(keras), build(ours)
    mine.set_weights(theirs.get_weights())
    return theirs, mine


def two_by_two(k):
    """Two inputs, two outputs, a shared layer."""
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    shared = k.layers.Dense(5, activation="relu", name="shared")
    merged = k.layers.Concatenate()([shared(a), shared(b)])
    one = k.layers.Dense(3, activation="softmax", name="kind")(merged)
    two = k.layers.Dense(1, name="size")(k.layers.Add()([shared(a), shared(b)]))
    return k.Model([a, b], [one, two], name="net")


def cnn(k):
    return k.Sequential(
        [
            k.Input((8, 8, 1)),
            k.layers.Conv2D(4, 3, padding="same", strides=2, use_bias=False),
            k.layers.BatchNormalization(),
            k.layers.ReLU(),
            k.layers.MaxPooling2D(),
            k.layers.Flatten(),
            k.layers.Dense(3, activation="softmax"),
        ]
    )


def lstm(k):
    return k.Sequential([k.Input((6, 3)), k.layers.LSTM(5, return_sequences=True), k.layers.GRU(4), k.layers.Dense(1)])


def nested(k):
    x = k.Input((4,))
    inner = k.Sequential([k.Input((4,)), k.layers.Dense(4, activation="tanh")], name="inner")
    y = k.layers.Add()([x, inner(x)])
    return k.Model(x, k.layers.Dense(2)(inner(y)), name="outer")


def test_two_inputs_and_outputs():
    theirs, mine = both(two_by_two)
    x, y = [array((40, 4)), array((40, 4), 1)], [array((40,), 2, 0, 3), array((40, 1), 3)]
    compile = {
        "optimizer": "adam",
        "loss": {"kind": "sparse_categorical_crossentropy", "size": "mse"},
        "loss_weights": {"kind": 1.0, "size": 0.5},
        "metrics": {"kind": ["accuracy"], "size": ["mae", "mse"]},
    }
    same_fit(theirs, mine, x, y, compile, validation_split=0.25)
    for one, two in zip(mine.predict(x, verbose=0), theirs.predict(x, verbose=0), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-3)
    assert mine.input_names == ["a", "b"] and mine.output_names == ["kind", "size"]
    by_name = mine.predict({"b": x[1], "a": x[0]}, verbose=0)
    np.testing.assert_allclose(by_name[0], mine.predict(x, verbose=0)[0])
    assert (
        mine.evaluate(x, y, verbose=0, return_dict=True).keys()
        == theirs.evaluate(x, y, verbose=0, return_dict=True).keys()
    )


def test_cnn_with_batch_norm():
    theirs, mine = both(cnn)
    x, y = array((48, 8, 8, 1)), array((48,), 1, 0, 3)
    compile = {"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    same_fit(theirs, mine, x, y, compile, validation_data=(x[:16], y[:16]))


def test_lstm_history():
    theirs, mine = both(lstm)
    x = array((48, 6, 3))
    same_fit(theirs, mine, x, x.sum((1, 2)), {"optimizer": "rmsprop", "loss": "mse", "metrics": ["mae"]})


def test_nested_models():
    theirs, mine = both(nested)
    x = array((5, 4))
    np.testing.assert_allclose(mine.predict(x, verbose=0), theirs.predict(x, verbose=0), atol=1e-5)
    assert mine.count_params() == theirs.count_params()
    assert [layer.name for layer in mine.layers] == [layer.name for layer in theirs.layers]


@pytest.mark.parametrize("build", [two_by_two, cnn, lstm, nested])
def test_configs_make_the_same_model(build):
    theirs, mine = both(build)
    x = [array((3, *each.shape[1:]), seed) for seed, each in enumerate(mine.inputs)]
    given = x[0] if len(x) == 1 else x
    for text in (mine.to_json(), theirs.to_json()):
        again = ours.models.model_from_json(text)
        again.set_weights(theirs.get_weights())
        found, expected = again.predict(given, verbose=0), theirs.predict(given, verbose=0)
        for one, two in zip(*(each if isinstance(each, list) else [each] for each in (found, expected)), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-5)
    assert json.loads(mine.to_json())["class_name"] == type(theirs).__name__


@pytest.mark.parametrize("build", [two_by_two, cnn, lstm, nested])
def test_summaries_have_keras_numbers(build):
    theirs, mine = both(build)
    texts: list[str] = []
    mine.summary(print_fn=texts.append)
    expected: list[str] = []
    theirs.summary(print_fn=lambda line, **kwargs: expected.append(line))
    wanted = [line.strip() for line in "\n".join(expected).splitlines() if "params:" in line]
    assert [line.strip() for line in texts[0].splitlines() if "params:" in line] == wanted
    for layer in mine.layers:
        assert layer.name in texts[0]


class Residual(ours.Model):
    def __init__(self, units=4):
        super().__init__()
        self.first = ours.Dense(units, activation="relu")
        self.rest = [ours.Dense(units), ours.layers.Dropout(0.5)]
        self.norm = nn.LayerNorm(units)
        self.units = units

    def call(self, x, training=None):
        y = self.first(x)
        for layer in self.rest:
            y = layer(y, training=training)
        return self.norm(x + y)


def test_a_subclassed_model_trains():
    model = Residual()
    x = array((64, 4))
    model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(x, x[:, ::-1].copy(), epochs=5, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert len(model.weights) == 6 and len(list(model.parameters())) == 6
    assert model.get_config() == {**model.get_config(), "units": 4}
    pyburn.testing.assert_close(model(pyburn.tensor(x)), model(pyburn.tensor(x)))
    model.summary(print_fn=lambda text: None)


class OwnStep(ours.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = ours.Dense(1)
        self.steps = 0

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data[:2]
        self.steps += 1
        loss = ((self(x, training=True) - y) ** 2).mean()
        self.zero_grad()
        loss.backward()
        self.optimizer.apply([weight.grad for weight in self.trainable_weights], self.trainable_weights)
        return {"loss": loss.detach()}


def test_a_step_of_ones_own():
    model = OwnStep()
    model.compile("sgd")
    x = array((64, 3))
    history = model.fit(x, x.sum(1, keepdims=True), epochs=8, batch_size=64, verbose=0)
    assert model.steps == 8 and history.history["loss"][-1] < history.history["loss"][0]


def test_modules_are_called_on_symbolic_inputs():
    x = ours.Input((4,))
    linear = nn.Linear(4, 3)
    y = linear(x)
    model = ours.Model(x, ours.Dense(2)(nn.Sequential(nn.ReLU(), nn.Linear(3, 3))(y)))
    assert model.output_shape == (None, 2) and len(model.weights) == 6
    given = pyburn.randn(5, 4)
    assert model(given).shape == (5, 2)
    model.compile("sgd", "mse")
    before = linear.weight.detach().clone()
    model.fit(given, pyburn.zeros(5, 2), verbose=0)
    assert not bool((before == linear.weight).all())


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return nn.functional.softplus(self.inner(x)) * 2


def test_a_module_with_functions_is_one_layer():
    x = ours.Input((4,))
    module = Odd()
    model = ours.Model(x, module(x))
    given = pyburn.randn(3, 4)
    pyburn.testing.assert_close(model(given), module(given))
    assert len(model.weights) == 2


def test_losses_that_layers_add():
    class Noisy(ours.Layer):
        def call(self, x):
            self.add_loss(0.1 * (x**2).mean())
            return x

    def build(k, kind):
        return k.Sequential([k.Input((3,)), kind, k.layers.Dense(1, kernel_regularizer="l2")])

    model = build(ours, Noisy())
    x = pyburn.ones(4, 3)
    model(x)
    assert len(model.losses) == 2 and float(model.losses[0]) == pytest.approx(0.1)
    model(x)
    assert len(model.losses) == 2


def test_layers_can_be_found_and_frozen():
    model = two_by_two(ours)
    assert model.get_layer("shared") is model.layers[2] and model.get_layer(index=0).name == "a"
    with pytest.raises(ValueError, match=r"none called 'x'.*shared"):
        model.get_layer("x")
    model.get_layer("shared").trainable = False
    assert len(model.trainable_weights) == 4
    model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
    before = model.get_layer("shared").get_weights()
    model.fit([array((8, 4)), array((8, 4))], [array((8,), 1, 0, 3), array((8, 1))], verbose=0)
    for one, two in zip(before, model.get_layer("shared").get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_wrong_graphs():
    a, b = ours.Input((4,), name="a"), ours.Input((4,), name="b")
    with pytest.raises(ValueError, match="need the input 'b'"):
        ours.Model(a, ours.layers.Add()([a, b]))
    with pytest.raises(ValueError, match="must be symbolic"):
        ours.Model(pyburn.zeros(1), pyburn.zeros(1))
    with pytest.raises(ValueError, match=r"takes 2 input\(s\) \['a', 'b'\], but got 1"):
        ours.Model([a, b], ours.layers.Add()([a, b]))(pyburn.zeros(2, 4))


class Numbered(ours.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return 4

    def __getitem__(self, index):
        part = slice(8 * index, 8 * index + 8)
        return self.x[part], self.y[part]


def test_all_kinds_of_data_give_the_same_history():
    pandas = pytest.importorskip("pandas")
    x, y = array((32, 4)), array((32, 1), 1)
    ty = pyburn.tensor(y)
    sources = {
        "arrays": (x, y, {"batch_size": 8}),
        "tensors": (pyburn.tensor(x), ty, {"batch_size": 8}),
        "lists": (x.tolist(), y.tolist(), {"batch_size": 8}),
        "frame": (pandas.DataFrame(x), pandas.Series(y[:, 0]), {"batch_size": 8}),
        "dataset": (pyburn.data.TensorDataset(pyburn.tensor(x), ty), None, {"batch_size": 8}),
        "loader": (pyburn.data.DataLoader(pyburn.data.TensorDataset(pyburn.tensor(x), ty), 8), None, {}),
        "numbered": (Numbered(x, y), None, {}),
        "generator": (
            (pair for _ in range(9) for pair in [(x[i : i + 8], y[i : i + 8]) for i in range(0, 32, 8)]),
            None,
            {"steps_per_epoch": 4},
        ),
    }
    model = ours.Sequential([ours.Input((4,)), ours.Dense(1)])
    start = model.get_weights()
    histories = {}
    for name, (given, labels, options) in sources.items():
        model.set_weights(start)
        model.compile("sgd", "mse")
        histories[name] = model.fit(given, labels, epochs=2, verbose=0, shuffle=False, **options).history["loss"]
    for values in histories.values():
        np.testing.assert_allclose(values, histories["arrays"], rtol=1e-5)


def test_batches_by_hand():
    theirs, mine = both(cnn)
    x, y = array((16, 8, 8, 1)), array((16,), 1, 0, 3)
    for model in (theirs, mine):
        model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    for _ in range(2):
        np.testing.assert_allclose(mine.train_on_batch(x, y), theirs.train_on_batch(x, y), rtol=1e-4)
    mine.reset_metrics()
    theirs.reset_metrics()
    np.testing.assert_allclose(mine.test_on_batch(x, y), theirs.test_on_batch(x, y), rtol=1e-3)
    np.testing.assert_allclose(mine.predict_on_batch(x), theirs.predict_on_batch(x), rtol=1e-3, atol=1e-4)


def test_initial_epoch_and_shuffle():
    model = ours.Sequential([ours.Input((4,)), ours.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(array((32, 4)), array((32, 1)), epochs=5, initial_epoch=3, verbose=0)
    assert history.epoch == [3, 4]
    ours.utils.set_random_seed(0)
    orders = [int(next(iter(batches_of(pyburn.arange(64), shuffle=True)))[0][0]) for _ in range(8)]
    assert len(set(orders)) > 1
