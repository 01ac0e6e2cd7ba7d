"""What a person who knows Keras tries first: programs run by both libraries, and files that go both ways."""

from __future__ import annotations

import copy

import numpy as np
import pyburn
import pytest
from keras_oracle import array, differing_weights, forget_names, keras
from pyburn import keras as ours

BOTH = pytest.mark.parametrize("k", [keras, ours], ids=["keras", "pyburn"])


def both(program):
    """What a program gives with Keras and with pyburn."""
    forget_names()
    return program(keras), program(ours)


def numbers(value):
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def attention(k):
    x = k.Input((5, 8))
    y = k.layers.GroupQueryAttention(4, 2, 2)(k.layers.MultiHeadAttention(2, 4)(x, x), x)
    y = k.layers.EinsumDense("abc,cd->abd", output_shape=(None, 6), bias_axes="d")(y)
    return k.Model(x, k.layers.Attention(use_scale=True)([y, y]))


def nested(k):
    inner = k.Sequential([k.Input((4,)), k.layers.Dense(3), k.layers.BatchNormalization(), k.layers.Dense(4)])
    x = k.Input((4,))
    shared = k.Model(x, inner(k.layers.Add()([inner(x), x])))
    y = k.Input((4,))
    return k.Model(y, k.layers.Dense(2)(shared(y)))


def recurrent(k):
    row = [k.layers.Bidirectional(k.layers.LSTM(2, return_sequences=True)), k.layers.TimeDistributed(k.layers.Dense(3))]
    return k.Sequential([k.Input((5, 3)), *row, k.layers.RNN([k.layers.LSTMCell(2), k.layers.GRUCell(3)])])


def separable(k):
    row = [k.layers.Conv2D(4, 3), k.layers.GroupNormalization(2), k.layers.SeparableConv2D(5, 3), k.layers.PReLU()]
    return k.Sequential([k.Input((8, 8, 4)), *row, k.layers.Conv2DTranspose(3, 3)])


def subclass(k):
    class Net(k.Model):
        def __init__(self):
            super().__init__()
            self.first = k.layers.Dense(3)
            self.blocks = [k.layers.Dense(3), k.layers.BatchNormalization()]
            self.named = {"last": k.layers.Dense(2)}
            self._hidden = k.layers.Dense(2)
            self.deep = [[k.layers.Dense(2)], k.layers.Dense(2)]

        def call(self, x):
            x = self.first(x)
            for block in self.blocks:
                x = block(x)
            x = self._hidden(self.named["last"](x))
            return self.deep[1](self.deep[0][0](x))

    net = Net()
    net(array((2, 4)))
    return net


@pytest.mark.parametrize("program", [attention, nested, recurrent, separable, subclass])
def test_weights_that_are_written_here_are_read_by_keras_and_back(program, tmp_path):
    theirs, mine = both(program)
    mine.set_weights(differing_weights(theirs))
    mine.save_weights(tmp_path / "ours.weights.h5")
    theirs.load_weights(tmp_path / "ours.weights.h5")
    for one, two in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    theirs.save_weights(tmp_path / "theirs.weights.h5")
    again = program(ours)
    again.load_weights(tmp_path / "theirs.weights.h5")
    for one, two in zip(again.get_weights(), mine.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_checkpoint_of_weights_can_be_kerass_own(tmp_path):
    model = ours.Sequential([ours.Input((3,)), ours.layers.Dense(1)])
    model.compile("sgd", "mse")
    kept = ours.callbacks.ModelCheckpoint(tmp_path / "{epoch}.weights.h5", save_weights_only=True)
    model.fit(array((8, 3)), array((8, 1)), epochs=2, verbose=0, callbacks=[kept])
    theirs = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    theirs.load_weights(tmp_path / "2.weights.h5")
    np.testing.assert_array_equal(theirs.get_weights()[0], model.get_weights()[0])


def test_an_unbuilt_model_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="no weights yet"):
        ours.Sequential([ours.layers.Dense(2)]).save_weights(tmp_path / "a.weights.h5")
    with pytest.raises(ValueError, match="no weights yet"):
        ours.Sequential([ours.layers.Dense(2)]).save_weights(tmp_path / "a.h5")


@pytest.mark.parametrize("program", [attention, nested, recurrent, separable, subclass])
def test_weights_have_kerass_paths_and_names(program):
    theirs, mine = both(program)
    assert [weight.path for weight in mine.weights] == [weight.path for weight in theirs.weights]
    assert [weight.name for weight in mine.weights] == [weight.name for weight in theirs.weights]
    assert [weight.path for weight in copy.deepcopy(mine).weights] == [weight.path for weight in theirs.weights]


@pytest.mark.parametrize("program", [attention, nested, recurrent, separable])
def test_a_clone_has_the_same_layers_and_weights_of_its_own(program):
    model = program(ours)
    clone = ours.models.clone_model(model)
    assert [type(each) for each in clone.layers] == [type(each) for each in model.layers]
    assert not {id(each) for each in clone.weights} & {id(each) for each in model.weights}
    clone.set_weights(model.get_weights())
    x = array((2, *model.input_shape[1:]))
    np.testing.assert_array_equal(numbers(clone(x)), numbers(model(x)))


def test_a_clone_function_changes_layers():
    def program(k):
        def bent(layer):
            config = layer.get_config()
            return type(layer).from_config({**config, "activation": "tanh"} if "units" in config else config)

        x = k.Input((4,))
        model = k.Model(x, k.layers.Add()([k.layers.Dense(4)(x), x]))
        clone = k.models.clone_model(model, clone_function=bent)
        clone.set_weights([array((4, 4)), array((4,))])
        return numbers(clone(array((3, 4))))

    expected, found = both(program)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_only_code_knows_is_not_cloned_by_a_function():
    with pytest.raises(ValueError, match="only its own code knows"):
        ours.models.clone_model(subclass(ours), clone_function=lambda layer: layer)


@BOTH
def test_a_layer_may_change_weights_that_do_not_train(k):
    class Sum(k.layers.Layer):
        def __init__(self):
            super().__init__()
            self.total = self.add_weight(initializer="zeros", shape=(2,), trainable=False)

        def call(self, x):
            self.total.assign_add(k.ops.sum(x, axis=0))
            return self.total

    layer = Sum()
    layer(array((3, 2)) * 0 + 1)
    assert numbers(layer(array((3, 2)) * 0 + 1)).tolist() == [6, 6]
    assert len(layer.weights) == len(layer.non_trainable_weights) == 1


@BOTH
def test_a_metric_may_assign_its_variables(k):
    class Largest(k.metrics.Metric):
        def __init__(self, name="largest", **kwargs):
            super().__init__(name=name, **kwargs)
            self.value_so_far = self.add_variable(shape=(), initializer="zeros", name="value")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.value_so_far.assign(k.ops.maximum(self.value_so_far, k.ops.max(k.ops.abs(y_true - y_pred))))

        def result(self):
            return self.value_so_far

    model = k.Sequential([k.Input((4,)), k.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", "mse", metrics=[Largest()])
    y = array((20, 1))
    found = model.evaluate(array((20, 4)), y, batch_size=6, verbose=0)
    assert found[1] == pytest.approx(np.abs(y).max(), rel=1e-5)


@BOTH
def test_metrics_that_are_attributes_are_reset_and_listed(k):
    class Net(k.Model):
        def __init__(self):
            super().__init__()
            self.dense = k.layers.Dense(1, kernel_initializer="ones")
            self.seen = k.metrics.Sum(name="seen")

        def call(self, x):
            return self.dense(x)

        def test_step(self, data):
            self.seen.update_state(k.ops.ones((len(data[0]),)))
            return {"seen": self.seen.result()}

    net = Net()
    net.compile("sgd", "mse")
    for _ in range(2):
        assert net.evaluate(array((10, 3)), array((10, 1)), batch_size=4, verbose=0) == 10
    assert "seen" in [each.name for each in net.metrics]


def test_numbers_of_several_outputs_are_listed_in_kerass_order():
    def program(k):
        a, b = k.Input((4,)), k.Input((3,))
        x = k.layers.Concatenate()([a, b])
        model = k.Model([a, b], [k.layers.Dense(3)(x), k.layers.Dense(1)(x)])
        model.set_weights([array(tuple(weight.shape), seed) for seed, weight in enumerate(model.weights)])
        model.compile("rmsprop", ["mse", "mae"], [1, 0.5], [["mae"], ["mse"]], [[], ["mae"]])
        data = [array((30, 4)), array((30, 3))], [array((30, 3)), array((30, 1))]
        history = model.fit(*data, epochs=2, shuffle=False, verbose=0, validation_split=0.2).history
        return history, model.evaluate(*data, verbose=0)

    (history, listed), (mine, found) = both(program)
    assert list(mine) == list(history)
    np.testing.assert_allclose(found, listed, rtol=1e-4)


def test_stateful_layers_go_on_and_several_cells_give_nested_states():
    def program(k):
        rows = [k.layers.LSTM(5, stateful=True, return_sequences=True), k.layers.GRU(4, stateful=True)]
        model = k.Sequential([k.Input((4, 3), batch_size=2), *rows])
        model.set_weights([0.3 * array(tuple(weight.shape), seed) for seed, weight in enumerate(model.weights)])
        found = [numbers(model(array((2, 4, 3), seed))) for seed in range(2)]
        for layer in model.layers:
            layer.reset_state()
        x = k.Input((6, 3))
        cells = k.layers.RNN([k.layers.LSTMCell(4), k.layers.GRUCell(3)], return_state=True)
        states = k.Model(x, cells(x))(array((2, 6, 3)))
        shapes = [[tuple(part.shape) for part in each] if isinstance(each, list) else each.shape for each in states]
        return [*found, numbers(model(array((2, 4, 3), 0)))], shapes

    (expected, their_shapes), (found, shapes) = both(program)
    assert shapes == [list(each) if isinstance(each, list) else tuple(each) for each in their_shapes]
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
    assert np.abs(found[0] - found[2]).max() < 1e-6 < np.abs(found[0] - found[1]).max()


@BOTH
def test_a_variable_is_made_as_in_keras(k):
    scale = k.Variable(0.5, name="scale")
    assert (scale.name, scale.trainable, tuple(scale.shape)) == ("scale", True, ())
    counts = k.Variable("zeros", shape=(2,), dtype="int32", trainable=False)
    counts.assign([3, 4])
    assert numbers(counts).tolist() == [3, 4] and not counts.trainable


def test_a_copied_or_saved_variable_keeps_its_values():
    model = nested(ours)
    for again in (copy.deepcopy(model), type(model).from_config(model.get_config())):
        again.set_weights(model.get_weights())
        assert all(isinstance(weight, type(own)) for weight, own in zip(again.weights, model.weights, strict=True))
    assert isinstance(model.weights[0], pyburn.nn.Parameter)
